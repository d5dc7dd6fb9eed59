"""Does this collection work for a manager, and as whom?

In:    the frontier's directory.
Out:   the robot's name at its managers, and an identity, by which another collection that claims the same
       name can be told apart from this one.
Never: changes either once a manager has taken or told anything: posts and letters are numbered by them.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from joro.errors import UsageError
from joro.store.durable import write_whole
from joro.store.frontier import Frontier
from joro.store.layout import share_count, shares

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


def withdraw(directory: Path) -> None:
    """Work alone from now on."""
    (directory / _FILE).unlink(missing_ok=True)


def is_unheard(directory: Path) -> bool:
    """Has no manager ever taken or told anything? Then nothing is numbered yet by anybody's name."""
    folders = [folder for folder in shares(directory, share_count(directory)) if (folder / "pages").exists()]
    frontiers = [Frontier(folder, read_only=True) for folder in folders]
    unheard = all(_is_unheard(frontier) for frontier in frontiers)
    for frontier in frontiers:
        frontier.abandon()
    return unheard


def _is_unheard(frontier: Frontier) -> bool:
    posted = int(frontier.kept("posted").get("posted", b"0"))
    has_read = int(frontier.kept("letter").get("letter", b"0")) > 0
    return not has_read and not frontier.kept("ours ") and len(frontier.kept("post ")) == posted


def join(directory: Path, name: str) -> Membership:
    """Work as `name` from now on; the same name again changes nothing."""
    before = membership(directory)
    if before is not None and before.name == name:
        return before
    if before is not None and not is_unheard(directory):
        raise UsageError(
            f"this collection works as {before.name!r}, not as {name!r}",
            remedy=f"give --name {before.name}, or take a collection of its own",
        )
    joined = Membership(name, secrets.token_hex(16))
    write_whole(directory / _FILE, msgspec.json.encode(joined))
    return joined
