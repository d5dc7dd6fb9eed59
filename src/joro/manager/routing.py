"""Who gets a server, and the links to it?

In:    links that robots found; servers that somebody gave back, left behind, or nobody has had yet.
Out:   one owner for each server, told so by letter, and links in the box of whoever owns theirs.
Never: gives a server to a robot that has not yet read what it lost; moves one that has an owner.
Paper: S1-15 (new servers are assigned with nobody's help), S2-01 (the integration server routes links).

While a server is on its way to an heir, its links go to the owner it still has: the journal takes them along.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from joro.config.cooperate import Manager
from joro.coordinate.assign import by_rendezvous
from joro.coordinate.beat import Given, Link, Post
from joro.coordinate.units import is_part, server_in
from joro.manager.mail import NOBODY, Outbox, emptied, reclaim
from joro.manager.probing import tour
from joro.manager.units import LOOSE, by_unit, pieces, placeable, strangers
from joro.store.control import Transaction
from joro.url import host_of, server_of, try_canonical

#: The longest server key with a name that can be looked up: 253 characters, a scheme and a port. PostgreSQL
#: has no room for some of those that pages link to.
SERVER_CHARS = 270
#: Robots that may be given servers: they are there, and have read and told everything about what they lost.
AVAILABLE = "state = 'up' AND letter_read >= lost_letter AND settled = 1"


@dataclass
class Server:
    """A row of `servers`."""

    name: str
    owner: str | None
    heir: str | None
    journal_number: int
    most_pages: int | None
    had_owner: bool = False  # before the one it has
    is_new: bool = False  # nobody knew of it before this transaction


@dataclass(frozen=True)
class Robots:
    """Who may be given servers now: how many each has, and how many it collects side by side."""

    held: dict[str, int]
    sockets: dict[str, int]

    def chosen(self, servers: Sequence[str], rule: str) -> list[str]:
        """A robot for each server; there must be one."""
        names, houses = sorted(self.held), list(dict.fromkeys(map(house, servers)))
        if rule == "hash":
            owners = [names[number] for number in by_rendezvous(houses, names)]
        elif rule == "random":
            owners = random.choices(names, k=len(houses))
        else:
            owners = self._least_loaded(names, Counter(map(house, servers)))
        hosts = dict(zip(houses, owners, strict=True))
        for server in servers:
            self.held[hosts[house(server)]] += 1
        return [hosts[house(server)] for server in servers]

    def _least_loaded(self, names: Sequence[str], houses: Mapping[str, int]) -> list[str]:
        """Always to whoever has the fewest servers for its sockets: what each will cost, nobody knows yet."""
        heap = [(self.held[name] / self.sockets[name], name) for name in names]
        heapq.heapify(heap)
        owners: list[str] = []
        for servers in houses.values():
            load, name = heap[0]
            heapq.heapreplace(heap, (load + servers / self.sockets[name], name))
            owners.append(name)
        return owners


def house(server: str) -> str:
    """Servers that answer for each other belong together: with or without www., with or without encryption.

    A robots.txt often redirects from one to the other, and only the robot that has both can read it.
    """
    return server if is_part(server) else host_of(f"{server}/").removeprefix("www.")


def _relatives(name: str) -> list[str]:
    return [f"{scheme}://{www}{name}" for scheme in ("http", "https") for www in ("", "www.")]


def available(transaction: Transaction) -> Robots:
    """The robots that may be given servers."""
    found = transaction.rows(f"SELECT name, held, sockets FROM robots WHERE {AVAILABLE}")
    return Robots(
        {name: int(held) for name, held, _ in found},
        {name: max(1, int(sockets)) for name, _, sockets in found},
    )


def known(transaction: Transaction, names: Iterable[str]) -> dict[str, Server]:
    """What is known of these servers."""
    rows = transaction.rows(
        "SELECT name, owner, heir, journal_number, most_pages, had_owner FROM servers WHERE name = ANY(?)",
        list(names),
    )
    return {row[0]: Server(*row) for row in rows}


def register(transaction: Transaction, names: Sequence[str]) -> list[Server]:
    """Make servers known that were not; nobody has them yet."""
    now = transaction.now
    transaction.insert("servers", "name, since, found_at", [(name, now, now) for name in names])
    return [Server(name, None, None, 0, None, is_new=True) for name in names]


def give(
    transaction: Transaction,
    outbox: Outbox,
    pairs: Sequence[tuple[Server, str | None]],
    *,
    free_at: float | None = None,
    most_pages: int | None = None,
) -> None:
    """Let robots own servers from now on; None: nobody."""
    if not pairs:
        return
    change: defaultdict[str, int] = defaultdict(int)
    piece_of = pieces(transaction, [server.name for server, _ in pairs])
    for server, robot in pairs:
        if server.owner is not None:
            change[server.owner] -= 1
            server.had_owner = True
        server.owner, server.heir, server.most_pages = robot, None, most_pages
        if robot is not None:
            change[robot] += 1
            piece = piece_of.get(server.name)
            # 0 says that nobody has asked it: whoever had it may have, and be cut off before it told of it.
            number = max(int(server.had_owner), server.journal_number)
            given = Given(server.name, number, most_pages=most_pages, piece=piece)
            outbox.put(robot, given, free_at=free_at)
    transaction.run_many(
        "UPDATE servers SET owner = ?, heir = NULL, had_owner = ?, most_pages = ?, since = ?, "
        "read_at = NULL, given_number = journal_number WHERE name = ?",
        [(robot, int(server.had_owner), most_pages, transaction.now, server.name) for server, robot in pairs],
    )
    transaction.run_many(
        "UPDATE robots SET held = held + ? WHERE name = ?", [(more, name) for name, more in change.items()]
    )


def place(
    transaction: Transaction,
    outbox: Outbox,
    servers: Sequence[Server],
    settings: Manager,
    *,
    free_at: float | None = None,
) -> None:
    """Give servers that nobody has to robots by the rule; if there are none, they stay with nobody."""
    robots = available(transaction)
    if robots.held:
        _place_apart(transaction, outbox, robots, servers, settings.rule, free_at)
    servers = [server for server in servers if server.heir != LOOSE and not is_part(server.name)]
    if not servers or not robots.held:
        return
    owners = _owners(transaction, robots, [server.name for server in servers], settings.rule)
    pairs = list(zip(servers, owners, strict=True))
    is_probing = settings.probe_pages > 0 and len(robots.held) > 1
    new = [pair for pair in pairs if is_probing and pair[0].journal_number == 0]
    old = [pair for pair in pairs if not (is_probing and pair[0].journal_number == 0)]
    give(transaction, outbox, new, most_pages=settings.probe_pages, free_at=free_at)
    give(transaction, outbox, old, free_at=free_at)


def _owners(transaction: Transaction, robots: Robots, names: Sequence[str], rule: str) -> list[str]:
    """A robot for each server: the one that has others of its house, or one by the rule."""
    relatives = known(transaction, [each for name in names for each in _relatives(house(name))])
    homes = {house(each.name): each.owner for each in relatives.values() if each.owner in robots.held}
    strange = [name for name in names if homes.get(house(name)) is None]
    chosen = dict(zip(strange, robots.chosen(strange, rule) if strange else (), strict=True))
    owners = [chosen.get(name) or homes[house(name)] or "" for name in names]
    for name, owner in zip(names, owners, strict=True):
        robots.held[owner] += name not in chosen
    return owners


def _place_apart(
    transaction: Transaction,
    outbox: Outbox,
    robots: Robots,
    servers: Sequence[Server],
    rule: str,
    free_at: float | None,
) -> None:
    """Give parts of servers to robots that have no other part of the same one, while there are such."""
    parts = {server.name: server for server in servers if is_part(server.name)}
    for name in placeable(transaction, list(parts)):
        there = strangers(transaction, name, robots.held)
        if there:
            some = Robots({robot: robots.held[robot] for robot in there}, robots.sockets)
            [owner] = some.chosen([name], rule)
            robots.held[owner] += 1
            give(transaction, outbox, [(parts[name], owner)], free_at=free_at)


def loosen(transaction: Transaction, outbox: Outbox, servers: Sequence[Server]) -> None:
    """Let nobody have units that are to be cut or glued: `splitting` sees to the rest."""
    give(transaction, outbox, [(server, None) for server in servers])
    for server in servers:
        server.heir = LOOSE
    transaction.run_many(
        "UPDATE servers SET heir = ? WHERE name = ?", [(LOOSE, server.name) for server in servers]
    )


def offer(transaction: Transaction, outbox: Outbox, links: Iterable[Link], settings: Manager) -> None:
    """Send links to the owners of their servers; a server nobody knew of gets one."""
    by_server = by_unit(transaction, _by_server(links))
    servers = known(transaction, by_server)
    new = register(transaction, [name for name in by_server if name not in servers])
    servers |= {server.name: server for server in new}
    place(transaction, outbox, [server for server in servers.values() if server.owner is None], settings)
    for name, found in by_server.items():
        outbox.add_links(servers[name].owner or NOBODY, found)


def can_be_asked(server: str) -> bool:
    """Could anybody look its host up, and connect to its port? Pages link to others, too."""
    return len(server) <= SERVER_CHARS and not server.endswith(":0")


def _by_server(links: Iterable[Link]) -> Mapping[str, list[Link]]:
    """Links by their server, in our spelling, without those that nobody could collect."""
    by_server: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        url = try_canonical(link.url)
        if url is not None and can_be_asked(server := server_of(url)):
            by_server[server].append(link if url == link.url else replace(link, url=url))
    return by_server


def welcome(transaction: Transaction, outbox: Outbox, settings: Manager) -> None:
    """Somebody is there again: share out what nobody has, and the links that waited for it."""
    if not available(transaction).held:
        return
    names = [name for (name,) in transaction.rows("SELECT name FROM servers WHERE owner IS NULL")]
    if names:
        place(transaction, outbox, list(known(transaction, names).values()), settings)
    offer(transaction, outbox, emptied(transaction, NOBODY), settings)


def hand_over(
    transaction: Transaction, outbox: Outbox, robot: str, names: Iterable[str], settings: Manager
) -> None:
    """What a robot gave back goes to the heirs, else to somebody by the rule; and the links to it too."""
    servers = [server for server in known(transaction, names).values() if server.owner == robot]
    if not servers:
        return
    heirs = available(transaction).held
    probed = [server for server in servers if server.most_pages is not None]
    moved = [(server, server.heir) for server in servers if server.heir in heirs and server not in probed]
    loose = [server for server in servers if server.heir == LOOSE and server not in probed]
    kept = heirs.keys() | {LOOSE}
    others = [server for server in servers if server.heir not in kept and server not in probed]
    give(transaction, outbox, moved)
    loosen(transaction, outbox, loose)
    give(transaction, outbox, [(server, None) for server in others])
    place(transaction, outbox, others, settings)
    go_on(transaction, outbox, robot, probed, settings)
    forward(transaction, outbox, robot, servers)


def go_on(
    transaction: Transaction, outbox: Outbox, robot: str, servers: Sequence[Server], settings: Manager
) -> None:
    """Send probed servers on to the next robot, or after the last one to the nearest."""
    if not servers:
        return
    robots = available(transaction)
    stops = tour(transaction, robot, [server.name for server in servers], robots.held)
    to_probe = [(server, stops[server.name][0]) for server in servers if stops[server.name][1]]
    to_keep = [(server, stops[server.name][0]) for server in servers if not stops[server.name][1]]
    give(transaction, outbox, to_probe, most_pages=settings.probe_pages or None)
    give(transaction, outbox, to_keep)
    unreached = [server for server, nearest in to_keep if nearest is None and robots.held]
    owners = robots.chosen([server.name for server in unreached], settings.rule) if unreached else []
    give(transaction, outbox, list(zip(unreached, owners, strict=True)))


def forward(transaction: Transaction, outbox: Outbox, robot: str, servers: Iterable[Server]) -> None:
    """Send what a robot has not read about servers that moved to those who have them now."""
    owners = {server.name: server.owner or NOBODY for server in servers}
    to_parts: list[Link] = []
    for link in reclaim(transaction, robot, {*owners, *map(server_in, owners)}):
        if server_of(link.url) in owners:
            outbox.add_links(owners[server_of(link.url)], [link])
        else:
            to_parts.append(link)
    by_part = by_unit(transaction, _by_server(to_parts)) if to_parts else {}
    parts = known(transaction, by_part) if by_part else {}
    for name, links in by_part.items():
        outbox.add_links(parts[name].owner or NOBODY, links)


def hints(transaction: Transaction, posts: Iterable[Post]) -> tuple[dict[str, str], list[str]]:
    """For a robot that can send links by itself: who has the servers they lead to, and who is not there."""
    names = _by_server(link for post in posts for link in post.links)
    rows = transaction.rows("SELECT name, owner FROM servers WHERE name = ANY(?)", list(names))
    silent = transaction.rows("SELECT name FROM robots WHERE state IN ('down', 'left') ORDER BY name")
    return {name: owner for name, owner in rows if owner is not None}, [name for (name,) in silent]
