"""Which unit of a server do a page and a change belong to, and who may own a part?

In:    servers, URLs, changes; the notes about servers that are split.
Out:   names of units: a server's own, or those of its parts (`coordinate.units`).
Never: lets a robot have two parts of one server: its pauses would not fit. Costs much where nothing is split.

A server that is split has no row in `servers`; its parts have one each. A note `split SERVER` says which
directories belong to which. `LOOSE` as heir says that a unit is to be cut or glued once nobody has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from joro.coordinate.beat import Link, Piece
from joro.coordinate.split import home
from joro.coordinate.units import directory_path, is_part, server_in
from joro.store.control import Transaction
from joro.store.cutting import Keys, sorted_out

#: The heir of a unit that is to be cut or glued, as people are shown it; no robot has such a name.
LOOSE = "(parts)"
NOTE = "split "


class Split(msgspec.Struct):
    """How a server is split; without parts it was once, and their numbers are not given again."""

    last: int = 0  # number of a part
    homes: dict[str, str] = {}  # directory → part
    stretches: dict[str, float] = {}  # part → how many times as long its pauses are
    found: dict[str, int] = {}  # part → pages it had when it was made
    joining: bool = False  # the parts are on their way back to be one server

    @property
    def parts(self) -> list[str]:
        """Their names."""
        return list(self.stretches)

    def part_of(self, url: str) -> str:
        """The part that a page belongs to."""
        return self.homes[home(directory_path(url), self.homes)]

    def piece(self, part: str) -> Piece:
        """What the owner of a part must know of it."""
        mine = [directory for directory, owner in self.homes.items() if owner == part]
        others = [directory for directory, owner in self.homes.items() if owner != part]
        phase = self.parts.index(part) / len(self.parts)
        return Piece(mine, others, self.stretches[part], phase, self.found[part], sum(self.found.values()))


def splits(transaction: Transaction, servers: Iterable[str]) -> dict[str, Split]:
    """Those of the servers that are split, and how."""
    names = [name for (name,) in transaction.rows(f"SELECT name FROM notes WHERE name LIKE '{NOTE}%'")]
    if not names:
        return {}
    wanted = {NOTE + server for server in servers}.intersection(names)
    rows = transaction.rows("SELECT name, value FROM notes WHERE name = ANY(?)", sorted(wanted))
    found = {name.removeprefix(NOTE): msgspec.json.decode(value, type=Split) for name, value in rows}
    return {server: split for server, split in found.items() if split.parts}


def split_before(transaction: Transaction, server: str) -> Split:
    """How a server is split, or what is left of it."""
    rows = transaction.rows("SELECT value FROM notes WHERE name = ?", NOTE + server)
    return msgspec.json.decode(rows[0][0], type=Split) if rows else Split()


def note_split(transaction: Transaction, server: str, split: Split) -> None:
    """Write down how a server is split."""
    transaction.run(
        "INSERT INTO notes (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        NOTE + server,
        msgspec.json.encode(split).decode(),
    )


def all_split(transaction: Transaction) -> dict[str, Split]:
    """All servers that are split."""
    names = transaction.rows(f"SELECT name FROM notes WHERE name LIKE '{NOTE}%'")
    return splits(transaction, [name.removeprefix(NOTE) for (name,) in names])


def by_unit(transaction: Transaction, links: Mapping[str, list[Link]]) -> Mapping[str, list[Link]]:
    """Links that are sorted by server, sorted by what is owned."""
    found = splits(transaction, links)
    if not found:
        return links
    units = {server: each for server, each in links.items() if server not in found}
    for server, split in found.items():
        for link in links[server]:
            units.setdefault(split.part_of(link.url), []).append(link)
    return units


def pieces(transaction: Transaction, units: Iterable[str]) -> dict[str, Piece]:
    """What the owners of those units that are parts must know of them."""
    parts = [unit for unit in units if is_part(unit)]
    found = splits(transaction, {server_in(part) for part in parts}) if parts else {}
    return {part: found[server_in(part)].piece(part) for part in parts}


def readdressed(transaction: Transaction, changes: Mapping[str, Keys]) -> dict[str, Keys]:
    """Changes of units that are no more, by those that took their place."""
    found = splits(transaction, {server_in(unit) for unit in changes})
    units: defaultdict[str, Keys] = defaultdict(list)
    for unit, keys in changes.items():
        server = server_in(unit)
        if server not in found:
            units[server] += keys
            continue
        split = found[server]
        for part, some in sorted_out(keys, split.part_of, split.parts).items():
            units[part] += some
    return dict(units)


def strangers(transaction: Transaction, part: str, robots: Iterable[str]) -> list[str]:
    """Those of the robots that have no other part of the same server, nor will; they must know of parts."""
    split = splits(transaction, [server_in(part)])[server_in(part)]
    others = [each for each in split.parts if each != part]
    rows = transaction.rows("SELECT owner, heir FROM servers WHERE name = ANY(?)", others)
    knowing = {name for (name,) in transaction.rows("SELECT name FROM robots WHERE kind = 'joro'")}
    return sorted(knowing.intersection(robots) - {name for row in rows for name in row})


def is_welcome(transaction: Transaction, unit: str, robot: str) -> bool:
    """May the robot have the unit, as far as other parts of its server are concerned?"""
    return not is_part(unit) or robot in strangers(transaction, unit, [robot])


def placeable(transaction: Transaction, parts: Sequence[str]) -> list[str]:
    """The parts that may have an owner: not those that are to be one server again."""
    found = splits(transaction, {server_in(part) for part in parts}) if parts else {}
    return [part for part in parts if not found[server_in(part)].joining]
