"""How many of the pages that are due may wait at their servers now, when they are taken in batches?

In:    pages that came to wait, and visits, as they happen.
Out:   room for more pages; the word that a batch is over, for the log and `joro stats`.
Never: takes a page away from its server: what a batch leaves behind waits on there, and goes first into the
       next one. Holds a page: of each server that has any left, their number.
Paper: S4-02, the refresh collector: a batch ends when its speed has collapsed, because only large slow
       servers are left.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from joro.clock import Clock
from joro.config import Refresh
from joro.schedule.batch import Batch
from joro.store.frontier import Frontier

log = logging.getLogger(__name__)

#: Where the report of the last batch is remembered, for `joro stats`.
REPORT = "batch"


class BatchReport(msgspec.Struct):
    """A batch that is over."""

    number: int  # of batches that are over
    started_at: float
    ended_at: float
    pages: int  # it had
    left: int  # that go first into the next one
    servers_left: int  # that these pages lie on
    peak_per_s: float
    speed_per_s: float  # at the end

    def __str__(self) -> str:
        """One line."""
        took_s = self.ended_at - self.started_at
        rest = "all visited"
        if self.left:
            rest = (
                f"ended at {self.speed_per_s:.3g} pages a second after a peak of {self.peak_per_s:.3g};"
                f" {self.left:,} pages at {self.servers_left:,} servers go into the next"
            )
        return f"batch {self.number}: {self.pages:,} pages in {took_s:,.0f} s, {rest}"


class Batches:
    """The batches of one robot; without a size there are none, and there is always room."""

    def __init__(self, frontier: Frontier, settings: Refresh, clock: Clock, sockets: int) -> None:
        self._frontier = frontier
        self._size = settings.batch_pages
        self._collapsed = settings.batch_collapsed_percent / 100
        self._window_s = settings.batch_window_s
        self._clock = clock
        self._sockets = sockets
        self._left: dict[str, int] = {}  # pages of the batch not yet visited, by server
        self._batch: Batch | None = None
        self._pages = 0  # of the batch
        self._is_filled = False
        last = last_report(frontier)
        self._number = last.number if last is not None else 0

    def room(self, most: int) -> tuple[float, int]:
        """Pages due until when may come to wait now, and how many at most."""
        now = self._clock.now()
        if not self._size:
            return now, most
        if self._batch is not None and self._is_filled:
            if not self._batch.is_over(now, servers=len(self._left), sockets=self._sockets):
                return now, 0
            self._end(self._batch, now)
        if self._batch is None:
            self._pages = sum(self._left.values())
            self._batch = Batch(self._pages, now, self._window_s, self._collapsed)
            self._is_filled = self._pages >= self._size  # perhaps by those left over alone
        return self._batch.started_at, max(min(most, self._size - self._pages), 0)

    def brought(self, servers: Iterable[str], *, is_last: bool) -> None:
        """Pages of these servers came to wait, each as often as it has pages; perhaps no more are due."""
        if self._batch is None:
            return
        for server in servers:
            self._left[server] = self._left.get(server, 0) + 1
            self._pages += 1
            self._batch.pages += 1
        self._is_filled = is_last or self._pages >= self._size
        if self._is_filled and not self._pages:
            self._batch = None  # nothing is due: an empty batch is none

    def visited(self, server: str) -> None:
        """A known page of that server is done with, whatever became of it."""
        left = self._left.get(server)
        if self._batch is None or left is None:
            return
        self._batch.visited(self._clock.now())
        if left > 1:
            self._left[server] = left - 1
        else:
            del self._left[server]

    def gone(self, server: str) -> None:
        """The server is somebody else's; its pages are no part of the batch any more."""
        left = self._left.pop(server, 0)
        self._pages -= left
        if self._batch is not None:
            self._batch.pages -= left

    def _end(self, batch: Batch, now: float) -> None:
        self._number += 1
        report = BatchReport(
            self._number,
            batch.started_at,
            now,
            self._pages,
            batch.pages,
            len(self._left),
            batch.peak_per_s,
            batch.speed_per_s(now),
        )
        self._frontier.keep(REPORT, msgspec.json.encode(report))
        (log.warning if report.left else log.info)("%s", report)  # people see warnings
        self._batch = None


def last_report(frontier: Frontier) -> BatchReport | None:
    """The last batch that ended in a share, as of its last commit; None before the first."""
    packed = frontier.kept(REPORT).get(REPORT)
    return msgspec.json.decode(packed, type=BatchReport) if packed else None
