"""When is a server shared by several robots, and when by one again?

In:    sizes of servers, journals, who is there.
Out:   instead of a server its parts, each with a journal, or instead of its parts the server.
Never: cuts or glues what somebody owns: the owner is asked to give it back first. Splits a server for one
       robot, or into parts that no directory divides. Holds up beats while it reads journals.
Paper: S1 5.1.5, 6.2: one server in a hundred holds 43 % of all bytes.

Every manager makes these rounds. What is read without the store's lock is looked at again under it.

    too big → heir LOOSE, Wanted → given back → cut into parts → placed apart
    a part that nobody can have → all parts LOOSE, Wanted → given back → glued → placed
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from joro.config.cooperate import Manager
from joro.coordinate.beat import Wanted
from joro.coordinate.split import split
from joro.coordinate.units import directory_path, is_part, part_name, server_in
from joro.manager.journals import Key, file, unpacked
from joro.manager.mail import Outbox
from joro.manager.recount import recounted
from joro.manager.routing import AVAILABLE, welcome
from joro.manager.units import (
    LOOSE,
    Split,
    all_split,
    note_split,
    split_before,
    splits,
    strangers,
)
from joro.store.control import Control, Transaction
from joro.store.cutting import Keys, joined, sorted_out, urls_of
from joro.store.journal import fold

#: The note that says when somebody looked for big servers last.
LOOKED = "split_looked_at"
#: An entry of a new journal, in bytes, about.
ENTRY_BYTES = 1_000_000
_KB_A_MB = 1_024.0


@dataclass(frozen=True)
class Known:
    """All that the journal of a unit says, up to a number."""

    name: str
    number: int
    state: dict[bytes, bytes]
    late: list[Keys]


def splitting_round(control: Control, settings: Manager) -> int:
    """Cut and glue what can be; ask for what should be. How many servers changed."""
    with control.reading() as transaction:
        loose = transaction.rows("SELECT name FROM servers WHERE heir = ? AND owner IS NULL", LOOSE)
        homeless = _homeless(transaction)
    changed = 0
    for server in sorted({server_in(name) for (name,) in loose if is_part(name)}):
        changed += _glue(control, server, settings)
    for (name,) in loose:
        if not is_part(name):
            changed += _cut(control, name, settings)
    if homeless:
        with control.transaction() as transaction:
            _call_back(transaction, _homeless(transaction))
    if settings.split_above_mb > 0.0:
        _look_for_big_ones(control, settings)
    return changed


def _look_for_big_ones(control: Control, settings: Manager) -> None:
    """Ask for servers that are too big, if it is time to look and robots are there to share them."""
    with control.reading() as transaction:
        if not _is_time(transaction, settings):
            return
    with control.transaction() as transaction:
        if not _is_time(transaction, settings):
            return  # somebody else was quicker
        transaction.run("DELETE FROM notes WHERE name = ?", LOOKED)
        transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", LOOKED, repr(transaction.now))
    with control.reading() as transaction:
        count = len(_robots(transaction))
        big = _big(transaction, settings) if count > 1 else []
        names = [name for name, kb in big if parts_of(_known(transaction, name), kb, count, settings)]
    if names:
        with control.transaction() as transaction:
            _ask(transaction, names)


def _is_time(transaction: Transaction, settings: Manager) -> bool:
    noted = transaction.rows("SELECT value FROM notes WHERE name = ?", LOOKED)
    return not noted or float(noted[0][0]) + settings.plan_every_s <= transaction.now


def _robots(transaction: Transaction) -> list[str]:
    """Those that may have parts: S1's own robots know of servers only."""
    return [
        name for (name,) in transaction.rows(f"SELECT name FROM robots WHERE kind = 'joro' AND {AVAILABLE}")
    ]


def _big(transaction: Transaction, settings: Manager) -> list[tuple[str, float]]:
    rows = transaction.rows(
        "SELECT name, kb FROM servers WHERE kb > ? AND heir IS NULL AND most_pages IS NULL "
        f"AND owner IN (SELECT name FROM robots WHERE kind = 'joro' AND {AVAILABLE})",
        settings.split_above_mb * _KB_A_MB,
    )
    return [(name, float(kb)) for name, kb in rows if not is_part(name)]


def _ask(transaction: Transaction, names: Sequence[str]) -> None:
    """Ask the owners of whole units, where they are on their way nowhere."""
    outbox = Outbox()
    for name in names:
        owners = transaction.rows(
            "SELECT owner FROM servers WHERE name = ? AND heir IS NULL AND owner IS NOT NULL", name
        )
        for (owner,) in owners:
            transaction.run("UPDATE servers SET heir = ? WHERE name = ?", LOOSE, name)
            outbox.put(owner, Wanted([name]))
    outbox.send(transaction)


def _known(transaction: Transaction, name: str) -> Known:
    numbers = transaction.rows("SELECT journal_number FROM servers WHERE name = ?", name)
    rows = transaction.rows("SELECT late, body FROM journal WHERE server = ? ORDER BY number", name)
    state, late = fold((bool(is_late), unpacked(body)) for is_late, body in rows)
    return Known(name, int(numbers[0][0]) if numbers else -1, state, late)


def parts_of(known: Known, kb: float, robots: int, settings: Manager) -> list[tuple[tuple[str, ...], float]]:
    """Directories and stretch of each part; none, if the server cannot be split.

    Pages that wait will be as long as those that were visited: so many parts that none is too big then.
    """
    pages = Counter(_directory(url) for url in urls_of(known.state.items()).values())
    collected = sum(key[:1] == b"p" for key in known.state)
    expected_kb = kb * max(pages.total() / max(collected, 1), 1.0)
    most = min(robots, math.ceil(expected_kb / max(settings.split_above_mb * _KB_A_MB, 1.0)))
    if not pages or most < 2:
        return []
    parts = split({directory: float(count) for directory, count in pages.items()}, most, 1.0)
    return [(part.directories, part.interval_s) for part in parts] if len(parts) > 1 else []


def _directory(url: str) -> str:
    path = directory_path(url)
    return path[: path.rindex("/") + 1]


def _cut(control: Control, server: str, settings: Manager) -> int:
    """Put parts in the place of a server that nobody has."""
    with control.reading() as transaction:
        rows = transaction.rows("SELECT kb, found_at FROM servers WHERE name = ?", server)
        if not rows:
            return 0
        [(kb, found_at)] = rows
        known = _known(transaction, server)
        before = split_before(transaction, server)
        parts = parts_of(known, float(kb), len(_robots(transaction)), settings)
    made, pieces = cuts(known, parts, before.last)
    with control.transaction() as transaction:
        if not _is_as_before(transaction, [known]):
            return 0  # somebody told something meanwhile: next time
        if made.parts:
            _replace(transaction, [server], pieces, kb=float(kb), found_at=float(found_at), split=made)
            note_split(transaction, server, made)
        else:
            transaction.run("UPDATE servers SET heir = NULL WHERE name = ?", server)
        outbox = Outbox()
        welcome(transaction, outbox, settings)
        outbox.send(transaction)
    return int(bool(made.parts))


def cuts(
    known: Known, parts: Sequence[tuple[tuple[str, ...], float]], last: int
) -> tuple[Split, dict[str, tuple[dict[bytes, bytes], list[Keys]]]]:
    """How the server is split from now on, and the journal of each part."""
    names = [part_name(known.name, last + number) for number in range(1, len(parts) + 1)]
    made = Split(
        last + len(parts),
        {each: name for name, (directories, _) in zip(names, parts, strict=True) for each in directories},
        {name: stretch for name, (_, stretch) in zip(names, parts, strict=True)},
    )
    if not parts:
        return made, {}
    states = sorted_out(list(known.state.items()), made.part_of, names)
    late = [sorted_out(keys, made.part_of, names) for keys in known.late]
    cuts = {
        name: (
            recounted(known.name, {key: value for key, value in keys if value is not None}),
            [each[name] for each in late if each[name]],
        )
        for name, keys in states.items()
    }
    made.found = {name: len(urls_of(state.items())) for name, (state, _) in cuts.items()}
    return made, cuts


def _is_as_before(transaction: Transaction, units: Sequence[Known]) -> bool:
    """Are they all still nobody's, and has nobody told anything since they were read?"""
    rows = transaction.rows(
        "SELECT name, journal_number FROM servers WHERE name = ANY(?) AND heir = ? AND owner IS NULL",
        [unit.name for unit in units],
        LOOSE,
    )
    return dict(rows) == {unit.name: unit.number for unit in units}


def _replace(
    transaction: Transaction,
    old: list[str],
    new: Mapping[str, tuple[Mapping[bytes, bytes], Sequence[Keys]]],
    *,
    kb: float,
    found_at: float,
    split: Split | None = None,
) -> None:
    """Units and their journals in the place of others."""
    transaction.run("DELETE FROM journal WHERE server = ANY(?)", old)
    transaction.run("DELETE FROM servers WHERE name = ANY(?)", old)
    rows = []
    for name, (state, late) in new.items():
        entries = [(False, keys) for keys in _entries(state)] + [(True, keys) for keys in late]
        file(
            transaction, ((name, number, is_late, keys) for number, (is_late, keys) in enumerate(entries, 1))
        )
        share = 1.0 / split.stretches[name] if split is not None else 1.0
        rows.append((name, 1, len(entries), len(entries), transaction.now, found_at, kb * share))
    columns = "name, had_owner, journal_number, folded_number, since, found_at, kb"
    transaction.insert("servers", columns, rows)


def _entries(state: Mapping[bytes, bytes]) -> Iterator[list[Key]]:
    keys: list[Key] = []
    size = 0
    for key, value in state.items():
        keys.append((key, value))
        size += len(key) + len(value)
        if size >= ENTRY_BYTES:
            yield keys
            keys, size = [], 0
    if keys:
        yield keys


def _homeless(transaction: Transaction) -> list[str]:
    """Servers that are split, and have a part that nobody who is there can own."""
    found = all_split(transaction)
    if not found:
        return []
    robots = _robots(transaction)
    rows = transaction.rows(
        "SELECT name, owner FROM servers WHERE name = ANY(?) AND (heir IS NULL OR heir <> ?)",
        [part for each in found.values() for part in each.parts],
        LOOSE,
    )
    forgotten = {server_in(name) for name, _ in rows if found[server_in(name)].joining}
    waiting = [name for name, owner in rows if owner is None and robots]
    return sorted(
        forgotten | {server_in(name) for name in waiting if not strangers(transaction, name, robots)}
    )


def _call_back(transaction: Transaction, servers: Sequence[str]) -> None:
    """Let all parts come back, to be one server again: there are fewer robots than parts."""
    for server, each in splits(transaction, servers).items():
        each.joining = True
        note_split(transaction, server, each)
        transaction.run(
            "UPDATE servers SET heir = NULL WHERE name = ANY(?) AND owner IS NOT NULL", each.parts
        )
        transaction.run(
            "UPDATE servers SET heir = ? WHERE name = ANY(?) AND owner IS NULL", LOOSE, each.parts
        )
        _ask(transaction, each.parts)


def _glue(control: Control, server: str, settings: Manager) -> int:
    """Put a server in the place of its parts, if nobody has any of them."""
    with control.reading() as transaction:
        made = splits(transaction, [server]).get(server)
        if made is None or not made.joining:
            return 0
        units = [_known(transaction, part) for part in made.parts]
        if not _is_as_before(transaction, units):
            return 0  # one is still on its way
        rows = transaction.rows("SELECT kb, found_at FROM servers WHERE name = ANY(?)", made.parts)
    state = recounted(server, joined(server, [unit.state for unit in units]))
    late = [keys for unit in units for keys in unit.late]
    with control.transaction() as transaction:
        if not _is_as_before(transaction, units):
            return 0
        kb, found_at = sum(float(kb) for kb, _ in rows), min(float(found_at) for _, found_at in rows)
        _replace(transaction, made.parts, {server: (state, late)}, kb=kb, found_at=found_at)
        note_split(transaction, server, Split(made.last))
        outbox = Outbox()
        welcome(transaction, outbox, settings)
        outbox.send(transaction)
    return 1
