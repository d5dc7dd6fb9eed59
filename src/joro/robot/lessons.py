"""What did the visits since the last commit teach, and when is each of their pages due next?

In:    one lesson for each visit: what was known of the page, and what the visit saw.
Out:   the pages' upkeep, completed; their dates in the calendar; of their servers what pages wish and say.
Never: learns from one visit alone: 25 NumPy calls take a third of a millisecond, for one page or for
       fifty. Nor later than the commit that writes the visits: a kill costs nobody more than his visit.
Paper: S0-02 and S0-03, S0-07 (visits missed).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

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
Rows = np.ndarray[Any, np.dtype[np.void]]

#: A page is looked at again after so much of the time until its visit: prices fall as well as rise. Where
#: they have not moved for a day (`planner.looked_at_share`), or less than so much of its interval is left, it
#: waits for the visit itself.
SOON = 0.15

#: What the calendar keeps with a date, so that it can be worked out anew without the page's record.
#: `visited_at` is negative for pages visited once, and 0 where the date stands.
STATE = np.dtype([("history", change.HISTORY), ("weight", "<f4"), ("visited_at", "<f8")])


class Lesson:
    """What a visit has to teach; one is made for each visit, and a dataclass fills itself slowly."""

    __slots__ = (
        "after", "age_s", "before", "changed", "elapsed_s", "is_seen", "page", "read_at", "server", "time",
    )  # fmt: skip

    def __init__(
        self,
        page: Page,
        time: float,
        before: Upkeep | None,
        after: Upkeep | None,
        *,
        server: ServerRecord | None = None,
        is_seen: bool = False,
    ) -> None:
        self.page = page
        self.time = time
        self.before = before
        self.after = after  # completed when the lesson is learned; None: the page is not visited again
        self.server = server  # where it is at hand already
        self.is_seen = is_seen  # the page was there: its interval is the policy's
        self.elapsed_s = 0.0  # since it was last there; 0: there is nothing to compare with
        self.changed = False
        self.age_s = math.nan  # of the last change, by the server's word
        self.read_at: float | None = None  # a source says itself when it is read again


#: A lesson in numbers. They are written down as it comes in, while all it speaks of is at hand.
_ROW = np.dtype(
    [
        ("time", "<f8"),
        ("elapsed_s", "<f8"),
        ("age_s", "<f8"),
        ("read_at", "<f8"),  # not a number: it is no source
        ("trust", "<f8"),  # in the dates of its server
        ("said", "<f8", (2,)),  # by all pages of its server
        ("due", "<f8"),  # before
        ("left_s", "<f8"),  # the interval it wished before
        ("left_weight", "<f8"),
        ("given_s", "<f8"),  # the interval it has now, when the policy is not asked
        ("weight", "<f8"),
        ("seen_at", "<f8"),  # from now on
        ("mark", "<u8"),
        ("name", "<u8"),
        ("version", "<u4"),
        ("changed", "?"),
        ("is_seen", "?"),
        ("is_first", "?"),
        ("was_priced", "?"),
        ("was_polled", "?"),
        ("stays", "?"),
        ("is_there", "?"),  # neither gone nor never seen
        ("has_body", "?"),
        ("had_history", "?"),
    ]
)
_pack = struct.Struct("<13d2QI9?").pack
assert len(_pack(*[0.0] * 13, 0, 0, 0, *[False] * 9)) == _ROW.itemsize
_NO_HISTORY = bytes(change.HISTORY.itemsize)


class Lessons:
    """Visits of one robot, from one commit to the next."""

    def __init__(self, frontier: Frontier, settings: Refresh, planner: Planner) -> None:
        self._frontier = frontier
        self._settings = settings
        self._planner = planner
        self._waiting: list[Lesson] = []
        self._rows: list[bytes] = []
        self._histories: list[bytes] = []

    def add(self, lesson: Lesson) -> None:
        """Learn it with the others."""
        server = lesson.server
        if server is None:
            server = lesson.server = self._frontier.server(lesson.page.server)
        self._waiting.append(lesson)
        self._rows.append(_numbers(lesson, server))
        self._histories.append((lesson.before.history or _NO_HISTORY) if lesson.before else _NO_HISTORY)

    def learn(self) -> None:
        """Learn all that has gathered; the frontier writes it with its next commit."""
        if self._waiting:
            lessons, rows, histories = self._waiting, b"".join(self._rows), b"".join(self._histories)
            self._waiting, self._rows, self._histories = [], [], []
            numbers = np.frombuffer(rows, _ROW)
            old = np.frombuffer(histories, change.HISTORY)
            _Batch(lessons, numbers, old, self._frontier, self._settings, self._planner).learn()


def _numbers(lesson: Lesson, server: ServerRecord) -> bytes:
    before, after = lesson.before or _NOBODY, lesson.after or _NOBODY
    now = after if lesson.after is not None else before
    weight, total = server.said
    is_told = not math.isnan(lesson.age_s)
    return _pack(
        lesson.time, lesson.elapsed_s, lesson.age_s, math.nan if lesson.read_at is None else lesson.read_at,
        Trust(*server.dated).share if is_told else 0.0, weight, total,
        before.due if before.interval_s else math.inf, before.interval_s, before.weight,
        now.interval_s, now.weight, after.seen_at,
        fingerprint(lesson.page.url), fingerprint(lesson.page.server), before.version,
        lesson.changed, lesson.is_seen, lesson.before is None, is_priced(before), before.polled,
        lesson.after is not None, not after.absences, bool(after.body), bool(before.history),
    )  # fmt: skip


class _Batch:
    """Lessons in columns."""

    def __init__(
        self,
        lessons: Sequence[Lesson],
        rows: Rows,
        old: change.Histories,
        frontier: Frontier,
        settings: Refresh,
        planner: Planner,
    ) -> None:
        self._lessons = lessons
        self._rows = rows
        self._old = old
        self._settings = settings
        self._planner = planner
        self._policy = planner.policy
        self._calendar = frontier.calendar
        self._names: NDArray[np.uint64] = rows["name"]
        self._times: Floats = rows["time"]
        self._weights: Floats = rows["weight"]
        self._said = prior.said(old)
        self._said[rows["was_polled"]] = 0.0
        self._others = np.maximum(rows["said"] - self._said, _LEAST_SAID)

    def learn(self) -> None:
        """History, interval and date of every page; what its server counts."""
        rows = self._rows
        self._count_missed()
        histories = self._observed()
        wished = self._wished(histories)
        dues = self._times + self._planner.page_intervals_s(self._names, wished, self._weights)
        if self._settings.languages:
            self._count_languages()
            wished, dues = self._cycled(wished, dues)
        read_at: Floats = rows["read_at"]
        polled = ~np.isnan(read_at)
        if polled.any():
            wished = np.where(polled, np.maximum(read_at - self._times, 1.0), wished)
            dues = np.where(polled, read_at, dues)
        self._complete(histories, wished, dues, polled)
        stays: Flags = rows["stays"]
        kept = slice(None) if stays.all() else stays
        self._calendar.push(self._dates(histories, dues, polled)[kept])

    def _observed(self) -> change.Histories:
        """Histories with one visit more where it could be compared with another."""
        rows = self._rows
        here = rows["elapsed_s"] > 0.0
        if here.all():
            return self._learned(rows, self._old, self._others)
        after = self._old.copy()
        if here.any():
            after[here] = self._learned(rows[here], self._old[here], self._others[here])
        return after

    def _learned(self, rows: Rows, old: change.Histories, others: prior.Said) -> change.Histories:
        return self._policy.learned(
            old, rows["elapsed_s"], rows["changed"], others, age_s=rows["age_s"], trust=rows["trust"]
        )

    def _wished(self, histories: change.Histories) -> Floats:
        """Intervals that pages wish; of one that was not seen, what it wished before or has been given.

        Pages taken over from other archives come without one.
        """
        wished = self._rows["given_s"].copy()
        seen = self._rows["is_seen"] | (wished == 0.0)
        first: Flags = seen & self._rows["is_first"]
        priced = seen if self._policy.has_studied else seen & ~first
        if priced.all():
            wished = self._policy.intervals_s(histories, self._weights, self._others)
        elif priced.any():
            wished[priced] = self._policy.intervals_s(
                histories[priced], self._weights[priced], self._others[priced]
            )
        first_s = self._settings.first_interval_s
        wished[first] = np.minimum(wished[first], first_s) if self._policy.has_studied else first_s
        return wished

    def _complete(self, histories: change.Histories, wished: Floats, dues: Floats, polled: Flags) -> None:
        """Write into the pages' upkeep what was learned, and into their servers what they wish and say."""
        rows = self._rows
        said = prior.said(histories)
        said[~rows["stays"] | polled] = 0.0
        packed, size = histories.tobytes(), change.HISTORY.itemsize
        entered = np.where(rows["stays"], wished, 0.0)
        columns = (
            rows["version"].tolist(), wished.tolist(), dues.tolist(), polled.tolist(),
            rows["left_s"].tolist(), cells_of(rows["left_s"], rows["left_weight"]),
            entered.tolist(), cells_of(entered, self._weights), (said - self._said).tolist(),
        )  # fmt: skip
        at = 0
        for lesson, version, interval_s, due, is_polled, left, left_cell, enters, cell, (more, much) in zip(
            self._lessons, *columns, strict=True
        ):
            care, server = lesson.after, lesson.server
            if care is not None:
                care.version = version + 1 if lesson.before is not None else 1
                care.due, care.interval_s, care.polled = due, interval_s, is_polled
                if lesson.elapsed_s > 0.0:
                    care.history = packed[at : at + size]
            at += size
            assert server is not None
            change_wish(server.wishes, left, left_cell, enters, cell)
            weight, total = server.said
            server.said = (max(weight + more, 0.0), total + much)

    def _dates(self, histories: change.Histories, dues: Floats, polled: Flags) -> Entries:
        """The entries of all pages."""
        rows = self._rows
        has_history = rows["had_history"] | (rows["elapsed_s"] > 0.0)
        is_movable = rows["is_there"] & ~polled
        since = np.where(has_history, rows["seen_at"], np.where(rows["has_body"], -rows["seen_at"], 0.0))
        versions = np.where(rows["is_first"], 1, rows["version"] + 1)
        return _entries(
            rows["mark"], self._names, versions, self._times, dues, np.where(is_movable, since, 0.0),
            self._weights, histories, self._planner.look_within_s, self._planner.looked_at_share,
        )  # fmt: skip

    def _count_languages(self) -> None:
        for lesson in self._lessons:
            for care, step in ((lesson.before, -1), (lesson.after, 1)):
                if care is not None and care.language and lesson.server is not None:
                    languages = lesson.server.languages
                    languages[care.language] = max(languages.get(care.language, 0) + step, 0)

    def _cycled(self, wished: Floats, dues: Floats) -> tuple[Floats, Floats]:
        """Intervals and dates, no later than the next cycle of a server that has one."""
        servers = (lesson.server for lesson in self._lessons)
        here = np.array([server is not None and self._planner.has_cycle(server) for server in servers])
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
        late_s = self._times - self._rows["due"]
        late = np.flatnonzero(late_s >= self._settings.least_interval_s)
        if not len(late):
            return
        rows = self._rows[late]
        wished = rows["left_s"].copy()
        if not self._policy.is_drawn and (priced := rows["was_priced"]).any():
            these = late[priced]
            wished[priced] = self._policy.intervals_s(
                self._old[these], self._weights[these], self._others[these]
            )
        kept = self._planner.page_intervals_s(rows["name"], wished, rows["weight"])
        missed = (late_s[late] / np.maximum(kept, 1e-9)).tolist()
        for number, visits in zip(late.tolist(), missed, strict=True):
            server = self._lessons[number].server
            assert server is not None
            server.missed += int(visits)


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
    if histories is None:
        histories = change.unpack([care.history for care in cares])
    versions, dues, weights = (
        [getattr(care, name) for care in cares] for name in ("version", "due", "weight")
    )
    since = np.array([_movable_since(care) for care in cares])
    return _entries(
        marks, servers, versions, times, np.array(dues), since, weights, histories, look_within_s, share
    )


def _entries(
    marks: ArrayLike,
    servers: NDArray[np.uint64],
    versions: ArrayLike,
    times: Floats,
    due: Floats,
    visited_at: Floats,
    weights: ArrayLike,
    histories: change.Histories,
    look_within_s: tuple[float, float],
    share: float,
) -> Entries:
    """The same, of columns."""
    within_s, new_within_s = look_within_s
    if new_within_s == math.inf:
        visited_at = np.maximum(visited_at, 0.0)  # their dates stand
    state = np.zeros(len(due), STATE)
    state["history"], state["weight"], state["visited_at"] = histories, weights, visited_at
    priced, new = visited_at > 0.0, visited_at < 0.0
    if within_s:
        looks = np.minimum(looked_at(times, visited_at, due, share), times + within_s)
        due = np.where(priced, looks, due)
    if new.any():
        due = np.where(new, np.minimum(due, times + new_within_s), due)
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
