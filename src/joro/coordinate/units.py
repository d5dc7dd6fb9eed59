"""What can a robot own: a server, or a part of one?

In:    names of servers and of parts; the directories of a part.
Out:   which page belongs to which of them.
Never: matters to a server that is not split: its name is the name of what is owned.
Paper: S1 5.1.5, 6.2 (a big server is shared by directory).

A *unit* is what has an owner, a journal and letters: `http://host`, or the part `http://host#3` of it. A
robot has at most one part of a server, so inside the robot everything keeps the name of the server.
"""

from __future__ import annotations

from collections.abc import Mapping

from joro.coordinate.beat import Piece
from joro.coordinate.split import home
from joro.url import path_of

_MARK = "#"


def part_name(server: str, number: int) -> str:
    """The name of a part."""
    return f"{server}{_MARK}{number}"


def is_part(unit: str) -> bool:
    """Is it a part, and not a whole server?"""
    return _MARK in unit


def server_in(unit: str) -> str:
    """The server that a unit is, or is a part of."""
    return unit.partition(_MARK)[0]


def directory_path(url: str) -> str:
    """The path of a page, without its query: slashes in there lead nowhere."""
    return path_of(url).partition("?")[0]


def homes(piece: Piece) -> dict[str, bool]:
    """The directories of a server, and whether each belongs to the part."""
    return dict.fromkeys(piece.others, False) | dict.fromkeys(piece.directories, True)


def lies_in(directories: Mapping[str, bool], url: str) -> bool:
    """Does this page of the server belong to the part of which these are the `homes`?"""
    return directories[home(directory_path(url), directories)]


def allowance(piece: Piece, quota: int) -> int:
    """Pages that a part may have, where its server may have `quota`: the parts may not have more together."""
    left = max(quota - piece.found_of_all, 0)
    return min(piece.found + int(left / piece.stretch), quota)
