"""What became of a server, whoever owned it?

In:    changes of its keys in the frontier, as robots tell them.
Out:   the same to whoever owns it next, oldest first, a page at a time.
Never: loses or reorders a change. Folds what came late, whose worth only a robot can judge.

A journal grows with every commit that touched its server. Long ones are *folded*: many entries become one,
with the last value of each key. Keys that went stay in it as gone, as long as somebody might have read half
of the journal before; a while after its owner has read all of it they are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec
from isal import isal_zlib

from joro.coordinate.beat import PAGE_BYTES, Changes, JournalPage
from joro.store.control import Control, Row, Transaction

Key = tuple[bytes, bytes | None]

#: A journal is folded after so many new entries.
FOLD_ENTRIES = 64
#: Servers whose journals are folded in one round.
FOLD_SERVERS = 200
#: So long after the owner has read all, nobody has half of it: it has committed it, or lost its lease.
FORGET_S = 3_600.0
#: Of short journals nobody notes that they were read; by then they were.
SHORT_S = 86_400.0
#: Folded entries are about so long, before they are packed: a reader gets one at a time.
CHUNK_BYTES = 2_000_000
#: Entries lie here packed to about a quarter.
PACKED = 4
#: Below this nothing is gained by packing.
_SMALL = 200

_read = msgspec.msgpack.Decoder(list[Key]).decode
_write = msgspec.msgpack.Encoder().encode


def packed(keys: Sequence[Key]) -> bytes:
    """The body of an entry: "m" and msgpack, or "z" and the same packed where that is shorter."""
    plain: bytes = _write(keys)
    if len(plain) > _SMALL:
        tight: bytes = isal_zlib.compress(plain, 1)
        if len(tight) < len(plain):
            return b"z" + tight
    return b"m" + plain


def unpacked(body: bytes) -> list[Key]:
    """The keys of an entry."""
    return _read(isal_zlib.decompress(body[1:]) if body[:1] == b"z" else body[1:])


def file(transaction: Transaction, entries: Iterable[tuple[str, int, bool, Sequence[Key]]]) -> None:
    """Add entries (server, number, late, keys); whoever calls has counted the numbers up."""
    rows = [(server, number, int(late), packed(keys)) for server, number, late, keys in entries]
    if rows:
        transaction.insert("journal", "server, number, late, body", rows)


def page(control: Control, robot: str, server: str, after: int) -> JournalPage:
    """Entries after that number, as many as a page holds.

    At the end of a long one it is noted that its owner has read it; short ones are not worth a commit each.
    """
    with control.reading() as transaction:
        entries, is_last = _entries(transaction, server, after)
    if is_last and entries and entries[-1][0] > FOLD_ENTRIES:
        with control.transaction() as transaction:
            transaction.run(
                "UPDATE servers SET read_at = ? WHERE name = ? AND owner = ?", transaction.now, server, robot
            )
    return JournalPage(entries, not is_last)


def _entries(
    transaction: Transaction, server: str, after: int
) -> tuple[list[tuple[int, bool, Changes]], bool]:
    """The entries of a page, and whether they are the last ones."""
    sizes = transaction.rows(
        "SELECT number, length(body) FROM journal WHERE server = ? AND number > ? ORDER BY number",
        server,
        after,
    )
    until, size = after, 0
    for number, length in sizes:
        if size and size + length > PAGE_BYTES // PACKED:
            break
        until, size = number, size + length
    rows = transaction.rows(
        "SELECT number, late, body FROM journal WHERE server = ? AND number > ? AND number <= ? "
        "ORDER BY number",
        server,
        after,
        until,
    )
    entries = [(int(number), bool(late), Changes(server, unpacked(body))) for number, late, body in rows]
    return entries, not sizes or until == sizes[-1][0]


def fold_round(control: Control) -> int:
    """Fold some of the journals that have grown; how many."""
    with control.reading() as transaction:
        grown = transaction.rows(
            "SELECT name FROM servers WHERE journal_number - folded_number >= ? LIMIT ?",
            FOLD_ENTRIES,
            FOLD_SERVERS,
        )
    for (server,) in grown:
        with control.reading() as transaction:  # unpacking and packing hold nobody up
            plans = folds(transaction, server)
        with control.transaction() as transaction:
            carry_out(transaction, server, plans)
    return len(grown)


@dataclass(frozen=True)
class Fold:
    """Entries with these numbers are to become those; if meanwhile nobody else owns the server."""

    numbers: list[int]
    entries: list[tuple[int, bytes]]
    tenure: Row


def folds(transaction: Transaction, server: str) -> list[Fold]:
    """How entries that did not come late can become few.

    Its owner was told to read up to a number: nothing from before it goes to an entry after it, until it has.
    """
    sizes = transaction.rows(
        "SELECT number, late, length(body) FROM journal WHERE server = ? ORDER BY number", server
    )
    is_read, tenure = _is_read(transaction, server), _tenure(transaction, server)
    plans: list[Fold] = []
    for (late, _), run in groupby(sizes, key=lambda row: (bool(row[1]), is_read or row[0] > tenure[1])):
        numbers = _worth([(number, length) for number, _, length in run])
        if not late and len(numbers) > 1:
            entries = folded(
                _bodies(transaction, server, numbers), forget=is_read and numbers[0] == sizes[0][0]
            )
            plans.append(Fold(numbers, [(number, packed(keys)) for number, keys in entries], tenure))
    return plans


def carry_out(transaction: Transaction, server: str, plans: Sequence[Fold]) -> None:
    """Put the new entries in the place of the old ones, where these are still there."""
    where = "server = ? AND number >= ? AND number <= ?"
    for each in plans:
        place = (server, each.numbers[0], each.numbers[-1])
        there = transaction.rows(f"SELECT number FROM journal WHERE {where} ORDER BY number", *place)
        if [number for (number,) in there] == each.numbers and _tenure(transaction, server) == each.tenure:
            transaction.run(f"DELETE FROM journal WHERE {where}", *place)
            rows = [(server, number, 0, body) for number, body in each.entries]
            transaction.insert("journal", "server, number, late, body", rows)
    transaction.run("UPDATE servers SET folded_number = journal_number WHERE name = ?", server)


def _tenure(transaction: Transaction, server: str) -> Row:
    """Who owns it, and up to which number it was told to read; and how far that has got."""
    found = transaction.rows("SELECT owner, given_number, since, read_at FROM servers WHERE name = ?", server)
    return found[0] if found else (None, 0, 0.0, None)


def _bodies(transaction: Transaction, server: str, numbers: Sequence[int]) -> Iterator[tuple[int, list[Key]]]:
    for number, body in transaction.rows(
        "SELECT number, body FROM journal WHERE server = ? AND number >= ? AND number <= ? ORDER BY number",
        server,
        numbers[0],
        numbers[-1],
    ):
        yield number, unpacked(body)


def _worth(run: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of the last entries, back to one that is longer than all after it together.

    So nothing is folded again before as much has come after it: a change is written some log(n) times.
    """
    first, size = len(run) - 1, run[-1][1]
    while first > 0 and run[first - 1][1] <= size:
        first -= 1
        size += run[first][1]
    return [number for number, _ in run[first:]]


def _is_read(transaction: Transaction, server: str) -> bool:
    """Has its present owner read all there was, long enough ago? Of short ones that is not noted."""
    long_ago = transaction.now - FORGET_S
    return bool(
        transaction.rows(
            "SELECT 1 FROM servers JOIN robots ON robots.name = servers.owner "
            "WHERE servers.name = ? AND state = 'up' AND up_since < ? AND since < ? "
            "AND (given_number = 0 OR read_at < ? OR (given_number <= ? AND since < ?))",
            server,
            long_ago,
            long_ago,
            long_ago,
            FOLD_ENTRIES,
            long_ago - SHORT_S,
        )
    )


def folded(entries: Iterable[tuple[int, Sequence[Key]]], *, forget: bool) -> list[tuple[int, list[Key]]]:
    """The last value of each key, in entries of some length; `forget`: without keys that are gone.

    An entry has only what was changed up to its own number: whoever has read a part of the old ones, and goes
    on with the new, misses nothing.
    """
    last: dict[bytes, tuple[int, bytes | None]] = {}
    number = 0
    for number, changes in entries:
        for key, value in changes:
            last.pop(key, None)  # so that keys keep the order of their last change
            last[key] = number, value
    chunks: list[tuple[int, list[Key]]] = [(0, [])]
    size = 0
    for changed, pairs in groupby(last.items(), key=lambda pair: pair[1][0]):
        if size >= CHUNK_BYTES:
            chunks.append((0, []))
            size = 0
        keys = [(key, value) for key, (_, value) in pairs if not (forget and value is None)]
        size += sum(len(key) + len(value or b"") for key, value in keys)
        chunks[-1][1].extend(keys)
        chunks[-1] = changed, chunks[-1][1]
    chunks[-1] = number, chunks[-1][1]
    return chunks


def by_server(posts: Iterable[Sequence[Changes]]) -> dict[str, list[Key]]:
    """The changes of several posts, put together by server, in their order."""
    merged: dict[str, list[Key]] = {}
    for changes in posts:
        for each in changes:
            merged.setdefault(each.server, []).extend(each.keys)
    return merged
