"""What is new at a watched source, and when do we look again?

In:    what we remember of a source (a feed, a sitemap, a front page), the entries it has now, when we last
       visited each of these pages, and whether the server's dates can be trusted.
Out:   pages to visit at once, pages to collect some time, signals that known pages have changed, sitemaps to
       read; and what to remember, with the moment of the next reading.
Never: looks anything up itself; remembers more than eight bytes for an entry; lets a source speak for
       pages of another's domain: those are links, neither urgent nor believed.
Paper: S4, the RSS and news collectors beside the refresh collector.

A source is read in portions, so that a sitemap of 50,000 pages needs no more memory than one of 500:

    reading = Reading(watched, now, last_visits, trust)
    for portion in portions(entries):
        findings = reading.sift(portion)
    watched = reading.close(hints)
"""

from __future__ import annotations

import array
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from joro.discover.arrivals import Arrivals, Polling, first_arrivals, interval_s, next_poll
from joro.discover.trust import Trust, is_announced
from joro.model import DAY_S, Entry, PollHints
from joro.model import FEED as FEED
from joro.model import FRONT as FRONT
from joro.model import INDEX as INDEX
from joro.model import SITEMAP as SITEMAP
from joro.url import fingerprint, host_of, registrable_domain

#: When each of these pages was last visited: 0.0 = it waits for its first visit, None = we never heard of it.
LastVisits = Callable[[list[str]], list[float | None]]

PORTION = 1_000
#: News is urgent for so long; an older article is an article.
NEWS_AGE_S = 2 * DAY_S
#: A date further ahead than this is no date of a change; a little ahead is a clock that is wrong.
AHEAD_LIMIT_S = DAY_S
#: Entries of earlier readings that are remembered too: lists show again what they had dropped.
OLDER_LIMIT = 2_000
#: A front page of which more is new every time leads to other pages than articles.
RESTLESS = 0.8

POLLING = {
    FEED: Polling(),
    FRONT: Polling(),
    SITEMAP: Polling(least_s=3_600.0, most_s=7 * DAY_S),
    INDEX: Polling(least_s=3_600.0, most_s=7 * DAY_S),
}
#: What each kind is, for people.
WORDS = {
    FEED: "a feed",
    FRONT: "a front page, where new pages keep appearing",
    SITEMAP: "a sitemap",
    INDEX: "an index of sitemaps",
}
UNTRIED = Trust()
NO_HINTS = PollHints()
UNKNOWN = Arrivals()
_MIX = 0x9E3779B97F4A7C15
_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Signal:
    """A source says that a page we know has changed since we saw it."""

    url: str
    time: float


@dataclass(slots=True)
class Findings:
    """What one portion of entries leads to; nothing stands in two of the lists."""

    urgent: list[str] = field(default_factory=list)  # to be visited before anything else of their servers
    new: list[str] = field(default_factory=list)  # not visited yet, in no hurry
    signals: list[Signal] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)  # of an index: new, or changed since the last reading


class Watched(msgspec.Struct, array_like=True, frozen=True):
    """What we remember of a source between two readings."""

    kind: str
    home: str  # the registrable domain it may speak for
    due_at: float = 0.0
    read_at: float = 0.0  # 0: never
    readings: int = 0
    failures: int = 0  # in a row
    entries: int = 0  # at the last reading
    arrivals: Arrivals = UNKNOWN
    turnover: float = 0.0  # the share of entries that are new, in the mean of the last readings
    marks: bytes = b""  # of the entries at the last reading, sorted
    older: bytes = b""  # and some before
    hints: PollHints = NO_HINTS
    looked_at: float = 0.0  # when all of it had come and it was no list, or not for us

    @property
    def is_restless(self) -> bool:
        """Does it show other links every time?"""
        return self.readings > 2 and self.turnover > RESTLESS


def watch(kind: str, declared_on: str, now: float) -> Watched:
    """A source to be read as soon as possible, named on that page (or by that server's robots.txt)."""
    return Watched(kind, registrable_domain(host_of(declared_on)), due_at=now)


def is_source(watched: Watched | None) -> bool:
    """Is it read for its own sake, and no page for people?"""
    return watched is not None and watched.kind != FRONT


def portions(entries: Iterable[Entry], size: int = PORTION) -> Iterator[list[Entry]]:
    """Entries in portions."""
    rest = iter(entries)
    while portion := list(itertools.islice(rest, size)):
        yield portion


class Reading:
    """One reading of a source."""

    def __init__(self, watched: Watched, now: float, last_visits: LastVisits, trust: Trust = UNTRIED) -> None:
        self._watched = watched
        self._now = now
        self._last_visits = last_visits
        self._trust = trust
        self._is_first = watched.readings == 0
        self._known = [np.frombuffer(marks, "<u8") for marks in (watched.marks, watched.older)]
        self._marks = array.array("Q")
        self._times = array.array("d")  # of a first reading
        self._fresh = 0
        self._arrived = 0

    def sift(self, entries: Sequence[Entry]) -> Findings:
        """What a portion of the entries leads to."""
        fresh = self._unknown(entries)
        self._fresh += len(fresh)
        findings = Findings()
        if self._is_first:
            self._times.extend(entry.time for entry in entries if entry.time is not None)
        if self._watched.kind == INDEX:
            findings.sitemaps = [entry.url for entry in fresh]  # whoever's: see `sitemaps`
            self._arrived += len(fresh)
            return findings
        for entry, visited_at in zip(fresh, self._last_visits([e.url for e in fresh]), strict=True):
            if not visited_at:
                self._arrived += 1
                (findings.urgent if self._is_urgent(entry) else findings.new).append(entry.url)
            elif self._is_signal(entry, visited_at):
                self._arrived += self._trust.is_good
                findings.signals.append(Signal(entry.url, min(entry.time or 0.0, self._now)))
        return findings

    def close(self, hints: PollHints = NO_HINTS) -> Watched:
        """What to remember, and when to come again."""
        before = self._watched
        count = len(self._marks)
        marks = np.unique(np.frombuffer(self._marks, "<u8")) if count else np.empty(0, "<u8")
        turnover = self._fresh / count if count else 0.0
        return _due(
            msgspec.structs.replace(
                before,
                read_at=self._now,
                readings=before.readings + 1,
                failures=0,
                entries=count,
                arrivals=self._arrivals(count),
                turnover=turnover if before.readings < 2 else (before.turnover + turnover) / 2,
                marks=marks.tobytes(),
                older=self._older(marks),
                hints=hints,
            ),
            self._now,
        )

    def _unknown(self, entries: Sequence[Entry]) -> list[Entry]:
        """Entries that did not stand there, or not with this date, when we last looked."""
        marks = np.fromiter((self._mark(entry) for entry in entries), "<u8", len(entries))
        self._marks.frombytes(marks.tobytes())
        known = np.zeros(len(entries), bool)
        for remembered in self._known:
            known |= _holds(remembered, marks)
        return [entry for entry, old in zip(entries, known.tolist(), strict=True) if not old]

    def _mark(self, entry: Entry) -> int:
        mark = fingerprint(entry.url)
        if entry.time is None or self._trust.is_broken:
            return mark
        return (mark ^ int(entry.time) * _MIX) & _64_BITS

    def _is_ours(self, url: str) -> bool:
        return registrable_domain(host_of(url)) == self._watched.home

    def _is_urgent(self, entry: Entry) -> bool:
        """News, and not yesterday's: of a first reading only what is dated can be known to be new."""
        kind = self._watched.kind
        if not (entry.news or kind in (FEED, FRONT)) or self._watched.is_restless:
            return False
        if not self._is_ours(entry.url):
            return False
        if entry.time is None or entry.time > self._now + AHEAD_LIMIT_S:
            return not self._is_first
        return entry.time + entry.span_s > self._now - NEWS_AGE_S

    def _is_signal(self, entry: Entry, visited_at: float) -> bool:
        if entry.time is None or entry.time > self._now + AHEAD_LIMIT_S or self._trust.is_broken:
            return False
        return is_announced(entry.time, entry.span_s, visited_at) and self._is_ours(entry.url)

    def _arrivals(self, count: int) -> Arrivals:
        before = self._watched
        if self._is_first:
            return first_arrivals(self._times, self._now)
        overflow = before.kind == FEED and self._arrived == count > 1
        return before.arrivals.after(self._now - before.read_at, self._arrived, overflow=overflow)

    def _older(self, marks: NDArray[np.uint64]) -> bytes:
        """What was remembered and is gone now. Of sitemaps nothing: they list everything they have."""
        if self._watched.kind not in (FEED, FRONT):
            return b""
        gone = np.setdiff1d(np.concatenate(self._known), marks)
        last = np.setdiff1d(self._known[0], marks)
        return (gone if len(gone) <= OLDER_LIMIT else last[:OLDER_LIMIT]).tobytes()


def unchanged(watched: Watched, now: float) -> Watched:
    """The source was asked and has not changed (304): nothing came."""
    if not watched.readings:
        return _due(msgspec.structs.replace(watched, read_at=now), now)
    arrivals = watched.arrivals.after(now - watched.read_at, 0)
    return _due(msgspec.structs.replace(watched, read_at=now, failures=0, arrivals=arrivals), now)


def failed(watched: Watched, now: float) -> Watched:
    """The source could not be read, or is none any more: asked again ever more rarely, and never given up."""
    return _due(msgspec.structs.replace(watched, failures=watched.failures + 1), now)


def told_nothing(before: Watched, after: Watched) -> bool:
    """Was a visit to a source for nothing? It failed, or nothing came and the list is as before.

    A restless list is another one each time, and tells as little as one that stays.
    """
    if after.failures:
        return True
    return after.arrivals.silent_s > 0.0 and (after.marks == before.marks or after.is_restless)


def _due(watched: Watched, now: float) -> Watched:
    polling = POLLING[watched.kind]
    pause_s = interval_s(watched.arrivals, watched.entries, watched.hints, polling)
    if watched.failures:
        pause_s = min(pause_s * 2.0 ** min(watched.failures, 20), max(pause_s, polling.most_s))
    return msgspec.structs.replace(watched, due_at=next_poll(now + pause_s, watched.hints))


def _holds(remembered: NDArray[np.uint64], marks: NDArray[np.uint64]) -> NDArray[np.bool_]:
    if not len(remembered):
        return np.zeros(len(marks), bool)
    places = np.minimum(np.searchsorted(remembered, marks), len(remembered) - 1)
    return np.asarray(remembered[places] == marks)
