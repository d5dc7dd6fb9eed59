"""How does the operator tell robots what to do?

In:    seeds, robots to restart, a limit for lists.
Out:   letters and notes in the control store, from which robots learn it when they ask next.
Never: gives a server to another robot while the one that restarts may still be collecting it.
Paper: S1 5.1.2 (M4), 5.1.6, 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from joro.config.cooperate import Manager
from joro.coordinate.beat import Given, Link, Restart
from joro.errors import BadSeeds, BadUrl, UsageError
from joro.manager.classic_robots import MAX_TRANSFER, want_restart
from joro.manager.mail import Outbox, reclaim
from joro.manager.routing import offer
from joro.manager.tokens import CLASSIC
from joro.store.control import Transaction
from joro.url import canonical

#: A note for each robot of ours that was told to restart: the number of the letter that says so.
RESTART_LETTER = "restart of "


def seeds_of(lines: Iterable[str]) -> list[str]:
    """The seeds in these lines; # starts a comment."""
    seeds: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.strip().startswith("#"):
            try:
                seeds.append(canonical(line.strip()))
            except BadUrl as error:
                raise BadSeeds(f"line {number:,}: {error.problem}", remedy=error.remedy) from None
    return list(dict.fromkeys(seeds))


def add_seeds(transaction: Transaction, urls: Iterable[str], settings: Manager) -> None:
    """Let the owners of their servers know these pages; servers nobody knew of get one."""
    outbox = Outbox()
    offer(transaction, outbox, [Link(url, hops=0) for url in urls], settings)
    outbox.send(transaction)


def limit_lists(transaction: Transaction, pages: int | None) -> None:
    """What classic robots may collect of each server on the next lists; None: everything."""
    _forget(transaction, MAX_TRANSFER)
    if pages is not None:
        _note(transaction, MAX_TRANSFER, str(pages))


def restart(transaction: Transaction, robots: Sequence[str]) -> None:
    """Let robots drop what they hold, and begin anew with the top pages of their servers."""
    kinds: dict[str, str] = dict(transaction.rows("SELECT name, kind FROM robots WHERE state <> 'left'"))
    for robot in dict.fromkeys(robots):
        if robot not in kinds:
            raise UsageError(f"no robot is called {robot[:60]!r}", remedy="see: joro manager robot list")
        if kinds[robot] == CLASSIC:
            want_restart(transaction, robot)
        else:
            _restart_by_letter(transaction, robot)


def _restart_by_letter(transaction: Transaction, robot: str) -> None:
    """Its servers stay its own: it may be visiting them until it reads this. What is known of them goes."""
    servers = [name for (name,) in transaction.rows("SELECT name FROM servers WHERE owner = ?", robot)]
    # Of what it was given and has not yet read, somebody else may still be asking the servers until then.
    free_at = transaction.rows("SELECT MAX(free_at) FROM letters WHERE robot = ?", robot)[0][0]
    unread = reclaim(transaction, robot, servers)
    transaction.run("DELETE FROM journal WHERE server = ANY(?)", servers)
    _forget(transaction, f"{RESTART_LETTER}{robot}")
    outbox = Outbox()
    outbox.put(robot, Restart())
    number = outbox.send(transaction)[robot]
    for server in servers:
        outbox.put(robot, Given(server), free_at=free_at)
    outbox.add_links(robot, [Link(f"{server}/", hops=0) for server in servers] + unread)
    outbox.send(transaction)
    _note(transaction, f"{RESTART_LETTER}{robot}", str(number))


def restarts(transaction: Transaction) -> dict[str, bool]:
    """Robots of ours that were told to restart, and whether they have read it."""
    found = transaction.rows(
        "SELECT robots.name, letter_read, value FROM robots JOIN notes ON notes.name = ? || robots.name",
        RESTART_LETTER,
    )
    return {name: int(read) >= int(number) for name, read, number in found}


def _note(transaction: Transaction, name: str, value: str) -> None:
    transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", name, value)


def _forget(transaction: Transaction, name: str) -> None:
    transaction.run("DELETE FROM notes WHERE name = ?", name)
