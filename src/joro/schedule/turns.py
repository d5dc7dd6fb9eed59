"""Whose turn is it?

In:    servers with the moment from which each may be visited again.
Out:   the next server that is ready, and how long to wait if none is.
Never: hands out a server twice: from `take` until `give_back` it is busy, so no server ever sees
       two of our requests at once.
Paper: S0, waiting / downloading / idle; S3, one connection to a server at a time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable


class Turns:
    """Servers ordered by the moment they may be visited; those that may, by `rank` where there is one."""

    def __init__(self, rank: Callable[[str, float], float] | None = None) -> None:
        self._rank = rank
        self._ready: list[tuple[float, float, int, str]] = []  # with a rank only
        self._heap: list[tuple[float, int, str]] = []
        self._ready_at: dict[str, float] = {}  # waiting servers; a heap entry that differs is stale
        self._busy: set[str] = set()
        self._count = 0  # first come, first served among equals

    def __len__(self) -> int:
        """Servers waiting for their turn."""
        return len(self._ready_at)

    def is_busy(self, server: str) -> bool:
        """True while the server is being visited."""
        return server in self._busy

    def enter(self, server: str, ready_at: float) -> None:
        """Let a server wait for its turn, unless it waits already or is being visited."""
        if server not in self._ready_at and server not in self._busy:
            self._push(server, ready_at)

    def take(self, now: float) -> str | None:
        """The server that has been ready longest, or ranks first; now busy. None when nobody is ready."""
        if self._rank is not None:
            return self._take_first(now)
        while self._heap:
            ready_at, _, server = self._heap[0]
            if self._ready_at.get(server) != ready_at:
                heapq.heappop(self._heap)
                continue
            if ready_at > now:
                return None
            heapq.heappop(self._heap)
            del self._ready_at[server]
            self._busy.add(server)
            return server
        return None

    def _take_first(self, now: float) -> str | None:
        while self._heap and self._heap[0][0] <= now:
            ready_at, count, server = heapq.heappop(self._heap)
            if self._ready_at.get(server) == ready_at and self._rank is not None:
                heapq.heappush(self._ready, (self._rank(server, ready_at), ready_at, count, server))
        while self._ready:
            _, ready_at, _, server = heapq.heappop(self._ready)
            if self._ready_at.get(server) == ready_at:
                del self._ready_at[server]
                self._busy.add(server)
                return server
        return None

    def give_back(self, server: str, ready_at: float | None) -> None:
        """The visit is over: wait until `ready_at`, or leave when it is None."""
        self._busy.remove(server)
        if ready_at is not None:
            self._push(server, ready_at)

    def next_ready_at(self) -> float:
        """When the next server gets its turn; infinity when none waits."""
        while self._ready and self._ready_at.get(self._ready[0][3]) != self._ready[0][1]:
            heapq.heappop(self._ready)
        if self._ready:
            return self._ready[0][1]
        while self._heap and self._ready_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    def _push(self, server: str, ready_at: float) -> None:
        self._count += 1
        self._ready_at[server] = ready_at
        heapq.heappush(self._heap, (ready_at, self._count, server))
