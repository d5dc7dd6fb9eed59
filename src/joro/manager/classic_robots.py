"""What is a robot to the manager that knows only M1 to M5?

In:    the control store, and what such a robot asks.
Out:   its list, whether it must restart, its state.
Never: answers for a robot of ours to whoever shows no token; forgets a page for having sent it once.
Paper: S1 5.1.2, 5.1.4, 5.1.6.

Such a robot has no lease: it is up as long as it asks for something every `silent_after_s`. After that its
servers move, and its next M4 is a RESTART: the list it holds is not its own any more. A list has all its
servers, each by its top page, and those of their pages that others found links to. All of it is sent every
time, since a robot fetches a list when it starts, and may have lost the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from joro.config.cooperate import Manager
from joro.coordinate.beat import Link, Links
from joro.coordinate.messages import Entry, ServerList, is_url
from joro.manager.mail import Outbox, acknowledge, unread
from joro.manager.refusal import Refused
from joro.manager.routing import hand_over, welcome
from joro.manager.tokens import CLASSIC
from joro.store.control import Transaction
from joro.url import server_of

#: What S1's robots do side by side, unless told otherwise (5.1.4).
USUAL_SOCKETS = 200
#: What a restart goes through: nobody wants it, somebody does, the robot was told and will fetch a list.
QUIET, WANTED, TOLD = 0, 1, 2
#: The note that holds what each server on the next lists is limited to.
MAX_TRANSFER = "max_transfer"
#: A note for each robot: the digest of the servers on its last list.
LISTED = "list of "
_PORTS = {"http": 80, "https": 443}


def subscribe(transaction: Transaction, robot: str, settings: Manager, *, is_proved: bool) -> None:
    """M5: from now on it is one of the robots."""
    known = transaction.rows("SELECT kind, identity, token_hash FROM robots WHERE name = ?", robot)
    if known and known[0][1]:
        raise Refused(409, f"{robot} is a robot that beats; it takes part already")
    if known and known[0][2] and not is_proved:
        raise _no_token(robot)
    if not known:
        transaction.run("INSERT INTO robots (name) VALUES (?)", robot)
    transaction.run(
        "UPDATE robots SET kind = ?, state = 'up', subscribed_at = ?, lease_until = ?, sockets = ? "
        "WHERE name = ?",
        CLASSIC,
        transaction.now,
        transaction.now + settings.silent_after_s,
        USUAL_SOCKETS,
        robot,
    )
    _come_up(transaction, robot, settings)


def admit(transaction: Transaction, robot: str, *, is_proved: bool) -> None:
    """Let robots in that subscribed; those that have a token only with it."""
    known = transaction.rows("SELECT kind, state, token_hash FROM robots WHERE name = ?", robot)
    if known and known[0][2] and not is_proved:
        raise _no_token(robot)
    if not known or known[0][0] != CLASSIC or known[0][1] == "left":
        raise Refused(403, f"{robot} takes no part; it subscribes at /servlets/subscribe?host={robot}")


def _no_token(robot: str) -> Refused:
    return Refused(401, f"{robot} has a token, and none was shown", headers={"www-authenticate": "Bearer"})


def heard(transaction: Transaction, robot: str, settings: Manager, *, is_fresh: bool) -> None:
    """Note that the robot asked. One that was down and lost servers restarts, unless it gets a list now."""
    had_been_down = transaction.rows("SELECT state FROM robots WHERE name = ?", robot) == [("down",)]
    transaction.run(
        "UPDATE robots SET state = 'up', lease_until = ? WHERE name = ?",
        transaction.now + settings.silent_after_s,
        robot,
    )
    if had_been_down:
        if not is_fresh and _lost_some(transaction, robot):
            want_restart(transaction, robot)
        _come_up(transaction, robot, settings)


def _come_up(transaction: Transaction, robot: str, settings: Manager) -> None:
    """Whatever it was to be told of servers it lost, a RESTART or a list tells it."""
    transaction.run("UPDATE robots SET lost_letter = 0, settled = 1 WHERE name = ?", robot)
    outbox = Outbox()
    welcome(transaction, outbox, settings)
    outbox.send(transaction)


def _lost_some(transaction: Transaction, robot: str) -> bool:
    """Is a server on its last list not its own any more, or no longer without a break?"""
    kept = transaction.rows(
        "SELECT servers.name FROM servers JOIN robots ON robots.name = owner "
        "WHERE owner = ? AND since <= list_at",
        robot,
    )
    listed = transaction.rows("SELECT value FROM notes WHERE name = ?", f"{LISTED}{robot}")
    return bool(listed) and listed[0][0] != _digest(name for (name,) in kept)


def _digest(servers: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(servers)).encode()).hexdigest()


def leave(transaction: Transaction, robot: str, settings: Manager) -> None:
    """M5: it goes, and has stopped collecting; its servers move at once."""
    transaction.run(
        "UPDATE robots SET state = 'left', lease_until = ? WHERE name = ?", transaction.now, robot
    )
    names = [name for (name,) in transaction.rows("SELECT name FROM servers WHERE owner = ?", robot)]
    outbox = Outbox()
    hand_over(transaction, outbox, robot, names, settings)
    outbox.send(transaction)


def want_restart(transaction: Transaction, robot: str) -> None:
    """Let the robot's next M4 be RESTART."""
    transaction.run("UPDATE robots SET restart_wanted = ? WHERE name = ?", WANTED, robot)


def told_restart(transaction: Transaction, robot: str) -> bool:
    """M4: must it restart? Until it has fetched a list it is told so again: the answer may have been lost."""
    wanted = transaction.rows("SELECT restart_wanted FROM robots WHERE name = ?", robot)[0][0] != QUIET
    transaction.run(
        "UPDATE robots SET asked_at = ?, restart_wanted = ? WHERE name = ?",
        transaction.now,
        TOLD if wanted else QUIET,
        robot,
    )
    return bool(wanted)


def list_of(transaction: Transaction, robot: str, settings: Manager) -> ServerList:
    """M1: what the robot is to collect; a restart that it was told of is done with that."""
    outbox = Outbox()
    hand_over(transaction, outbox, robot, _to_let_go(transaction, robot), settings)
    outbox.send(transaction)
    servers = _list(transaction, robot)
    transaction.run(
        "UPDATE robots SET restart_wanted = ?, restarted_at = ? WHERE name = ? AND restart_wanted = ?",
        QUIET,
        transaction.now,
        robot,
        TOLD,
    )
    transaction.run("UPDATE robots SET list_at = ? WHERE name = ?", transaction.now, robot)
    return servers


def _to_let_go(transaction: Transaction, robot: str) -> list[str]:
    """Servers that others wait for, and those probed by now: it fetches a list when all is collected."""
    found = transaction.rows(
        "SELECT servers.name FROM servers JOIN robots ON robots.name = owner WHERE owner = ? "
        "AND (heir IS NOT NULL OR (most_pages IS NOT NULL AND list_at IS NOT NULL AND since <= list_at))",
        robot,
    )
    return [name for (name,) in found]


def _list(transaction: Transaction, robot: str) -> ServerList:
    """All its servers; while there are some to be probed, only these, limited as S1 does it."""
    limits: dict[str, int | None] = dict(
        transaction.rows("SELECT name, most_pages FROM servers WHERE owner = ? ORDER BY name", robot)
    )
    probed = {server: pages for server, pages in limits.items() if pages is not None}
    limit = min(probed.values()) if probed else max_transfer(transaction)
    servers = list(probed or limits)
    _note_listed(transaction, robot, servers)
    pages = _pages(transaction, robot)
    entries = [entry for server in servers for entry in (Entry(_top_page(server)), *pages.get(server, ()))]
    return ServerList(tuple(entries), limit)


def _note_listed(transaction: Transaction, robot: str, servers: Iterable[str]) -> None:
    transaction.run("DELETE FROM notes WHERE name = ?", f"{LISTED}{robot}")
    transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", f"{LISTED}{robot}", _digest(servers))


def _pages(transaction: Transaction, robot: str) -> dict[str, list[Entry]]:
    """Pages of its servers that others found links to; top pages are on the list anyway."""
    pages: dict[str, list[Entry]] = {}
    for link in _links(transaction, robot):
        server = server_of(link.url)
        if link.url != f"{server}/" and is_url(link.url):
            found_on = link.found_on if is_url(link.found_on) else None
            pages.setdefault(server, []).append(Entry(link.url, found_on))
    return pages


def _links(transaction: Transaction, robot: str) -> list[Link]:
    """All links in the robot's box, which then holds each once and nothing else: a list says all the rest."""
    links: dict[str, Link] = {}
    read, more = 0, True
    while more:
        letters, more = unread(transaction, robot, read)
        for letter in letters:
            read = letter.number
            if isinstance(letter.content, Links):
                for link in letter.content.links:
                    links.setdefault(link.url, link)
    acknowledge(transaction, robot, read)
    outbox = Outbox()
    outbox.add_links(robot, links.values())
    outbox.send(transaction)
    return list(links.values())


def _top_page(server: str) -> str:
    """As S1 writes it, with its port: http://www.etl.go.jp:80/."""
    scheme, _, authority = server.partition("://")
    has_port = authority.rpartition("]")[2].count(":") > 0
    return f"{server}/" if has_port else f"{server}:{_PORTS[scheme]}/"


def max_transfer(transaction: Transaction) -> int | None:
    """What each server on the next lists is limited to."""
    found = transaction.rows("SELECT value FROM notes WHERE name = ?", MAX_TRANSFER)
    return int(found[0][0]) if found else None
