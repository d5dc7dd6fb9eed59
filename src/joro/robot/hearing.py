"""What do servers say of changes, how far is it believed, and what comes of it?

In:    signals: known pages that a feed or sitemap calls changed; what visits to pages of such servers found.
Out:   dates moved forward by what a signal is worth; pages given up as gone that wait once more; of each
       server that speaks, how good its signals are.
Never: visits a page at once because somebody says so: where there is a visit for every fourth change, pages
       announced would take all visits from the others. Believes a server before its signals came true.
Paper: F29 to F31, noisy signals (`schedule.signals`), by the code that the simulator runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from joro.discover.watch import Signal
from joro.model import Outcome
from joro.robot.lessons import STATE, dated
from joro.robot.planner import Planner
from joro.robot.sights import Sight, Sights
from joro.schedule import change, prior, signals
from joro.store.calendar import Entries
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint, server_of

_GONE = Outcome.GONE.value
#: The version of dates of pages given up, which no record names.
GIVEN_UP = 0
#: So many failures in a row may have been an accident, and over: whoever announces a page has answered since.
FORGIVEN = 1

#: The dates of pages by what they cost and are worth now.
Dates = Callable[[Entries], NDArray[np.float64]]


class Hearing:
    """The signals about pages of one robot."""

    def __init__(self, frontier: Frontier, planner: Planner, dates: Dates, least_interval_s: float) -> None:
        self._frontier = frontier
        self._sights = Sights(frontier.sources)
        self._planner = planner
        self._dates = dates
        self._least_interval_s = least_interval_s
        self._moved: dict[int, int] = {}  # versions of pages moved since the last commit, by fingerprint

    def hear(self, told: Sequence[Signal], now: float, every_s: float) -> list[str]:
        """Note signals that a source had, read so long after the last time; visit pages sooner for them.

        A source has dates of its own, and a page that waits already cannot wait any sooner. One given up as
        gone is looked for once more: the servers of such pages. One that failed, or broke off, more than once
        in a row waits for its date; if nobody has seen it yet, it would be given up in a few days.
        """
        latest = {fingerprint(signal.url): signal.time for signal in told}
        records = self._frontier.records(np.array(list(latest), np.uint64))
        after, believed = dict[str, Upkeep](), list[PageRecord]()
        for record, time in zip(records, latest.values(), strict=True):
            care = record.upkeep if record is not None else None
            if record is None or care is None or care.polled or time <= care.told_at:
                continue
            after[record.url] = structs.replace(
                care, signals=care.signals + 1, told_at=time, told_every_s=every_s
            )
            failures = care.failures + (0 if was_here(care) else care.absences)
            is_believed = failures <= FORGIVEN and self._quality_of(record) != signals.NONE
            if is_believed and not self._frontier.waits(record):
                believed.append(record)
        if believed:
            self._move(believed, after, now)
        for record in records:
            if record is not None and record.url in after:
                self._frontier.keep_page(structs.replace(record, upkeep=after[record.url]))
        return [
            server_of(record.url) for record in records if record is not None and self._is_back(record, now)
        ]

    def _is_back(self, record: PageRecord, now: float) -> bool:
        """Does a page wait again that had been given up, now that its server calls it changed since?

        One that was gone all the same when it was last called so waits for its moment: a server that dates
        all it lists with today would have it looked for at every reading.
        """
        if record.upkeep is not None or record.outcome != _GONE:
            return False
        sight = self._sights.of(record.url)
        if sight.deaf_until <= now:
            return self.look_again(record)
        if sight.announced <= record.time:  # told for the first time since
            names = np.array([fingerprint(server_of(record.url))], np.uint64)
            cares, times = [_once_more(sight)], np.array([now])
            self._frontier.calendar.push(dated([fingerprint(record.url)], names, cares, times))
        return False

    def look_again(self, record: PageRecord) -> bool:
        """Let a page wait once more that had been given up; False when it waits already, or is not gone."""
        if record.outcome != _GONE or not self._frontier.wait_again(record, first=True):
            return False
        self._frontier.server(server_of(record.url)).due += 1
        return True

    def _move(self, believed: list[PageRecord], after: dict[str, Upkeep], now: float) -> None:
        """Let pages be due sooner: another date in the calendar, which counts instead of the old one."""
        cares = [record.upkeep for record in believed if record.upkeep is not None]
        histories = change.unpack([care.history for care in cares]).copy()
        histories["told"] = [-self._quality_of(record) for record in believed]
        names = np.array([fingerprint(server_of(record.url)) for record in believed], np.uint64)
        marks = np.array([fingerprint(record.url) for record in believed], np.uint64)
        times, within_s = np.full(len(cares), now), self._planner.look_within_s
        entered = dated(marks, names, cares, times, within_s, histories=histories)
        others = np.maximum(self._planner.said_of(names) - prior.said(histories), [0.0, -np.inf])
        sooner_s = self._planner.policy.signal_worth_s(histories, others)
        least = np.maximum([care.seen_at + self._least_interval_s for care in cares], now)
        entered["due"] = np.maximum(self._dates(entered) - sooner_s, least)
        entered["version"] += 1
        entered["state"].view(STATE)["visited_at"] = 0.0  # the date stands
        self._frontier.calendar.push(entered)
        for record, due in zip(believed, entered["due"].tolist(), strict=True):
            care = after[record.url]
            care.version, care.due = care.version + 1, due
            self._moved[fingerprint(record.url)] = care.version

    def without_replaced(self, due: Entries) -> Entries:
        """Entries but for those that a signal has just replaced, which no record says before the commit."""
        if not self._moved:
            return due
        rows = zip(due["mark"].tolist(), due["version"].tolist(), strict=True)
        counts = [version >= self._moved.get(mark, 0) for mark, version in rows]
        self._moved.clear()
        kept: Entries = due[np.array(counts, bool)]
        return kept

    def _quality_of(self, record: PageRecord) -> int:
        """How good the signals of a page's server are."""
        return self._frontier.server(server_of(record.url)).signals


def was_here(care: Upkeep) -> bool:
    """Did this collection ever have the page? One taken over from another archive only has its history.

    Of one collected before pages were kept fresh nothing is known but that it was there.
    """
    return bool(care.body or (care.seen_at and not care.history))


def promised(record: PageRecord, sights: Sights) -> Upkeep | None:
    """The date of a page given up that was called changed since it was missed: no record has it."""
    if record.upkeep is not None or record.outcome != _GONE:
        return None
    sight = sights.of(record.url)
    return _once_more(sight) if sight.announced > record.time else None


def _once_more(sight: Sight) -> Upkeep:
    return Upkeep(version=GIVEN_UP, due=sight.deaf_until)
