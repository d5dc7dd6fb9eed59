"""Should servers move, now that more is known of what they cost?

In:    robots, servers, and what is known of them (`world`); how many may still move (`allowance`).
Out:   heirs, and letters that ask owners to give servers back. Hand-over is `routing`'s, once they did.
Never: moves more than `most_moves_percent` at a time, more than the allowance in all, a server that is on its
       way or has just come, or anything for a gain that luck explains. Holds up beats while it thinks.
Paper: S1 5.2.1 (equalise); beyond it (plan); S3 2.2 (hash).

One manager plans at a time: whoever notes first that it does. It thinks without the store, and what changed
meanwhile is not touched. By rule `plan`, a robot that has much less than others is filled up first, and only
when nobody is short servers move for an earlier end. Then costs are taken for what they are at their owner's,
and elsewhere for what they are if the measurements of both were lucky: what helps even then, helps.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from joro.config.cooperate import Manager
from joro.coordinate.assign import Floats, Owners, by_rendezvous, loads
from joro.coordinate.balance import equalise, spanning_tree
from joro.coordinate.beat import Wanted
from joro.coordinate.distance import between_robots, guessed
from joro.coordinate.newcomer import filled, short, sparing
from joro.coordinate.plan import finish, plan, wary
from joro.manager import allowance
from joro.manager.mail import Outbox
from joro.manager.routing import AVAILABLE, house
from joro.manager.units import is_welcome
from joro.manager.world import Houses, World, by_house, looked_at
from joro.store.control import Control, Transaction

#: The note that says when somebody planned last.
PLANNED = "planned_at"
#: Robots must be done earlier by this share for servers to move: each move costs a journal and a pause.
WORTH = 0.05
#: A server that came from another robot stays for so many looks: by then its distance there is known well.
REST = 10.0


def planning_round(control: Control, settings: Manager) -> int:
    """Plan, if it is time; how many servers are to move."""
    with control.reading() as transaction:
        if not _is_time(transaction, settings):
            return 0
    with control.transaction() as transaction:
        if not _is_time(transaction, settings):
            return 0  # somebody else was quicker
        _note(transaction)
        left = allowance.renew(transaction)
    with control.reading() as transaction:
        world = looked_at(transaction, REST * settings.plan_every_s)
        stale = _stale_probes(transaction, settings)
    is_alone = len(world.robots) < 2
    wishes = [] if is_alone else wished(world, settings, left.servers(world.all_servers))
    is_settled = is_alone or has_settled(world)
    with control.transaction() as transaction:
        moving = _ask(transaction, wishes, stale)
        allowance.spend(transaction, moving / max(1, world.all_servers), is_settled=is_settled)
    return moving


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


def wished(world: World, settings: Manager, allowed: int | None = None) -> list[tuple[str, str, str]]:
    """(server, owner, heir) for every server that should move, the most useful first.

    What may still move in all binds all rules but `hash`, which says where servers belong for good.
    """
    if not world.servers or settings.rule == "random":
        return []
    most = math.ceil(world.all_servers * settings.most_moves_percent / 100.0)  # of nine servers one, not none
    if settings.rule == "hash":
        owners = by_rendezvous([house(server) for server in world.servers], world.robots)
        moving = np.flatnonzero((owners != world.owners) & ~world.fixed)
        return _named(world, moving[:most].tolist(), owners)
    most = most if allowed is None else min(most, allowed)
    houses = by_house(world)
    after = _after(world, houses, settings.rule, most)
    return _named(world, _chosen(world, houses, after, most), after[houses.of_server])


def has_settled(world: World) -> bool:
    """Has everyone enough to do?"""
    if not world.servers:
        return True
    houses = by_house(world)
    return not len(short(houses.costs, houses.owners, houses.doubts))


def _named(world: World, places: list[int], owners: Owners) -> list[tuple[str, str, str]]:
    return [
        (world.servers[place], world.robots[world.owners[place]], world.robots[owners[place]])
        for place in places
    ]


def _after(world: World, houses: Houses, rule: str, most: int) -> Owners:
    """Who should have each house; the present owners, where nothing is worth a move."""
    costs = houses.costs
    if rule == "equalise":
        tree = spanning_tree(between_robots(guessed(world.distances)))
        after = equalise(costs, houses.owners, tree)
        return after if _is_worth(costs, houses.owners, after, world.lanes) else houses.owners
    after = filled(costs, houses.owners, houses.doubts, most)
    if not np.array_equal(after, houses.owners):
        return after
    costs = wary(costs, houses.owners, houses.doubts)
    after = plan(costs, world.lanes, current=houses.owners, most_moves=most)
    after = sparing(houses.costs, houses.owners, after)
    return after if _is_worth(costs, houses.owners, after, world.lanes) else houses.owners


def _chosen(world: World, houses: Houses, after: Owners, most: int) -> list[int]:
    """The servers that move, the houses first that gain most; no house of which not all may."""
    moving = np.flatnonzero((after[houses.of_server] != world.owners) & ~world.fixed)
    changed = np.unique(houses.of_server[moving])
    gain = houses.costs[houses.owners[changed], changed] - houses.costs[after[changed], changed]
    members = defaultdict(list)
    for place in moving.tolist():
        members[int(houses.of_server[place])].append(place)
    chosen: list[int] = []
    for number in changed[np.argsort(-gain, kind="stable")].tolist():
        if len(chosen) + len(members[number]) <= most:
            chosen += members[number]
    return chosen


def _is_worth(costs: Floats, before: Owners, after: Owners, lanes: int) -> bool:
    """Is the last robot done earlier by enough, or are loads more equal where one server decides that?"""
    before_s, after_s = (float(finish(costs, owners, lanes).max()) for owners in (before, after))
    if after_s < before_s * (1.0 - WORTH):
        return True
    before_load, after_load = loads(costs, before), loads(costs, after)
    return bool(after_s <= before_s and after_load @ after_load < before_load @ before_load * (1.0 - WORTH))


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
