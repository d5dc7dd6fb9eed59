"""Who goes first where only one may go at a time?

In:    servers that were sent away because others were at their IP address; when the address is free again.
Out:   who of them stands first in its line: only the first is worth a turn.
Never: lets anybody overtake; keeps a line in which nobody stands, or more than one place for a server.

A hosting company has twenty thousand names at one address, which may be asked every ten seconds. If all of
them came back at the moment it is free, one would be lucky and the others in everybody's way. So they stand
in line, one line for an address, and a turn is spent on the first of each alone.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice

#: So many of a line are always worth their place: their turn comes soon.
LINE_LEAST = 16


class Lines:
    """Servers in line, first come, first served; a line is named by its address."""

    def __init__(self) -> None:
        #: The lines in which somebody stands.
        self.by_name: dict[str, OrderedDict[str, None]] = {}
        self._line_of: dict[str, str] = {}
        self._free_at: dict[str, float] = {}

    def __len__(self) -> int:
        """Servers in all lines."""
        return len(self._line_of)

    def __contains__(self, server: str) -> bool:
        return server in self._line_of

    def first(self, line: str) -> str | None:
        """Who stands first; None where nobody does."""
        waiting = self.by_name.get(line)
        return next(iter(waiting)) if waiting is not None else None

    def stands_in(self, server: str, line: str) -> bool:
        """Does the server stand in that very line?"""
        return self._line_of.get(server) == line

    def is_behind(self, server: str) -> bool:
        """Does the server stand in a line, and somebody before it?"""
        line = self._line_of.get(server)
        return line is not None and self.first(line) != server

    def last(self, most: int) -> list[str]:
        """Those who stand last in the longest line, if it is one: they came last, and wait longest."""
        longest = max(self.by_name.values(), key=len, default=None)
        if longest is None:
            return []
        return list(islice(reversed(longest), min(most, max(0, len(longest) - LINE_LEAST))))

    def join(self, server: str, line: str, free_at: float) -> None:
        """Stand in line, at its end; who stands in it already keeps its place."""
        assert self._line_of.get(server, line) == line, f"{server} stands in another line"
        self.by_name.setdefault(line, OrderedDict()).setdefault(server)
        self._line_of[server] = line
        self._free_at[line] = free_at

    def expect(self, line: str, free_at: float) -> None:
        """Those in line, if any are, may hope for another moment now."""
        if line in self.by_name:
            self._free_at[line] = free_at

    def leave(self, server: str) -> tuple[str, float] | None:
        """Stand in line no more. Who is first thereby, and from when on that one may try."""
        line = self._line_of.pop(server, None)
        if line is None:
            return None
        waiting = self.by_name[line]
        was_first = self.first(line) == server
        del waiting[server]
        if not waiting:
            del self.by_name[line], self._free_at[line]
            return None
        return (next(iter(waiting)), self._free_at[line]) if was_first else None
