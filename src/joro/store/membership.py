"""Does this collection work for a manager, and as whom?

In:    the frontier's directory.
Out:   the robot's name at its managers, and an identity, by which another collection that claims the same
       name can be told apart from this one.
Never: changes either once they are written: posts and letters are numbered by them.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec

from joro.errors import UsageError

_FILE = "cooperates"


class Membership(msgspec.Struct, frozen=True):
    """Who a collection is to its managers."""

    name: str
    identity: str


def membership(directory: Path) -> Membership | None:
    """As whom the collection works; None when it works alone."""
    try:
        return msgspec.json.decode((directory / _FILE).read_bytes(), type=Membership)
    except FileNotFoundError:
        return None


def join(directory: Path, name: str) -> Membership:
    """Work as `name` from now on; the same name again changes nothing."""
    before = membership(directory)
    if before is not None:
        if before.name != name:
            raise UsageError(
                f"this collection works as {before.name!r}, not as {name!r}",
                remedy=f"give --name {before.name}, or take a collection of its own",
            )
        return before
    joined = Membership(name, secrets.token_hex(16))
    draft = directory / f"{_FILE}.new"
    draft.write_bytes(msgspec.json.encode(joined))
    os.replace(draft, directory / _FILE)
    return joined
