"""Which robot is calling, and is it registered?

In:    the token a request shows, and the control store.
Out:   the robot's name, or a refusal: 401 without a token, 403 with one that is nobody's.
Never: keeps a token: only its SHA-256, from which 256 random bits cannot be found again. Says by how long it
       took how much of a token was right.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from starlette.requests import Request

from joro.coordinate.messages import robot_name
from joro.errors import BadMessage, UsageError
from joro.manager.refusal import Refused
from joro.store.control import Control, Transaction

JORO, CLASSIC = "joro", "classic"


def add_robot(control: Control, name: str) -> str:
    """Register a robot, or give a registered one a new token; the token. The old one ends."""
    try:
        robot_name(name)
    except BadMessage:
        raise UsageError(
            f"{name!r} is no name for a robot", remedy="use letters, digits, dots and hyphens"
        ) from None
    token = secrets.token_urlsafe(32)
    with control.transaction() as transaction:
        known = transaction.run(
            "UPDATE robots SET token_hash = ?, kind = ? WHERE name = ?", hash_of(token), JORO, name
        )
        if not known:
            transaction.run("INSERT INTO robots (name, token_hash) VALUES (?, ?)", name, hash_of(token))
    return token


def remove_robot(control: Control, name: str) -> None:
    """Refuse a robot from now on. Its servers move when its lease is over."""
    with control.transaction() as transaction:
        known = transaction.rows("SELECT kind, token_hash FROM robots WHERE name = ?", name)
        if not known or (known[0][0] == JORO and not known[0][1]):
            raise no_robot(name)
        dismiss(transaction, name)


def no_robot(name: str) -> UsageError:
    """Somebody was named who never took part."""
    return UsageError(f"no robot is called {name[:60]!r}", remedy="see: joro manager robot list")


def dismiss(transaction: Transaction, name: str) -> None:
    """Let a robot go; until its lease is over its servers are its own."""
    transaction.run("UPDATE robots SET state = 'left', token_hash = '' WHERE name = ?", name)


def checked(control: Control, request: Request) -> str:
    """The robot that a request's token belongs to."""
    token = bearer_of(request)
    if not token:
        raise Refused(401, "no token was shown", headers={"www-authenticate": "Bearer"})
    name = robot_of(control, token)
    if name is None:
        raise Refused(403, "the token belongs to no robot of this manager")
    return name


def bearer_of(request: Request) -> str:
    """The token in "Authorization: Bearer TOKEN", or nothing."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def robot_of(control: Control, token: str) -> str | None:
    """Whose token that is."""
    shown = hash_of(token)
    with control.reading() as transaction:
        found = transaction.rows("SELECT name, token_hash FROM robots WHERE token_hash = ?", shown)
    return next((name for name, kept in found if hmac.compare_digest(kept, shown)), None)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
