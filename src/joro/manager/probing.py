"""How far is a new server from every robot, before somebody gets it for good?

In:    a server that a robot gave back after the first pages of it.
Out:   the next robot on its tour; after the last one, the nearest.
Never: sends it twice to one robot, also where that robot could not reach it.
Paper: S1 5.2.1 step 3: every robot collects the first 50 URLs of every server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from joro.store.control import Transaction

#: What a robot has received of a server, and how long that took.
Effort = tuple[int, int]


def tour(
    transaction: Transaction, robot: str, servers: Sequence[str], robots: Iterable[str]
) -> dict[str, tuple[str | None, bool]]:
    """For each server who is next, and whether that is a probe again; None: nobody reached it."""
    transaction.run_many(
        "INSERT INTO efforts (robot, server, pages, bytes, ms) VALUES (?, ?, 0, 0, 0) "
        "ON CONFLICT (robot, server) DO NOTHING",
        [(robot, server) for server in servers],
    )
    efforts: defaultdict[str, dict[str, Effort]] = defaultdict(dict)
    for name, server, received, spent_ms in transaction.rows(
        "SELECT robot, server, bytes, ms FROM efforts WHERE server = ANY(?)", list(servers)
    ):
        efforts[server][name] = (int(received), int(spent_ms))
    there = sorted(robots)
    return {server: _next(efforts[server], there) for server in servers}


def _next(efforts: Mapping[str, Effort], there: Sequence[str]) -> tuple[str | None, bool]:
    for robot in there:
        if robot not in efforts:
            return robot, True
    return _nearest(efforts, there), False


def _nearest(efforts: Mapping[str, Effort], there: Sequence[str]) -> str | None:
    """The robot with the fewest milliseconds for a byte."""
    reached = [robot for robot in there if robot in efforts and efforts[robot][0] > 0]
    return min(reached, key=lambda robot: efforts[robot][1] / efforts[robot][0], default=None)
