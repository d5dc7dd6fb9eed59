"""Which pages make the next batch, and when is a batch over?

In:    pages that are due, the best first, each with its server; then every visit, as it happens.
Out:   a batch of at most so many pages, no more of a server than it can give in the time; and the word that
       it is over: all visited, or so slow that the next batch should begin.
Never: ends a batch because the line was down: only when sockets stand idle, for want of servers, has
       it run dry; loses a page: what is left goes first into the next batch.
Paper: S4 4.2, the refresh collector: batches of two million, ended when only large slow sites are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: S4's own.
SIZE = 2_000_000
#: The speed is the mean of about so long: shorter than a batch, longer than a server's pauses.
WINDOW_S = 300.0
#: A batch is over when its speed has fallen to this share of its best.
COLLAPSED = 0.2

Servers = npt.NDArray[np.integer]
Places = npt.NDArray[np.intp]


def quota(length_s: float, access_interval_s: float) -> int:
    """How many pages a server can give in a batch of that length, one at least."""
    return max(1, math.floor(length_s / access_interval_s)) if access_interval_s > 0 else SIZE


def select(servers: Servers, quotas: int | npt.NDArray[np.integer] = SIZE, size: int = SIZE) -> Places:
    """Which of the pages make the batch, as places in `servers`, the server of each page, the best first.

    `quotas` is the most a server may have: one number, or for each page its server's.
    """
    order = np.argsort(servers, kind="stable")
    ranked = servers[order]
    begins = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else np.empty(0, np.intp)
    lengths = np.diff(np.r_[begins, len(ranked)])
    rank = np.empty(len(servers), np.int64)
    rank[order] = np.arange(len(servers)) - np.repeat(begins, lengths)
    return np.flatnonzero(rank < quotas)[:size]


@dataclass(slots=True)
class Batch:
    """A batch under way."""

    pages: int  # still to be visited
    started_at: float
    window_s: float = WINDOW_S
    collapsed: float = COLLAPSED
    peak_per_s: float = 0.0
    _level_per_s: float = 0.0
    _at: float = -math.inf

    def visited(self, now: float, count: int = 1) -> None:
        """So many more pages are done with, whatever became of them."""
        self._level_per_s = self.speed_per_s(now) + count / self.window_s
        self._at = max(now, self._at)
        self.peak_per_s = max(self.peak_per_s, self._level_per_s)
        self.pages = max(0, self.pages - count)

    def speed_per_s(self, now: float) -> float:
        """Pages a second, in the mean of the last while, older ones counting less."""
        if self._level_per_s == 0.0:
            return 0.0
        return self._level_per_s * math.exp(-max(0.0, now - self._at) / self.window_s)

    def is_over(self, now: float, *, servers: int, sockets: int) -> bool:
        """Is it time for the next batch? `servers` have pages of this one left."""
        if self.pages == 0 or servers == 0:
            return True
        if servers >= sockets or now - self.started_at < 2 * self.window_s:
            return False
        return self.speed_per_s(now) < self.collapsed * self.peak_per_s
