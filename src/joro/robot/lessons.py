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
from joro.robot.planner import LOOKED_AT, Planner
from joro.schedule import change, prior
from joro.schedule.cycle import dues_at
from joro.schedule.plan import cells_of, change_wish
from joro.schedule.trust import Trust
from joro.store.calendar import Entries, entries
from joro.store.frontier import Frontier
from joro.store.records import ServerRecord, Upkeep
from joro.url import fingerprint

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: A page is looked at again after so much of the time until its visit: prices fall as well as rise. Where
#: they have not moved for a day (`planner.looked_at_share`), or less than so much of its interval is left, it
#: waits for the visit itself.
SOON = 0.15

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
    server: ServerRecord | None = None  # where it is at hand already


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
        names = [each.page.server for each in lessons]
        self._servers = [each.server or frontier.server(each.page.server) for each in lessons]
        self._names = np.array([fingerprint(name) for name in names], np.uint64)
        self._times = np.array([each.time for each in lessons])
        self._befores = [each.before or _NOBODY for each in lessons]
        self._afters = [each.after or _NOBODY for each in lessons]
        self._old = change.unpack([care.history for care in self._befores])
        self._weights = np.array([(each.after or each.before or _NOBODY).weight for each in lessons])
        self._said = prior.said(self._old)
        self._said[[care.polled for care in self._befores]] = 0.0
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
        left = np.array([care.interval_s for care in self._befores])
        left_cells = cells_of(left, [care.weight for care in self._befores])
        self._complete(histories, wished, dues)
        self._count_wishes(histories, left.tolist(), left_cells)
        here = [number for number, care in enumerate(self._afters) if care is not _NOBODY]
        cares = [self._afters[number] for number in here]
        marks = [fingerprint(self._lessons[number].page.url) for number in here]
        if here:
            dates = dated(
                marks, self._names[here], cares, self._times[here], self._planner.look_within_s,
                self._planner.looked_at_share, histories[here],
            )  # fmt: skip
            self._calendar.push(dates)

    def _observed(self) -> change.Histories:
        """Histories with one visit more where it could be compared with another."""
        elapsed_s = np.array([each.elapsed_s for each in self._lessons])
        here = np.flatnonzero(elapsed_s > 0.0)
        after = self._old.copy()
        if len(here):
            changed = np.array([each.changed for each in self._lessons])
            age_s = np.array([each.age_s for each in self._lessons])
            is_told = not np.isnan(age_s).all()
            trust = [Trust(*server.dated).share for server in self._servers] if is_told else 0.0
            after[here] = self._policy.learned(
                self._old[here],
                elapsed_s[here],
                changed[here],
                self._others[here],
                age_s=age_s[here],
                trust=np.broadcast_to(trust, len(after))[here],
            )
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

    def _complete(self, histories: change.Histories, wished: Floats, dues: Floats) -> None:
        """Write into the pages' upkeep what was learned."""
        packed, size = histories.tobytes(), change.HISTORY.itemsize
        rows = zip(self._lessons, self._befores, self._afters, wished.tolist(), dues.tolist(), strict=True)
        for number, (lesson, before, care, interval_s, due) in enumerate(rows):
            if care is _NOBODY:
                continue
            care.version = before.version + 1 if before is not _NOBODY else 1
            care.due, care.interval_s, care.polled = due, interval_s, False
            if lesson.elapsed_s > 0.0:
                care.history = packed[number * size : (number + 1) * size]
            if lesson.read_at is not None:
                care.due, care.interval_s = lesson.read_at, max(lesson.read_at - lesson.time, 1.0)
                care.polled = True

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
        dues = np.array([care.due if care.interval_s else math.inf for care in self._befores])
        late_s = self._times - dues
        late = np.flatnonzero(late_s >= self._settings.least_interval_s)
        if not len(late):
            return
        befores = [self._befores[number] for number in late.tolist()]
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

    def _count_wishes(self, histories: change.Histories, left: list[float], left_cells: list[int]) -> None:
        """Pages move from cell to cell of their servers, and say something else about them."""
        said = prior.said(histories)
        said[[care is _NOBODY or care.polled for care in self._afters]] = 0.0
        entered = [care.interval_s for care in self._afters]
        entered_cells = cells_of(entered, [care.weight for care in self._afters])
        moves = zip(left, left_cells, entered, entered_cells, strict=True)
        for server, move, (more, much) in zip(
            self._servers, moves, (said - self._said).tolist(), strict=True
        ):
            change_wish(server.wishes, *move)
            weight, total = server.said
            server.said = (max(weight + more, 0.0), total + much)


_NOBODY = Upkeep()
_LEAST_SAID = np.array([0.0, -np.inf])


def is_priced(care: Upkeep) -> bool:
    """At its second visit, while it is gone, and as a source a page has a date that no price moves."""
    return bool(care.history) and not care.absences and not care.polled


def dated(
    marks: ArrayLike,
    servers: NDArray[np.uint64],
    cares: Sequence[Upkeep],
    times: NDArray[np.float64],
    look_within_s: tuple[float, float] = (math.inf, math.inf),
    share: float = LOOKED_AT,
    histories: change.Histories | None = None,
) -> Entries:
    """The entries for pages of these servers, all of them fingerprints, visited or looked at then.

    Prices may move the dates of those that have one, so they are looked at before, within so long and after
    such a share of the time; and so are, within as long as the second number says, those visited only once.
    """
    state = np.zeros(len(cares), STATE)
    state["history"] = histories if histories is not None else change.unpack([care.history for care in cares])
    state["weight"] = [care.weight for care in cares]
    due: Floats = np.array([care.due for care in cares])
    within_s, new_within_s = look_within_s
    visited_at = np.array([_movable_since(care) for care in cares])
    if new_within_s == math.inf:
        visited_at = np.maximum(visited_at, 0.0)  # their dates stand
    priced, new = visited_at > 0.0, visited_at < 0.0
    if within_s:
        looks = looked_at(times[priced], visited_at[priced], due[priced], share)
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


def looked_at(now: float | Floats, visited_at: ArrayLike, due: Floats, share: float = LOOKED_AT) -> Floats:
    """When pages that are due later are looked at again."""
    left = due - now
    is_far = (left > SOON * (due - np.asarray(visited_at))) & (share < 1.0)
    return np.where(is_far, now + share * left, due)
