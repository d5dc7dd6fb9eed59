"""Should servers move, now that more is known of what they cost?

In:    what every robot received of every server, and how long it took; who owns what.
Out:   heirs, and letters that ask owners to give servers back. Hand-over is `routing`'s, once they did.
Never: moves more than `most_moves_percent` at a time, a server that is on its way already, or anything for
       a gain not worth it. Holds up beats while it thinks.
Paper: S1 5.2.1 (equalise); beyond it (plan); S3 2.2 (hash).

One manager plans at a time: whoever notes first that it does. It thinks without the store, and what changed
meanwhile is not touched.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from joro.config.cooperate import Manager
from joro.coordinate.assign import Floats, Owners, by_rendezvous
from joro.coordinate.balance import equalise, spanning_tree
from joro.coordinate.beat import Wanted
from joro.coordinate.distance import between_robots, costs_ms, guessed
from joro.coordinate.plan import finish, plan
from joro.manager.mail import Outbox
from joro.manager.routing import AVAILABLE, house
from joro.manager.units import is_welcome
from joro.store.control import Control, Transaction

#: The note that says when somebody planned last.
PLANNED = "planned_at"
#: Servers that costs are reckoned with, the dearest; beyond, a plan takes minutes, and those weigh little.
MOST_SERVERS = 20_000
#: Robots must be done earlier by this share for servers to move: each move costs a journal and a pause.
WORTH = 0.05
#: A server that came from another robot stays for so many looks: by then its distance there is known well.
REST = 10.0
_KB = 1_024.0


@dataclass(frozen=True)
class World:
    """Robots that may own servers, the servers that may move, who has them, and what was measured."""

    robots: list[str]
    servers: list[str]
    owners: Owners
    sizes_kb: Floats
    distances: Floats  # milliseconds per KB, nan where nothing was measured
    lanes: int
    all_servers: int


def planning_round(control: Control, settings: Manager) -> int:
    """Plan, if it is time; how many servers are to move."""
    with control.reading() as transaction:
        if not _is_time(transaction, settings):
            return 0
    with control.transaction() as transaction:
        if not _is_time(transaction, settings):
            return 0  # somebody else was quicker
        _note(transaction)
    with control.reading() as transaction:
        world = looked_at(transaction, REST * settings.plan_every_s)
        stale = _stale_probes(transaction, settings)
    wishes = wished(world, settings) if len(world.robots) > 1 else []
    if not wishes and not stale:
        return 0
    with control.transaction() as transaction:
        return _ask(transaction, wishes, stale)


def _is_time(transaction: Transaction, settings: Manager) -> bool:
    noted = transaction.rows("SELECT value FROM notes WHERE name = ?", PLANNED)
    return not noted or float(noted[0][0]) + settings.plan_every_s <= transaction.now


def _note(transaction: Transaction) -> None:
    transaction.run(
        "INSERT INTO notes (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        PLANNED,
        repr(transaction.now),
    )


def looked_at(transaction: Transaction, rest_s: float = 0.0) -> World:
    """What there is to plan with: the dearest servers of robots that are there, on their way nowhere.

    Those that somebody else had less than `rest_s` ago stay where they are.
    """
    found = transaction.rows(f"SELECT name, sockets FROM robots WHERE {AVAILABLE} ORDER BY name")
    robots = [name for name, _ in found]
    movable = (
        "FROM servers WHERE owner IS NOT NULL AND heir IS NULL AND most_pages IS NULL "
        f"AND owner IN (SELECT name FROM robots WHERE {AVAILABLE}) AND (given_number = 0 OR since <= ?)"
    )
    rows = transaction.rows(
        f"SELECT name, owner, kb {movable} ORDER BY kb DESC, name LIMIT ?",
        transaction.now - rest_s,
        MOST_SERVERS,
    )
    servers = [name for name, _, _ in rows]
    row_of = {name: number for number, name in enumerate(robots)}
    return World(
        robots,
        servers,
        np.array([row_of[owner] for _, owner, _ in rows], np.int64),
        _sizes([float(kb) for _, _, kb in rows]),
        _distances(transaction, row_of, servers),
        int(np.median([max(1, sockets) for _, sockets in found])) if found else 1,
        int(transaction.rows("SELECT count(*) FROM servers WHERE owner IS NOT NULL")[0][0]),
    )


def _sizes(kb: list[float]) -> Floats:
    """Servers of which nothing was received yet count as usual ones."""
    sizes = np.array(kb, np.float64)
    received = sizes[sizes > 0.0]
    return np.where(sizes > 0.0, sizes, float(np.median(received)) if len(received) else 1.0)


def _distances(transaction: Transaction, row_of: dict[str, int], servers: list[str]) -> Floats:
    column_of = {name: number for number, name in enumerate(servers)}
    distances = np.full((len(row_of), len(servers)), np.nan)
    for robot, server, received, spent_ms in transaction.rows(
        "SELECT robot, server, bytes, ms FROM efforts WHERE bytes > 0"
    ):
        if robot in row_of and server in column_of:
            distances[row_of[robot], column_of[server]] = max(1, spent_ms) / (received / _KB)
    return distances


def wished(world: World, settings: Manager) -> list[tuple[str, str, str]]:
    """(server, owner, heir) for every server that should move, the most useful first."""
    if not world.servers or settings.rule == "random":
        return []
    most = int(world.all_servers * settings.most_moves_percent / 100.0)
    costs = costs_ms(guessed(world.distances), world.sizes_kb)
    after = _after(world, costs, settings.rule, most)
    moving = np.flatnonzero(after != world.owners)
    if settings.rule != "hash" and not _is_worth(world, costs, after):
        return []
    gain = costs[world.owners[moving], moving] - costs[after[moving], moving]
    chosen = moving[np.argsort(-gain, kind="stable")][:most].tolist()
    return [
        (world.servers[place], world.robots[world.owners[place]], world.robots[after[place]])
        for place in chosen
    ]


def _after(world: World, costs: Floats, rule: str, most: int) -> Owners:
    if rule == "hash":
        return by_rendezvous([house(server) for server in world.servers], world.robots)
    if rule == "equalise":
        tree = spanning_tree(between_robots(guessed(world.distances)))
        return _together(world, equalise(costs, world.owners, tree))
    return _together(world, plan(costs, world.lanes, current=world.owners, most_moves=most))


def _together(world: World, owners: Owners) -> Owners:
    """The same, but servers of one house go where its dearest goes, which comes first."""
    first: dict[str, int] = {}
    leaders = [first.setdefault(house(server), place) for place, server in enumerate(world.servers)]
    return owners[leaders]


def _is_worth(world: World, costs: Floats, after: Owners) -> bool:
    """Is the last robot done earlier by enough, or all of them where one server decides that?"""
    before_s, after_s = (finish(costs, owners, world.lanes) for owners in (world.owners, after))
    if after_s.max() < before_s.max() * (1.0 - WORTH):
        return True
    return bool(after_s.max() <= before_s.max() and after_s @ after_s < before_s @ before_s * (1.0 - WORTH))


def _stale_probes(transaction: Transaction, settings: Manager) -> list[tuple[str, str]]:
    """Servers on their tour that a robot keeps too long: they may have fewer pages than it was to collect."""
    return [
        (server, owner)
        for server, owner in transaction.rows(
            "SELECT name, owner FROM servers "
            "WHERE most_pages IS NOT NULL AND owner IS NOT NULL AND since < ?",
            transaction.now - settings.plan_every_s,
        )
    ]


def _ask(transaction: Transaction, wishes: list[tuple[str, str, str]], stale: list[tuple[str, str]]) -> int:
    """Name the heirs and ask the owners, where nothing has changed meanwhile."""
    there = {name for (name,) in transaction.rows(f"SELECT name FROM robots WHERE {AVAILABLE}")}
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for server, owner, heir in wishes:
        if not {owner, heir} <= there or not is_welcome(transaction, server, heir):
            continue
        if transaction.run(
            "UPDATE servers SET heir = ? WHERE name = ? AND owner = ? AND heir IS NULL", heir, server, owner
        ):
            wanted[owner].append(server)
    moving = sum(len(servers) for servers in wanted.values())
    for server, owner in stale:
        wanted[owner].append(server)
    outbox = Outbox()
    for owner, servers in wanted.items():
        outbox.put(owner, Wanted(servers))
    outbox.send(transaction)
    return moving
