"""How goes it, with all robots together?

In:    the control store.
Out:   numbers, for people and programs; and whether everything is done.
Never: calls it done as long as anybody has something to do, to read, or to tell.
"""

from __future__ import annotations

from typing import Any

from joro.store.control import Control, Row, Transaction

_ROBOTS = (
    "SELECT robots.name, kind, state, lease_until, beat_at, waiting, visited, idle, sockets, version, "
    "(SELECT count(*) FROM servers WHERE owner = robots.name), "
    "(SELECT count(*) FROM letters WHERE robot = robots.name AND number > letter_read) "
    "FROM robots ORDER BY robots.name"
)


def status(control: Control) -> dict[str, Any]:
    """The whole of it, ready for JSON."""
    with control.reading() as transaction:
        robots = [_robot(row, transaction.now) for row in transaction.rows(_ROBOTS)]
        servers = _servers(transaction)
        entries = transaction.rows("SELECT coalesce(sum(journal_number), 0) FROM servers")[0][0]
        boxed = transaction.rows("SELECT count(*) FROM letters WHERE robot = ''")[0][0]
        now = transaction.now
    return {
        "now": now,
        "robots": robots,
        "servers": servers,
        "changes_filed": int(entries),
        "letters_for_nobody": int(boxed),
        "store_bytes": control.size_bytes(),
        "quiet": _is_quiet(robots, servers, int(boxed)),
    }


def _robot(row: Row, now: float) -> dict[str, Any]:
    name, kind, state, lease_until, beat_at, waiting, visited, idle, sockets, version, held, unread = row
    return {
        "name": name,
        "kind": kind,
        "state": state,
        "lease_s": max(0.0, lease_until - now),
        "silent_s": now - beat_at if beat_at else None,
        "waiting": int(waiting),
        "visited": int(visited),
        "idle": bool(idle),
        "sockets": int(sockets),
        "version": version,
        "servers": int(held),
        "letters": int(unread),
    }


def _servers(transaction: Transaction) -> dict[str, int]:
    [(known, owned, moving, probed)] = transaction.rows(
        "SELECT count(*), count(owner), count(heir), count(most_pages) FROM servers"
    )
    return {
        "known": int(known),
        "owned": int(owned),
        "of_nobody": int(known) - int(owned),
        "on_their_way": int(moving),
        "probed": int(probed),
    }


def _is_quiet(robots: list[dict[str, Any]], servers: dict[str, int], boxed: int) -> bool:
    """Nobody has anything left to do, to read or to take over; as far as robots say what they have to do."""
    there = [robot for robot in robots if robot["state"] == "up" and robot["kind"] == "joro"]
    gone = [robot for robot in robots if robot["state"] != "up" and robot["servers"]]
    is_done = all(robot["idle"] and not robot["letters"] for robot in there)
    return bool(there) and is_done and not gone and not boxed and not servers["of_nobody"]
