"""Which pages of a server are ours, where others visit it, too?

In:    servers that are given, whole or in part.
Out:   the name of what we have of a server; whether a page is in it; how much longer pauses are.
Never: has more than one part of a server; decides when one comes or goes. Forgets a part before the commit in
       which it went, or knows one sooner than the commit in which it came.
Paper: S1 5.1.5 (a big server is shared by directory).
"""

from __future__ import annotations

import msgspec

from joro.coordinate.beat import Given, Piece
from joro.coordinate.units import allowance, homes, lies_in, server_in
from joro.store.handover import Movable

#: Under which names the frontier remembers parts.
_PART = "part "


class Pieces:
    """The servers of which a robot has a part only."""

    def __init__(self, frontier: Movable) -> None:
        self._frontier = frontier
        kept = {name.removeprefix(_PART): packed for name, packed in frontier.kept(_PART).items()}
        self._held = {
            server: msgspec.msgpack.decode(packed, type=tuple[str, Piece]) for server, packed in kept.items()
        }
        self._homes = {server: homes(piece) for server, (_, piece) in self._held.items()}
        frontier.portion = self._portion

    def take(self, given: Given) -> None:
        """A unit is ours: all of its server, or a part."""
        server = server_in(given.server)
        if given.piece is not None:
            self._held[server] = given.server, given.piece
            self._homes[server] = homes(given.piece)
            self._frontier.keep(_PART + server, msgspec.msgpack.encode(self._held[server]))
        else:
            self.drop(server)

    def drop(self, server: str) -> None:
        """Nothing of the server is ours any more."""
        self._homes.pop(server, None)
        if self._held.pop(server, None) is not None:
            self._frontier.keep(_PART + server, None)

    def unit(self, server: str) -> str:
        """The name of what we have of a server."""
        return self._held[server][0] if server in self._held else server

    def has(self, server: str, url: str) -> bool:
        """Is the page in what we have of its server?"""
        return server not in self._homes or lies_in(self._homes[server], url)

    def stretch(self, server: str) -> float:
        """How many times as long pauses are."""
        return self._held[server][1].stretch if server in self._held else 1.0

    def phase(self, server: str) -> float:
        """How much of the first pause is to be waited in addition."""
        return self._held[server][1].phase if server in self._held else 0.0

    def _portion(self, server: str, quota: int) -> int:
        return allowance(self._held[server][1], quota) if server in self._held else quota
