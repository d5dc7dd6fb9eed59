"""What does a planner know of robots and servers?

In:    what every robot received of every server, how long it took, and who owns what.
Out:   columns to reckon with: sizes, distances, how sure they are, owners, and what may not move now.
Never: leaves out what a robot has because it may not move: a robot that was just given much would seem empty.
Paper: S1 5.2.1, equations (4) and (5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from joro.coordinate.assign import Floats, Owners
from joro.coordinate.distance import KB, costs_ms, doubts, guessed
from joro.manager.routing import AVAILABLE, house
from joro.store.control import Row, Transaction

Flags = npt.NDArray[np.bool_]

#: Servers that costs are reckoned with, the dearest; beyond, a plan takes minutes, and those weigh little.
MOST_SERVERS = 20_000


@dataclass(frozen=True)
class World:
    """Robots that may own servers, their servers, who has or will have them, and what was measured."""

    robots: list[str]
    servers: list[str]
    owners: Owners
    sizes_kb: Floats
    distances: Floats  # milliseconds per KB, nan where nothing was measured
    pages: Floats  # that they were measured with
    fixed: Flags  # on their way, or just come
    lanes: int
    all_servers: int


@dataclass(frozen=True)
class Houses:
    """The same by house, the dearest server of each first: what belongs together moves together."""

    of_server: Owners  # for each server the number of its house
    owners: Owners
    costs: Floats  # milliseconds; infinite for all but the owner where a house may not move
    doubts: Floats


def looked_at(transaction: Transaction, rest_s: float = 0.0) -> World:
    """What there is to plan with: the dearest servers of robots that are there.

    Fixed are those on their way to an heir, who counts as their owner, and those that somebody else had less
    than `rest_s` ago.
    """
    found = transaction.rows(f"SELECT name, sockets FROM robots WHERE {AVAILABLE} ORDER BY name")
    rows = transaction.rows(
        "SELECT name, owner, kb, heir, given_number > 0 AND since > ? FROM servers "
        f"WHERE most_pages IS NULL AND owner IN (SELECT name FROM robots WHERE {AVAILABLE}) "
        "ORDER BY kb DESC, name LIMIT ?",
        transaction.now - rest_s,
        MOST_SERVERS,
    )
    row_of = {name: number for number, (name, _) in enumerate(found)}
    servers = [name for name, *_ in rows]
    return World(
        list(row_of),
        servers,
        np.array([row_of.get(heir, row_of[owner]) for _, owner, _, heir, _ in rows], np.int64),
        _sizes([float(kb) for _, _, kb, _, _ in rows]),
        *_measured(transaction, row_of, servers),
        np.array([heir is not None or bool(rests) for *_, heir, rests in rows], np.bool_),
        int(np.median([max(1, sockets) for _, sockets in found])) if found else 1,
        int(transaction.rows("SELECT count(*) FROM servers WHERE owner IS NOT NULL")[0][0]),
    )


def _sizes(kb: list[float]) -> Floats:
    """Servers of which nothing was received yet count as usual ones."""
    sizes = np.array(kb, np.float64)
    received = sizes[sizes > 0.0]
    return np.where(sizes > 0.0, sizes, float(np.median(received)) if len(received) else 1.0)


def _measured(transaction: Transaction, row_of: dict[str, int], servers: list[str]) -> tuple[Floats, Floats]:
    """Distances, and how many pages they come from."""
    column_of = {name: number for number, name in enumerate(servers)}
    distances = np.full((len(row_of), len(servers)), np.nan)
    pages = np.zeros(distances.shape)
    efforts: list[Row] = transaction.rows(
        "SELECT robot, server, pages, bytes, ms FROM efforts WHERE bytes > 0"
    )
    for robot, server, count, received, spent_ms in efforts:
        if robot in row_of and server in column_of:
            place = row_of[robot], column_of[server]
            distances[place] = max(1, spent_ms) / (received / KB)
            pages[place] = count
    return distances, pages


def by_house(world: World) -> Houses:
    """Costs of houses: the sums of those of their servers. The dearest server of each says whose it is."""
    number_of: dict[str, int] = {}
    of_server = np.array([number_of.setdefault(house(name), len(number_of)) for name in world.servers])
    _, leaders = np.unique(of_server, return_index=True)
    each = costs_ms(guessed(world.distances), world.sizes_kb)
    costs = np.zeros((len(world.robots), len(leaders)))
    np.add.at(costs.T, of_server, each.T)
    owners = world.owners[leaders]
    fixed = np.unique(of_server[world.fixed])
    kept = costs[owners[fixed], fixed]
    costs[:, fixed] = np.inf
    costs[owners[fixed], fixed] = kept
    return Houses(of_server, owners, costs, doubts(world.distances, world.pages)[:, leaders])
