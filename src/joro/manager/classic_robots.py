"""What is a robot to the manager that knows only M1 to M5?

In:    the control store, and what such a robot asks.
Out:   its state, and whether it must restart. Its list: see `classic_lists`.
Never: answers for a robot of ours to whoever shows no token.
Paper: S1 5.1.2, 5.1.4, 5.1.6.

Such a robot has no lease: it is up as long as it asks for something every `silent_after_s`. After that its
servers move, and its next M4 is a RESTART: the list it holds is not its own any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from joro.config.cooperate import Manager
from joro.manager.mail import Outbox
from joro.manager.refusal import Refused
from joro.manager.routing import hand_over, welcome
from joro.manager.tokens import CLASSIC
from joro.store.control import Transaction

#: What S1's robots do side by side, unless told otherwise (5.1.4).
USUAL_SOCKETS = 200
#: What a restart goes through: nobody wants it, somebody does, the robot was told and will fetch a list.
QUIET, WANTED, TOLD = 0, 1, 2
#: A note for each robot: the digest of the servers on its last list.
LISTED = "list of "


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


def admit(transaction: Transaction, robot: str, *, is_proved: bool, may_have_left: bool = False) -> None:
    """Let robots in that subscribed; those that have a token only with it."""
    known = transaction.rows("SELECT kind, state, token_hash FROM robots WHERE name = ?", robot)
    if known and known[0][2] and not is_proved:
        raise _no_token(robot)
    if not known or known[0][0] != CLASSIC or (known[0][1] == "left" and not may_have_left):
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
    return bool(listed) and listed[0][0] != digest(name for (name,) in kept)


def digest(servers: Iterable[str]) -> str:
    """What tells whether two sets of servers are the same."""
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


def done_restart(transaction: Transaction, robot: str) -> None:
    """It fetches a list: a restart that it was told of is done with that."""
    transaction.run(
        "UPDATE robots SET restart_wanted = ?, restarted_at = ? WHERE name = ? AND restart_wanted = ?",
        QUIET,
        transaction.now,
        robot,
        TOLD,
    )
