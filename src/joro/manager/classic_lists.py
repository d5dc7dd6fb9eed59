"""What stands on the list of a robot that knows only M1 to M5?

In:    the servers it owns, and links to their pages that others found.
Out:   each server by its top page, and those pages with their referrers.
Never: forgets a page for having sent it once: a robot fetches a list when it starts, and may have lost the
       one before. Holds up beats while a list is written.
Paper: S1 5.1.2 (M1, #MaxTransfer), 5.1.5 (any page may be on a list).
"""

from __future__ import annotations

from collections.abc import Iterable

from joro.config.cooperate import Manager
from joro.coordinate.beat import Link, Links
from joro.coordinate.messages import Entry, ServerList, is_url
from joro.manager.classic_robots import LISTED, digest, done_restart
from joro.manager.mail import Outbox, acknowledge, unread
from joro.manager.routing import hand_over
from joro.store.control import Transaction
from joro.url import server_of

#: The note that holds what each server on the next lists is limited to.
MAX_TRANSFER = "max_transfer"
#: A note for each robot: how large its box was when it was put in order last.
BOX = "box of "
_SMALL_BOX_BYTES = 2_000
_PORTS = {"http": 80, "https": 443}


def prepare_list(transaction: Transaction, robot: str, settings: Manager) -> None:
    """The robot has collected all, or begins: what it should let go of moves, the rest is its list."""
    outbox = Outbox()
    hand_over(transaction, outbox, robot, _to_let_go(transaction, robot), settings)
    outbox.send(transaction)
    _tidy(transaction, robot)
    done_restart(transaction, robot)
    transaction.run("UPDATE robots SET list_at = ? WHERE name = ?", transaction.now, robot)
    _note(transaction, LISTED + robot, digest(_servers(transaction, robot)[0]))


def _to_let_go(transaction: Transaction, robot: str) -> list[str]:
    """Servers that others wait for, and those probed by now: it fetches a list when all is collected."""
    found = transaction.rows(
        "SELECT servers.name FROM servers JOIN robots ON robots.name = owner WHERE owner = ? "
        "AND (heir IS NOT NULL OR (most_pages IS NOT NULL AND list_at IS NOT NULL AND since <= list_at))",
        robot,
    )
    return [name for (name,) in found]


def list_of(transaction: Transaction, robot: str) -> ServerList:
    """M1: what the robot is to collect."""
    servers, limit = _servers(transaction, robot)
    pages = _pages(_links(transaction, robot)[0])
    entries = [entry for server in servers for entry in (Entry(_top_page(server)), *pages.get(server, ()))]
    return ServerList(tuple(entries), limit)


def _servers(transaction: Transaction, robot: str) -> tuple[list[str], int | None]:
    """All its servers; while there are some to be probed, only these, limited as S1 does it."""
    limits: dict[str, int | None] = dict(
        transaction.rows("SELECT name, most_pages FROM servers WHERE owner = ? ORDER BY name", robot)
    )
    probed = {server: pages for server, pages in limits.items() if pages is not None}
    return list(probed or limits), min(probed.values()) if probed else max_transfer(transaction)


def _pages(links: Iterable[Link]) -> dict[str, list[Entry]]:
    """Pages by their server; top pages are on the list anyway."""
    pages: dict[str, list[Entry]] = {}
    for link in links:
        server = server_of(link.url)
        if link.url != f"{server}/" and is_url(link.url):
            found_on = link.found_on if is_url(link.found_on) else None
            pages.setdefault(server, []).append(Entry(link.url, found_on))
    return pages


def _links(transaction: Transaction, robot: str) -> tuple[list[Link], int]:
    """All links in the robot's box, each once, and the number of the last letter there."""
    links: dict[str, Link] = {}
    read, more = 0, True
    while more:
        letters, more = unread(transaction, robot, read)
        for letter in letters:
            read = letter.number
            if isinstance(letter.content, Links):
                for link in letter.content.links:
                    links.setdefault(link.url, link)
    return list(links.values()), read


def _tidy(transaction: Transaction, robot: str) -> None:
    """Let a box that has doubled hold each link once, and nothing else: a list says all the rest."""
    size = _box_bytes(transaction, robot)
    before = transaction.rows("SELECT value FROM notes WHERE name = ?", BOX + robot)
    if size <= _SMALL_BOX_BYTES + (2 * int(before[0][0]) if before else 0):
        return
    links, read = _links(transaction, robot)
    acknowledge(transaction, robot, read)
    outbox = Outbox()
    outbox.add_links(robot, links)
    outbox.send(transaction)
    _note(transaction, BOX + robot, str(_box_bytes(transaction, robot)))


def _box_bytes(transaction: Transaction, robot: str) -> int:
    return int(transaction.rows("SELECT SUM(LENGTH(body)) FROM letters WHERE robot = ?", robot)[0][0] or 0)


def _note(transaction: Transaction, name: str, value: str) -> None:
    transaction.run("DELETE FROM notes WHERE name = ?", name)
    transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", name, value)


def _top_page(server: str) -> str:
    """As S1 writes it, with its port: http://www.etl.go.jp:80/."""
    scheme, _, authority = server.partition("://")
    has_port = ":" in authority.rpartition("]")[2]
    return f"{server}/" if has_port else f"{server}:{_PORTS[scheme]}/"


def max_transfer(transaction: Transaction) -> int | None:
    """What each server on the next lists is limited to."""
    found = transaction.rows("SELECT value FROM notes WHERE name = ?", MAX_TRANSFER)
    return int(found[0][0]) if found else None
