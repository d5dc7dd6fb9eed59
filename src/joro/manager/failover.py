"""What becomes of the servers of a robot that says nothing any more?

In:    leases, by the clock of the control store.
Out:   others own its servers, with the links it had not read; it is told so before it gets a lease again.
Never: touches a server before lease and grace are over, looked at in the very transaction that moves it.
       Takes the servers of the last robot: nobody else could collect them.
Paper: S1-22 (a dead robot's servers move to others by themselves).

Every manager makes rounds. Transactions come one at a time, so two rounds at once move nothing twice.
"""

from __future__ import annotations

from joro.config.cooperate import Manager
from joro.coordinate.beat import Lost
from joro.manager.mail import Outbox, emptied
from joro.manager.routing import AVAILABLE, available, forward, give, known, loosen, offer, place, welcome
from joro.manager.units import LOOSE
from joro.store.control import Control, Transaction

#: Servers moved in one transaction; beats come in between.
MOVES = 2_000

_OVERDUE = "state = 'up' AND lease_until + ? < ?"
_GONE = (
    "state IN ('down', 'left') AND lease_until + ? < ? "
    "AND EXISTS (SELECT 1 FROM servers WHERE owner = robots.name)"
)
#: Whoever has no server any more: its pages are counted by those who have them now.
_COUNTED_ELSEWHERE = (
    "UPDATE robots SET waiting = 0, visited = 0 WHERE name = ? "
    "AND NOT EXISTS (SELECT 1 FROM servers WHERE owner = robots.name)"
)


def failover_round(control: Control, settings: Manager) -> int:
    """Look after every robot once; how many servers moved."""
    moved = 0
    while True:
        with control.reading() as transaction:
            if not _is_needed(transaction, settings):
                return moved
        with control.transaction() as transaction:
            count = _turn(transaction, settings)
        moved += count
        if not count:
            return moved


def _is_needed(transaction: Transaction, settings: Manager) -> bool:
    """A look that stops nobody: mostly there is nothing to do."""
    times = (settings.grace_s, transaction.now)
    if transaction.rows(f"SELECT 1 FROM robots WHERE {_OVERDUE} LIMIT 1", *times):
        return True
    if not transaction.rows(f"SELECT 1 FROM robots WHERE {AVAILABLE} LIMIT 1"):
        return False
    return bool(
        transaction.rows(f"SELECT 1 FROM robots WHERE {_GONE} LIMIT 1", *times)
        or transaction.rows("SELECT 1 FROM servers WHERE owner IS NULL LIMIT 1")
        or transaction.rows("SELECT 1 FROM letters WHERE robot = '' LIMIT 1")
    )


def _turn(transaction: Transaction, settings: Manager) -> int:
    """Note who is silent, and move some servers of one that is gone."""
    outbox = Outbox()
    times = (settings.grace_s, transaction.now)
    transaction.run(f"UPDATE robots SET state = 'down', idle = 0 WHERE {_OVERDUE}", *times)
    transaction.run(
        "UPDATE servers SET heir = NULL WHERE heir IN (SELECT name FROM robots WHERE state <> 'up')"
    )
    if not available(transaction).held:
        return 0
    welcome(transaction, outbox, settings)
    gone = transaction.rows(f"SELECT name, kind, lease_until FROM robots WHERE {_GONE} LIMIT 1", *times)
    if not gone:
        outbox.send(transaction)
        return 0
    [(name, kind, lease_until)] = gone
    names = [
        row[0] for row in transaction.rows("SELECT name FROM servers WHERE owner = ? LIMIT ?", name, MOVES)
    ]
    _move(transaction, outbox, name, names, settings, free_at=lease_until + settings.grace_s)
    if kind == "joro":  # others read no letters: their next M4 says RESTART
        outbox.put(name, Lost(names))
        transaction.run(_COUNTED_ELSEWHERE, name)
    _close(transaction, outbox, name)
    return len(names)


def _move(
    transaction: Transaction,
    outbox: Outbox,
    robot: str,
    names: list[str],
    settings: Manager,
    free_at: float | None = None,
) -> None:
    """Give servers of a robot to their heirs or to others by the rule, with the links it had not read."""
    servers = list(known(transaction, names).values())
    heirs = available(transaction).held
    others = [server for server in servers if server.heir not in heirs and server.heir != LOOSE]
    loosen(transaction, outbox, [server for server in servers if server.heir == LOOSE])
    give(
        transaction,
        outbox,
        [(server, server.heir) for server in servers if server.heir in heirs],
        free_at=free_at,
    )
    give(transaction, outbox, [(server, None) for server in others])
    place(transaction, outbox, others, settings, free_at=free_at)
    forward(transaction, outbox, robot, servers)


def _close(transaction: Transaction, outbox: Outbox, robot: str) -> None:
    """Send everything; before the robot has read its last letter, it has no lease and is given nothing."""
    last = outbox.send(transaction).get(robot)
    if last is not None:
        transaction.run("UPDATE robots SET lost_letter = ?, settled = 0 WHERE name = ?", last, robot)


def replaced(transaction: Transaction, robot: str, settings: Manager) -> None:
    """Another collection takes a name over whose lease is over: nothing the old one had is known to it."""
    transaction.run(
        "UPDATE robots SET state = 'new', post_number = 0, letter_number = 0, letter_read = 0, "
        "lost_letter = 0, settled = 1 WHERE name = ?",
        robot,
    )
    outbox = Outbox()
    links = emptied(transaction, robot)
    names = [name for (name,) in transaction.rows("SELECT name FROM servers WHERE owner = ?", robot)]
    _move(transaction, outbox, robot, names, settings)
    offer(transaction, outbox, links, settings)
    outbox.send(transaction)
