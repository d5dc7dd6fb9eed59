"""When is a batch over?

In:    how many pages it has; every visit, as it happens.
Out:   the word that it is over: all visited, or so slow that the next batch should begin.
Never: ends a batch because the line was down: only when few of its servers are left, has it run dry;
       loses a page: what is left goes first into the next batch.
Paper: S4 4.2, the refresh collector: batches of two million, ended when only large slow sites are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: The speed is the mean of about so long: shorter than a batch, longer than a server's pauses.
WINDOW_S = 300.0
#: A batch is over when its speed has fallen to this share of its best.
COLLAPSED = 0.2


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
    _most_servers: int = 0

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
        """Is it time for the next batch? `servers` have pages of this one left.

        Few are so many as cannot keep the sockets busy. Pauses are long against visits, so these may be many
        more than there are sockets: also a small part of those it began with.
        """
        if self.pages == 0 or servers == 0:
            return True
        self._most_servers = max(self._most_servers, servers)
        few = max(sockets, self.collapsed * self._most_servers)
        if servers >= few or now - self.started_at < 2 * self.window_s:
            return False
        return self.speed_per_s(now) <= self.collapsed * self.peak_per_s  # both 0: nobody lets us in
