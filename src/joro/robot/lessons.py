"""What did the visits since the last commit teach, and when is each of their pages due next?

In:    one lesson for each visit: what was known of the page, and what the visit saw.
Out:   the pages' upkeep, completed; their dates in the calendar; of their servers what pages wish and say.
Never: learns from one visit alone: 25 NumPy calls take a third of a millisecond, for one page or for
       fifty. Nor later than the commit that writes the visits: a kill costs nobody more than his visit.
Paper: S0-02 and S0-03, S0-07 (visits missed).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.config import Refresh
from joro.model import Page
from joro.robot.planner import Planner
from joro.schedule import change, prior
from joro.schedule.cycle import dues_at
from joro.schedule.plan import cells_of, unwish, wish
from joro.schedule.trust import Trust
from joro.store.calendar import Entries, entries
from joro.store.frontier import Frontier
from joro.store.records import Upkeep
from joro.url import fingerprint

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: A page is looked at again after so much of the time until its visit: prices fall as well as rise. When
#: less than so much of its interval is left, it waits for the visit itself.
LOOKED_AT, SOON = 0.6, 0.15

#: What the calendar keeps with a date, so that it can be worked out anew without the page's record.
#: `visited_at` is negative for pages visited once, and 0 where the date stands.
STATE = np.dtype([("history", change.HISTORY), ("weight", "<f4"), ("visited_at", "<f8")])


@dataclass(slots=True)
class Lesson:
    """What a visit has to teach."""

    page: Page
    time: float
    before: Upkeep | None
    after: Upkeep | None  # completed when the lesson is learned; None: the page is not visited again
    is_seen: bool = False  # the page was there: its interval is the policy's
    elapsed_s: float = 0.0  # since it was last there; 0: there is nothing to compare with
    changed: bool = False
    age_s: float = math.nan  # of the last change, by the server's word
    read_at: float | None = None  # a source says itself when it is read again


class Lessons:
    """Visits of one robot, from one commit to the next."""

    def __init__(self, frontier: Frontier, settings: Refresh, planner: Planner) -> None:
        self._frontier = frontier
        self._settings = settings
        self._planner = planner
        self._waiting: list[Lesson] = []

    def add(self, lesson: Lesson) -> None:
        """Learn it with the others."""
        self._waiting.append(lesson)

    def learn(self) -> None:
        """Learn all that has gathered; the frontier writes it with its next commit."""
        lessons, self._waiting = self._waiting, []
        if lessons:
            _Batch(lessons, self._frontier, self._settings, self._planner).learn()


class _Batch:
    """Lessons in columns."""

    def __init__(
        self, lessons: Sequence[Lesson], frontier: Frontier, settings: Refresh, planner: Planner
    ) -> None:
        self._lessons = lessons
        self._settings = settings
        self._planner = planner
        self._policy = planner.policy
        self._calendar = frontier.calendar
        self._servers = [frontier.server(each.page.server) for each in lessons]
        names = [each.page.server for each in lessons]
        marks = {name: fingerprint(name) for name in set(names)}
        self._names = np.array([marks[name] for name in names], np.uint64)
        self._times = np.array([each.time for each in lessons])
        befores = [each.before for each in lessons]
        self._old = change.unpack([each.history if each is not None else b"" for each in befores])
        self._weights = np.array([(each.after or each.before or _NOBODY).weight for each in lessons])
        self._said = prior.said(self._old)
        self._said[[each is None or each.polled for each in befores]] = 0.0
        sums: Floats = np.array([each.said for each in self._servers])
        self._others = np.maximum(sums - self._said, _LEAST_SAID)

    def learn(self) -> None:
        """History, interval and date of every page; what its server counts."""
        self._count_missed()
        histories = self._observed()
        wished = self._wished(histories)
        kept = self._planner.page_intervals_s(self._names, wished, self._weights)
        dues = self._times + kept
        if self._settings.languages:
            self._count_languages()
            wished, dues = self._cycled(wished, dues)
        for lesson, interval_s, due in zip(self._lessons, wished.tolist(), dues.tolist(), strict=True):
            _complete(lesson, interval_s, due)
        self._count_wishes(histories)
        here = [number for number, each in enumerate(self._lessons) if each.after is not None]
        cares = [each.after for each in self._lessons if each.after is not None]
        marks = [fingerprint(self._lessons[number].page.url) for number in here]
        self._calendar.push(
            dated(marks, self._names[here], cares, self._times[here], self._planner.look_within_s)
        )

    def _observed(self) -> change.Histories:
        """Histories with one visit more where it could be compared with another."""
        here = np.flatnonzero([each.elapsed_s > 0.0 for each in self._lessons])
        after = self._old.copy()
        if len(here):
            elapsed_s = np.array([self._lessons[number].elapsed_s for number in here.tolist()])
            changed = np.array([self._lessons[number].changed for number in here.tolist()])
            age_s = np.array([self._lessons[number].age_s for number in here.tolist()])
            trust = np.array([Trust(*self._servers[number].dated).share for number in here.tolist()])
            after[here] = self._policy.learned(
                self._old[here], elapsed_s, changed, self._others[here], age_s=age_s, trust=trust
            )
        packed = after.tobytes()
        size = change.HISTORY.itemsize
        for number in here.tolist():
            care = self._lessons[number].after
            assert care is not None
            care.history = packed[number * size : (number + 1) * size]
        return after

    def _wished(self, histories: change.Histories) -> Floats:
        """Intervals that pages wish; of one that was not seen, what it wished before or has been given.

        Pages taken over from other archives come without one.
        """
        wished = np.array([(each.after or each.before or _NOBODY).interval_s for each in self._lessons])
        seen = np.array([each.is_seen for each in self._lessons]) | (wished == 0.0)
        first: Flags = seen & [each.before is None for each in self._lessons]
        priced = seen & ~first if not self._policy.has_studied else seen
        if priced.any():
            wished[priced] = self._policy.intervals_s(
                histories[priced], self._weights[priced], self._others[priced]
            )
        first_s = self._settings.first_interval_s
        wished[first] = np.minimum(wished[first], first_s) if self._policy.has_studied else first_s
        return wished

    def _count_languages(self) -> None:
        for server, lesson in zip(self._servers, self._lessons, strict=True):
            for care, step in ((lesson.before, -1), (lesson.after, 1)):
                if care is not None and care.language:
                    count = server.languages.get(care.language, 0) + step
                    server.languages[care.language] = max(count, 0)

    def _cycled(self, wished: Floats, dues: Floats) -> tuple[Floats, Floats]:
        """Intervals and dates, no later than the next cycle of a server that has one."""
        here = np.array([self._planner.has_cycle(server) for server in self._servers])
        cycle_s = self._planner.cycle_s
        next_s = dues_at(self._names, self._times, cycle_s)
        return (
            np.where(here, np.minimum(wished, cycle_s), wished),
            np.where(here, np.minimum(dues, next_s), dues),
        )

    def _count_missed(self) -> None:
        """S0 counts periods without a visit: a page visited two intervals late missed two.

        Late is what comes after the date that the calendar had. A plan that has become less strict since
        makes nobody late: the page was to wait that long when it was last looked at.
        """
        befores = [each.before or _NOBODY for each in self._lessons]
        dues = np.array([care.due if care.interval_s else math.inf for care in befores])
        late_s = self._times - dues
        late = np.flatnonzero(late_s >= self._settings.least_interval_s)
        if not len(late):
            return
        befores = [befores[number] for number in late.tolist()]
        wished = np.array([care.interval_s for care in befores])
        if not self._policy.is_drawn:
            priced = np.array([is_priced(care) for care in befores])
            rows = late[priced]
            wished[priced] = self._policy.intervals_s(
                self._old[rows], self._weights[rows], self._others[rows]
            )
        kept = self._planner.page_intervals_s(self._names[late], wished, self._weights[late])
        for number, missed in zip(
            late.tolist(), (late_s[late] / np.maximum(kept, 1e-9)).tolist(), strict=True
        ):
            self._servers[number].missed += int(missed)

    def _count_wishes(self, histories: change.Histories) -> None:
        """Pages move from cell to cell of their servers, and say something else about them."""
        said = prior.said(histories)
        said[[each.after is None or each.after.polled for each in self._lessons]] = 0.0
        befores = [each.before or _NOBODY for each in self._lessons]
        afters = [each.after or _NOBODY for each in self._lessons]
        rows = zip(self._servers, befores, _cells(befores), afters, _cells(afters), strict=True)
        for (server, before, left, after, entered), more in zip(
            rows, (said - self._said).tolist(), strict=True
        ):
            if before is not _NOBODY:
                unwish(server.wishes, before.interval_s, before.weight, left)
            if after is not _NOBODY:
                wish(server.wishes, after.interval_s, after.weight, entered)
            weight, total = server.said
            server.said = (max(weight + more[0], 0.0), total + more[1])


def _cells(cares: Sequence[Upkeep]) -> list[int]:
    return cells_of([care.interval_s for care in cares], [care.weight for care in cares])


_NOBODY = Upkeep()
_LEAST_SAID = np.array([0.0, -np.inf])


def _complete(lesson: Lesson, interval_s: float, due: float) -> None:
    care = lesson.after
    if care is None:
        return
    care.version = lesson.before.version + 1 if lesson.before is not None else 1
    care.polled = lesson.read_at is not None
    if lesson.read_at is not None:
        care.due, care.interval_s = lesson.read_at, max(lesson.read_at - lesson.time, 1.0)
    else:
        care.due, care.interval_s = due, interval_s


def is_priced(care: Upkeep) -> bool:
    """At its second visit, while it is gone, and as a source a page has a date that no price moves."""
    return bool(care.history) and not care.absences and not care.polled


def dated(
    marks: ArrayLike,
    servers: NDArray[np.uint64],
    cares: Sequence[Upkeep],
    times: NDArray[np.float64],
    look_within_s: tuple[float, float] = (math.inf, math.inf),
) -> Entries:
    """The entries for pages of these servers, all of them fingerprints, visited or looked at then.

    Prices may move the dates of those that have one, so they are looked at before, within so long; and so
    are, within as long as the second number says, those visited only once.
    """
    state = np.zeros(len(cares), STATE)
    state["history"] = change.unpack([care.history for care in cares])
    state["weight"] = [care.weight for care in cares]
    due: Floats = np.array([care.due for care in cares])
    within_s, new_within_s = look_within_s
    visited_at = np.array([_movable_since(care) for care in cares])
    if new_within_s == math.inf:
        visited_at = np.maximum(visited_at, 0.0)  # their dates stand
    priced, new = visited_at > 0.0, visited_at < 0.0
    if within_s:
        looks = looked_at(times[priced], visited_at[priced], due[priced])
        due[priced] = np.minimum(looks, times[priced] + within_s)
    due[new] = np.minimum(due[new], times[new] + new_within_s)
    state["visited_at"] = visited_at
    versions = [care.version for care in cares]
    return entries(due, marks, versions, servers, state.view(f"V{STATE.itemsize}"))


def _movable_since(care: Upkeep) -> float:
    """When a page was there last, negative if only once; 0: its date stands, whatever the price."""
    if is_priced(care):
        return care.seen_at
    is_new = care.body and not care.history and not care.absences and not care.polled
    return -care.seen_at if is_new else 0.0


def looked_at(now: float | Floats, visited_at: ArrayLike, due: Floats) -> Floats:
    """When pages that are due later are looked at again."""
    left = due - now
    return np.where(left > SOON * (due - np.asarray(visited_at)), now + LOOKED_AT * left, due)
