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
from typing import Any, Final

import numpy as np
from msgspec.structs import astuple
from numpy.typing import ArrayLike, NDArray

from joro.config import Refresh
from joro.model import Page
from joro.robot.planner import LOOKED_AT, Planner, is_missing
from joro.robot.witness import Witness, heard, judge
from joro.schedule import change, prior, signals
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
        self.age_s = math.nan  # of the last change, by the server's word; also where nothing is compared
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
        ("version", "<u4"),  # from now on
        ("flags", "<u4"),
    ]
)
_pack = struct.Struct("<13d2Q2I").pack
assert len(_pack(*[0.0] * 13, 0, 0, 0, 0)) == _ROW.itemsize
_NO_HISTORY = bytes(change.HISTORY.itemsize)

#: Where the fields of an upkeep stand when it is taken apart.
_DUE: Final = 1
_INTERVAL_S: Final = 2
_SEEN_AT: Final = 3
_BODY: Final = 5
_WEIGHT: Final = 9
_HISTORY: Final = 10
_ABSENCES: Final = 11
_POLLED: Final = 12
_TOLD_AT: Final = 15
_TORN: Final = 18
_FAILURES: Final = 19
assert Upkeep.__struct_fields__[:6] == ("version", "due", "interval_s", "seen_at", "captured_at", "body")
assert Upkeep.__struct_fields__[9:13] == ("weight", "history", "absences", "polled")
assert Upkeep.__struct_fields__[_TOLD_AT] == "told_at"
assert Upkeep.__struct_fields__[_TORN : _FAILURES + 1] == ("torn", "failures")

#: What `flags` says: ten answers in one number, because a number takes as long to pack as a word.
_CHANGED: Final = 1
_SEEN: Final = 2
_FIRST: Final = 4
_WAS_PRICED: Final = 8
_WAS_POLLED: Final = 16
_STAYS: Final = 32
_IS_THERE: Final = 64  # neither gone nor never seen
_HAS_BODY: Final = 128
_HAD_HISTORY: Final = 256
_TOLD: Final = 512  # a source has ever spoken of its changes
_EVERY_FLAG = (1 << np.arange(10, dtype=np.uint32)).astype(np.uint32).reshape(-1, 1)


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
        before, after = lesson.before, lesson.after
        version = before.version + 1 if before is not None else 1
        if after is not None:
            after.version, after.polled = version, lesson.read_at is not None
        self._waiting.append(lesson)
        row, history = _numbers(lesson, server, version)
        self._rows.append(row)
        self._histories.append(history)

    def learn(self) -> None:
        """Learn all that has gathered; the frontier writes it with its next commit."""
        if self._waiting:
            lessons, rows, histories = self._waiting, b"".join(self._rows), b"".join(self._histories)
            self._waiting, self._rows, self._histories = [], [], []
            numbers = np.frombuffer(rows, _ROW)
            old = np.frombuffer(histories, change.HISTORY)
            _Batch(lessons, numbers, old, self._frontier, self._settings, self._planner).learn()


def _numbers(lesson: Lesson, server: ServerRecord, version: int) -> tuple[bytes, bytes]:
    """A lesson as a row, and the history before it.

    Records are taken apart in one go: to ask them for each of a dozen fields takes three times as long.
    """
    before: tuple[Any, ...] = astuple(lesson.before or _NOBODY)
    after: tuple[Any, ...] = astuple(lesson.after or _NOBODY)
    now = after if lesson.after is not None else before
    weight, total = server.said
    page, read_at, left_s = lesson.page, lesson.read_at, before[_INTERVAL_S]
    row = _pack(
        lesson.time, lesson.elapsed_s, lesson.age_s, math.nan if read_at is None else read_at,
        0.0 if math.isnan(lesson.age_s) else Trust(*server.dated).share, weight, total,
        before[_DUE] if left_s else math.inf, left_s, before[_WEIGHT],
        now[_INTERVAL_S], now[_WEIGHT], after[_SEEN_AT],
        fingerprint(page.url), fingerprint(page.server), version, _flags(lesson, before, after),
    )  # fmt: skip
    return row, before[_HISTORY] or _NO_HISTORY


def _flags(lesson: Lesson, before: tuple[Any, ...], after: tuple[Any, ...]) -> int:
    flags = 0 if after[_ABSENCES] else _IS_THERE
    if after[_BODY]:
        flags |= _HAS_BODY
    if before[_POLLED]:
        flags |= _WAS_POLLED
    if before[_HISTORY] and change.is_watched(before[_HISTORY]):
        is_fixed = before[_ABSENCES] or before[_TORN] or before[_FAILURES] or before[_POLLED]
        flags |= _HAD_HISTORY if is_fixed else _HAD_HISTORY | _WAS_PRICED
    if before[_TOLD_AT] and not before[_POLLED] and lesson.read_at is None:
        flags |= _TOLD
    flags |= (_CHANGED if lesson.changed else 0) | (_SEEN if lesson.is_seen else 0)
    return flags | (_FIRST if lesson.before is None else 0) | (_STAYS if lesson.after is not None else 0)


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
        self._answers: NDArray[np.bool_] = (rows["flags"] & _EVERY_FLAG) != 0
        self._stays = self._is(_STAYS)
        self._names: NDArray[np.uint64] = rows["name"]
        self._times: Floats = rows["time"]
        self._weights: Floats = rows["weight"]
        self._worth: Floats = planner.worth(self._names, self._weights)
        self._said = prior.said(old)
        self._said[self._is(_WAS_POLLED)] = 0.0
        self._others = np.maximum(rows["said"] - self._said, _LEAST_SAID)
        # Whoever reads no sources was told nothing, which is not to say that servers were silent.
        self._told = np.flatnonzero(self._is(_TOLD) & (rows["elapsed_s"] > 0.0) & settings.watch)
        self._witnesses = [_witness(lessons[number]) for number in self._told.tolist()]

    def _is(self, flag: int) -> Flags:
        return np.asarray(self._answers[flag.bit_length() - 1])

    def learn(self) -> None:
        """History, interval and date of every page; what its server counts."""
        rows = self._rows
        self._count_missed()
        histories = self._observed()
        if len(self._told):
            self._judge(histories)
        wished = self._wished(histories)
        dues = self._times + self._planner.page_intervals_s(self._names, wished, self._weights)
        if len(self._told):
            self._count_signals(histories, wished)
        if self._settings.languages:
            self._count_languages()
            wished, dues = self._cycled(wished, dues)
        read_at: Floats = rows["read_at"]
        polled = ~np.isnan(read_at)
        if polled.any():
            wished = np.where(polled, np.maximum(read_at - self._times, 1.0), wished)
            dues = np.where(polled, read_at, dues)
        self._complete(histories, wished, dues, polled)
        self._enter(self._dates(histories, dues, polled), polled)

    def _enter(self, dates: Entries, polled: Flags) -> None:
        """Into the calendar of pages, or that of sources, which wait for no batch of pages."""
        if polled.any():
            self._calendar.sources.push(dates[self._stays & polled])
            self._calendar.push(dates[self._stays & ~polled])
        else:
            self._calendar.push(dates if self._stays.all() else dates[self._stays])

    def _observed(self) -> change.Histories:
        """Histories with one visit more where it could be compared with another; some begin with a date."""
        here = self._rows["elapsed_s"] > 0.0
        changed = self._is(_CHANGED)
        said = heard(len(here), self._told, self._witnesses) if len(self._told) else None
        if here.all():
            return self._learned(self._rows, changed, self._old, self._others, said)
        after = self._old.copy()
        begins = ~here & ~np.isnan(self._rows["age_s"])
        if begins.any():
            after[begins] = change.begun(self._rows["age_s"][begins], self._rows["trust"][begins])
        if here.any():
            said = said.of(here) if said is not None else None
            after[here] = self._learned(
                self._rows[here], changed[here], self._old[here], self._others[here], said
            )
        return after

    def _learned(
        self,
        rows: Rows,
        changed: Flags,
        old: change.Histories,
        others: prior.Said,
        said: signals.Heard | None,
    ) -> change.Histories:
        return self._policy.learned(
            old, rows["elapsed_s"], changed, others, age_s=rows["age_s"], trust=rows["trust"], heard=said
        )

    def _judge(self, histories: change.Histories) -> None:
        """How good the signals are of servers that speak; pages they spoke of are priced by that."""
        here = self._told
        chances = self._policy.chances(self._old[here], self._others[here])
        count = heard(len(here), np.arange(len(here)), self._witnesses).number
        elapsed_s, changed = self._rows["elapsed_s"][here], self._is(_CHANGED)[here]
        judge(self._witnesses, signals.scores(elapsed_s, changed, count, chances))
        histories["told"][here] = [-server.signals for server, _ in self._witnesses]

    def _count_signals(self, histories: change.Histories, wished: Floats) -> None:
        """Pages that are visited sooner when a signal comes wish for more visits than their waits say."""
        here = self._told[histories["told"][self._told] < 0.0]
        if len(here):
            often_s = self._policy.with_signals_s(histories[here], self._worth[here], self._others[here])
            wished[here] = np.maximum(often_s, self._settings.least_interval_s)

    def _wished(self, histories: change.Histories) -> Floats:
        """Intervals that pages wish; of one that was not seen, what it wished before or has been given.

        Pages taken over from other archives come without one.
        """
        wished = self._rows["given_s"].copy()
        seen = self._is(_SEEN) | (wished == 0.0)
        first: Flags = seen & self._is(_FIRST)
        priced = seen if self._policy.has_studied else seen & ~first
        if priced.all():
            wished = self._policy.intervals_s(histories, self._worth, self._others)
        elif priced.any():
            wished[priced] = self._policy.intervals_s(
                histories[priced], self._worth[priced], self._others[priced]
            )
        first_s = self._settings.first_wait_s
        wished[first] = np.minimum(wished[first], first_s) if self._policy.has_studied else first_s
        return wished

    def _complete(self, histories: change.Histories, wished: Floats, dues: Floats, polled: Flags) -> None:
        """Write into the pages' upkeep what was learned, and into their servers what they wish and say."""
        rows = self._rows
        said = prior.said(histories)
        said[~self._stays | polled] = 0.0
        packed, size = histories.tobytes(), change.HISTORY.itemsize
        entered = np.where(self._stays, wished, 0.0)
        columns = (
            wished.tolist(), dues.tolist(),
            rows["left_s"].tolist(), cells_of(rows["left_s"], rows["left_weight"]), entered.tolist(),
            cells_of(entered, self._weights), *(said - self._said).T.tolist(),
        )  # fmt: skip
        at = 0
        for lesson, interval_s, due, left, left_cell, enters, cell, more, much in zip(
            self._lessons, *columns, strict=True
        ):
            care, server = lesson.after, lesson.server
            if care is not None:
                care.due, care.interval_s = due, interval_s
                if lesson.elapsed_s > 0.0 or not math.isnan(lesson.age_s):
                    care.history = packed[at : at + size]
            at += size
            assert server is not None
            change_wish(server.wishes, left, left_cell, enters, cell)
            weight, total = server.said
            weight += more
            server.said = (weight, total + much) if weight > 0.0 else (0.0, 0.0)

    def _dates(self, histories: change.Histories, dues: Floats, polled: Flags) -> Entries:
        """The entries of all pages."""
        rows = self._rows
        has_history = self._is(_HAD_HISTORY) | (rows["elapsed_s"] > 0.0)
        # A page that was not there just now keeps its distance, whatever has become of prices.
        is_movable = self._is(_IS_THERE) & self._is(_SEEN) & ~polled
        since = np.where(has_history, rows["seen_at"], np.where(self._is(_HAS_BODY), -rows["seen_at"], 0.0))
        return _entries(
            rows["mark"], self._names, rows["version"], self._times, dues, np.where(is_movable, since, 0.0),
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
        if not self._policy.is_drawn and (priced := self._is(_WAS_PRICED)[late]).any():
            these = late[priced]
            wished[priced] = self._policy.intervals_s(
                self._old[these], self._worth[these], self._others[these]
            )
        kept = self._planner.page_intervals_s(rows["name"], wished, rows["weight"])
        missed = (late_s[late] / np.maximum(kept, 1e-9)).tolist()
        for number, visits in zip(late.tolist(), missed, strict=True):
            server = self._lessons[number].server
            assert server is not None
            server.missed += int(visits)


def _witness(lesson: Lesson) -> Witness:
    assert lesson.server is not None
    return lesson.server, lesson.before


_NOBODY = Upkeep()
_LEAST_SAID = np.array([0.0, -np.inf])


def is_priced(care: Upkeep) -> bool:
    """At its second visit, while missing, announced, and as a source its date is moved by no price."""
    return change.is_watched(care.history) and not is_missing(care) and not care.polled and not care.signals


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
    is_new = care.body and not change.is_watched(care.history) and not is_missing(care) and not care.polled
    return -care.seen_at if is_new else 0.0


def looked_at(now: float | Floats, visited_at: ArrayLike, due: Floats, share: float = LOOKED_AT) -> Floats:
    """When pages that are due later are looked at again."""
    left = due - now
    is_far = (left > SOON * (due - np.asarray(visited_at))) & (share < 1.0)
    return np.where(is_far, now + share * left, due)
