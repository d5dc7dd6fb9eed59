"""Whose turn is it?

In:    servers with the moment from which each may be visited again; perhaps their rank and pool; the lines in
       which some stand for an IP address.
Out:   the next server that is ready, and how long to wait if none is.
Never: hands out a server twice: from `take` until `give_back` it is busy, so no server ever sees
       two of our requests at once. Gives a pool more sockets than are its, or a turn to somebody who is not
       first in line.
Paper: S0, waiting / downloading / idle; S3, one connection to a server at a time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Protocol

from joro.schedule.lines import Lines
from joro.schedule.sockets import Pool, Pools


class Ranking(Protocol):
    """Who knows which of the servers that are ready comes first."""

    @property
    def pools(self) -> Pools | None:
        """The sockets each pool may have; None: no limits."""

    def pool_of(self, server: str) -> Pool:
        """What the server would be visited for."""

    def rank(self, server: str, ready_at: float) -> float:
        """The smallest comes first, among those of a pool for known pages."""

    def is_urgent(self, server: str) -> bool:
        """Does a page wait there that is to be visited before all others?"""


class Turns:
    """Servers ordered by the moment they may be visited; those that may, by pool and rank if known."""

    def __init__(self, ranking: Ranking | None = None) -> None:
        self._ranking = ranking
        self._ready: dict[Pool, list[tuple[float, float, int, str]]] = {pool: [] for pool in Pool}
        self._pool: dict[str, Pool] = {}  # of servers that are ready, or busy
        self._hurried: set[str] = set()  # of those that are ready: with an urgent page when they were ranked
        self._taken = [0] * len(Pool)  # sockets of each pool
        self._heap: list[tuple[float, int, str]] = []
        self._ready_at: dict[str, float] = {}  # waiting servers; a heap entry that differs is stale
        self._busy: set[str] = set()
        self._lines = Lines()  # the first of each has its turn like others
        #: Addresses for which somebody stands in line: only there `may_pass` and the like need to be asked.
        self.crowded: Mapping[str, object] = self._lines.by_name
        self._count = 0  # first come, first served among equals

    def __len__(self) -> int:
        """Servers waiting for their turn; where some stand in line, the first of them."""
        return len(self._ready_at)

    def is_busy(self, server: str) -> bool:
        """True while the server is being visited."""
        return server in self._busy

    def enter(self, server: str, ready_at: float) -> None:
        """Let a server wait for its turn, unless it waits already or is being visited."""
        if server in self._busy or self._lines.is_behind(server):
            return
        if server not in self._ready_at:
            self._push(server, ready_at)
        elif self._ranking is not None and server in self._pool:
            # a page that is due may have come to new ones
            self._make_ready(server, self._ready_at[server], self._ranking)

    def take(self, now: float) -> str | None:
        """The server that has been ready longest, or ranks first; now busy. None when nobody may leave."""
        if self._ranking is not None:
            return self._take_first(now, self._ranking)
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

    def _take_first(self, now: float, ranking: Ranking) -> str | None:
        while self._heap and self._heap[0][0] <= now:
            ready_at, _, server = heapq.heappop(self._heap)
            if self._ready_at.get(server) == ready_at:
                self._make_ready(server, ready_at, ranking)
        for pool in self._open(ranking):
            lender = self._lender(pool, ranking)
            if lender is not None:
                _, _, _, server = heapq.heappop(self._ready[lender])
                del self._ready_at[server]
                self._busy.add(server)
                self._hurried.discard(server)
                self._pool[server] = pool
                self._taken[pool] += 1
                return server
        return None

    def _lender(self, pool: Pool, ranking: Ranking) -> Pool | None:
        """Where the next server of a pool is found.

        Servers with known pages to visit have new ones, too: where all are such, discovery has its least
        share of their turns.
        """
        if self._is_waited_for(pool):
            return pool
        pools = ranking.pools
        is_short = pool is Pool.DISCOVERY and pools is not None and self._taken[pool] < pools.least_discovery
        return Pool.REFRESH if is_short and self._is_waited_for(Pool.REFRESH) else None

    def is_for_new(self, server: str) -> bool:
        """Is the turn of a busy server for pages never visited?"""
        return self._pool.get(server) is Pool.DISCOVERY

    def _make_ready(self, server: str, ready_at: float, ranking: Ranking) -> None:
        """Put a server into the pool it belongs to now; an entry in another one is stale from now on.

        One that has come to be urgent has a second entry, before the others.
        """
        pool = ranking.pool_of(server)
        hurries = server not in self._hurried and ranking.is_urgent(server)
        if hurries:
            self._hurried.add(server)
        if hurries or self._pool.get(server) is not pool:
            rank = ranking.rank(server, ready_at) if pool is not Pool.DISCOVERY else 0.0
            self._count += 1
            heapq.heappush(self._ready[pool], (rank, ready_at, self._count, server))
            self._pool[server] = pool

    def _open(self, ranking: Ranking) -> Iterable[Pool]:
        """Pools that may have another socket, as they come."""
        pools = ranking.pools
        return pools.open_to(self._taken) if pools is not None else Pool

    def _is_waited_for(self, pool: Pool) -> bool:
        """Is a server ready in that pool? Those that have left it are forgotten."""
        ready = self._ready[pool]
        while ready:
            _, ready_at, _, server = ready[0]
            if self._ready_at.get(server) == ready_at and self._pool.get(server) is pool:
                return True
            heapq.heappop(ready)
        return False

    def give_back(self, server: str, ready_at: float | None, line: str = "") -> None:
        """The visit is over: wait until `ready_at`, or leave when it is None.

        With a line there was no visit: the address of that name is free from `ready_at` on, at the soonest,
        and all who were sent away there wait one behind the other.
        """
        self._busy.remove(server)
        pool = self._pool.pop(server, None)
        if pool is not None:
            self._taken[pool] -= 1
        if server in self._lines and (ready_at is None or not self._lines.stands_in(server, line)):
            self._leave_line(server)
        if ready_at is not None:
            if line:
                self._lines.join(server, line, ready_at)
            if not self._lines.is_behind(server):
                self._push(server, ready_at)

    def may_pass(self, server: str, line: str) -> bool:
        """Does nobody stand before the server in that line?"""
        return self._lines.first(line) in (None, server)

    def passed(self, server: str, line: str, free_at: float) -> None:
        """A server that is busy was let in; the next may come then."""
        self._lines.expect(line, free_at)
        self._leave_line(server)

    def freed(self, line: str, free_at: float) -> None:
        """A visit has ended: when the first in line may come is known now."""
        first = self._lines.first(line)
        if first is None:
            return
        self._lines.expect(line, free_at)
        if self._ready_at.get(first, free_at) != free_at:
            self._pool.pop(first, None)
            self._hurried.discard(first)
            self._push(first, free_at)

    def last_in_line(self, most: int) -> list[str]:
        """Servers whose turn is far off, because so many wait for their address."""
        return self._lines.last(most)

    def waiting_past(self, moment: float, most: int) -> list[str]:
        """Servers whose turn comes after that moment, whoever is first in a line excepted."""
        late = (server for server, at in self._ready_at.items() if at > moment and server not in self._lines)
        return list(islice(late, most))

    def leave(self, server: str) -> None:
        """A server that is not being visited waits no longer."""
        assert server not in self._busy, f"{server} is being visited"
        self._ready_at.pop(server, None)
        self._pool.pop(server, None)
        self._hurried.discard(server)
        self._leave_line(server)

    def _leave_line(self, server: str) -> None:
        following = self._lines.leave(server)
        if following is not None:
            self._push(*following)

    def next_ready_at(self) -> float:
        """When the next server gets its turn; infinity when none waits, but for a socket of its pool."""
        if self._ranking is not None:
            for pool in self._open(self._ranking):
                if self._is_waited_for(pool):
                    return self._ready[pool][0][1]
        while self._heap and self._ready_at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    def _push(self, server: str, ready_at: float) -> None:
        self._count += 1
        self._ready_at[server] = ready_at
        heapq.heappush(self._heap, (ready_at, self._count, server))
