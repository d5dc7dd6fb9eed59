"""Which of the servers that are ready should start first, when nothing has to be kept fresh?

In:    what is known of a server.
Out:   a rank: the server with the longest way to go has the smallest.
Never: matters while there are sockets enough: then everybody who is ready starts.
Paper: S1-17: inside a robot, the servers that take longest start first, so that none is left over at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from joro.schedule.sockets import Pool, Pools
from joro.store.frontier import Frontier
from joro.store.records import ServerRecord


class LongestFirst:
    """Ranks servers by the time their waiting pages will take (see `schedule.turns.Ranking`)."""

    pools: Pools | None = None

    def __init__(self, frontier: Frontier, interval_s: Callable[[str, ServerRecord], float]) -> None:
        self._frontier = frontier
        self._interval_s = interval_s

    def pool_of(self, server: str) -> Pool:
        """All in one."""
        return Pool.REFRESH

    def is_urgent(self, server: str) -> bool:
        """None: where nothing is kept fresh, nobody looks for news."""
        return False

    def rank(self, server: str, ready_at: float) -> float:
        """Pages that wait, times the interval between two visits; a visit takes a moment itself."""
        record = self._frontier.server(server)
        return -(record.found - record.visited) * (self._interval_s(server, record) + record.download_s)
