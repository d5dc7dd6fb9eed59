"""How does the operator tell robots what to do?

In:    seeds, robots to restart, a limit for lists.
Out:   letters and notes in the control store, from which robots learn it when they ask next.
Never: waits for a robot: it learns of it when it asks, or beats.
Paper: S1 5.1.2 (M4), 5.1.6, 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from joro.config.cooperate import Manager
from joro.coordinate.beat import Link
from joro.errors import BadSeeds, BadUrl
from joro.manager.classic_lists import MAX_TRANSFER
from joro.manager.classic_robots import want_restart
from joro.manager.mail import Outbox
from joro.manager.restarting import order_restart
from joro.manager.routing import can_be_asked, offer
from joro.manager.tokens import CLASSIC, no_robot
from joro.store.control import Control, Transaction
from joro.url import canonical, server_of

#: Links shared out in one transaction.
AT_ONCE = 2_000


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


def add_seeds(control: Control, urls: Iterable[str], settings: Manager) -> None:
    """Let robots begin with these pages."""
    links = [Link(url, hops=0) for url in urls]
    for link in links:
        if not can_be_asked(server_of(link.url)):
            raise BadSeeds(f"{link.url[:60]!r} has an impossible host or port", remedy="check its spelling")
    share_out(control, links, settings)


def share_out(control: Control, links: Iterable[Link], settings: Manager) -> int:
    """Let the owners of their servers know these pages; servers nobody knew of get one. How many there were.

    Some at a time, so that beats come in between and no more are in memory: whoever sends them again after a
    failure does no harm.
    """
    coming, count = iter(links), 0
    while some := list(islice(coming, AT_ONCE)):
        outbox = Outbox()
        with control.transaction() as transaction:
            offer(transaction, outbox, some, settings)
            outbox.send(transaction)
        count += len(some)
    return count


def limit_lists(transaction: Transaction, pages: int | None) -> None:
    """What classic robots may collect of each server on the next lists; None: everything."""
    transaction.run("DELETE FROM notes WHERE name = ?", MAX_TRANSFER)
    if pages is not None:
        transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", MAX_TRANSFER, str(pages))


def restart(transaction: Transaction, robots: Sequence[str]) -> None:
    """Let robots drop what they hold, and begin anew with the top pages of their servers."""
    kinds: dict[str, str] = dict(transaction.rows("SELECT name, kind FROM robots WHERE state <> 'left'"))
    for robot in dict.fromkeys(robots):
        if robot not in kinds:
            raise no_robot(robot)
        if kinds[robot] == CLASSIC:
            want_restart(transaction, robot)
        else:
            order_restart(transaction, robot)
