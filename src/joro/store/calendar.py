"""Which known pages are due for another visit?

In:    entries: when a page is due, its fingerprint and its server's, and what a schedule needs to price it.
Out:   those due by a moment, earliest first, in columns; nothing is read that is not due soon.
Never: holds pages in memory, the next few thousand excepted; loses an entry in a crash; knows why it is due.

Entries lie in the frontier's own RocksDB, many to a key, unpacked by NumPy as they are:

    c LEVEL START STAMP → entries that are due in a stretch of time, as long as the level says, from START on
    c 0 STAMP           → the desk: the earliest ones
    c 16 …, c 16+LEVEL … → the same for watched sources, which wait for no page, however many are due

The further away a date, the longer the stretch it is kept in. When the time of a long one comes near, its
entries go to shorter ones, a good deal of them at a time, and when the time of a short one has come, to the
desk. An entry moves three or four times in its life, each time with thousands of others: a key for each took
ten times as long (docs/decisions/0005-refresh.md, bench/calendar.py).

What is popped leaves with the next commit, in the very batch that lets its page wait or names another date:
both happen or neither. Moves between stretches, which nobody sees, are batches of their own.

A page may have two entries, when a signal moved it forward: its record names the version that counts, and
whoever pops the other drops it (`robot.keeper`). So nobody has to search for the old entry. Its date is known
to itself alone, because prices change and `put_off` moves an entry without touching the page's record.
"""

from __future__ import annotations

import math
import secrets
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rocksdict import Rdict, ReadOptions, WriteBatch

from joro.store.rocks import translated

#: What a schedule keeps with an entry, so that pricing it again takes no look at the page's record.
STATE_BYTES = 48

ENTRY = np.dtype(
    [("due", "<f8"), ("mark", "<u8"), ("version", "<u4"), ("server", "<u8"), ("state", f"V{STATE_BYTES}")]
)

Entries = np.ndarray[Any, np.dtype[np.void]]

#: How long stretches are, by level: the last one has all that is further away than anybody thinks.
_LEAST, _USUAL, _NEVER = 1, 3, 9
_WIDTHS_S = {level: 450.0 * 32.0 ** (level - _USUAL) for level in range(_LEAST, _NEVER)}
_HORIZON = 1e11
_WIDTHS = np.array([_WIDTHS_S.get(level, _HORIZON) for level in range(_NEVER + 1)])
#: A date goes into a stretch that has not begun by far: a quarter of its length before, it is broken up.
_APART = 1.25
_NEAREST = [_APART * _WIDTHS_S[level] for level in range(_USUAL + 1, _NEVER)]
_STAMP_BYTES = 12
#: Added to the levels of sources.
_SOURCES = 16
#: Entries on the desk after a commit, at most twice as many; a stretch that has more is broken up.
DESK = 4_096
#: Entries moved in one go.
MOVED = 65_536


def entries(
    due: ArrayLike, mark: ArrayLike, version: ArrayLike, server: ArrayLike, state: NDArray[np.void] | bytes
) -> Entries:
    """Entries made of columns, or of a single page; `state` may be shorter than STATE_BYTES."""
    due = np.atleast_1d(np.asarray(due, np.float64))
    made = np.zeros(len(due), ENTRY)
    made["due"], made["mark"], made["version"], made["server"] = due, mark, version, server
    made["state"] = np.void(state.ljust(STATE_BYTES, b"\0")) if isinstance(state, bytes) else state
    return made


def entries_in(block: bytes) -> Entries:
    """The entries under one key."""
    return np.frombuffer(block, ENTRY)


def key_like(key: bytes) -> bytes:
    """Another key for entries of the same time; halves of one block may meet again in one database."""
    return key[:-_STAMP_BYTES] + secrets.token_bytes(_STAMP_BYTES)


class _Stretch(NamedTuple):
    """A stretch of time that has entries on disk."""

    start: float
    level: int
    shelf: int = 0

    @property
    def prefix(self) -> bytes:
        return b"c%c%b" % (self.shelf + self.level, struct.pack(">d", self.start))

    @property
    def served_until(self) -> float:
        """Entries on the desk that are due before may go ahead of those here; the shortest are as one."""
        return self.start + _WIDTHS_S[_LEAST] if self.level == _LEAST else self.start


class Dates:
    """Dates of one kind."""

    def __init__(self, db: Rdict, shelf: int) -> None:
        self._db = db
        self._shelf = shelf  # added to the levels of keys
        self._stamp = secrets.token_bytes(_STAMP_BYTES // 2)  # keys of two processes must differ
        self._count = 0
        desk = list(self._blocks(b"c%c" % shelf))
        self._on_disk = [key for key, _ in desk]  # what the desk replaces at the next commit
        self._hidden: set[bytes] = set()  # keys brought to the desk since the last commit
        self._stretches = set(self._written())
        self._read_up_to: dict[_Stretch, bytes] = {}  # what comes before is deleted, and long to step over
        self._desk = _sorted(_joined(block for _, block in desk))
        self._is_changed = len(desk) > 1
        self._pushed: list[Entries] = []
        self._now = 0.0  # as far as pages have been popped
        self.handed_out = 0  # entries popped, since this process began

    def push(self, new: Entries) -> None:
        """Let pages be due; `pop` finds them after the next commit."""
        if len(new) == 0:
            return
        assert not np.isnan(new["due"]).any(), "a date that is no number"
        kept = new.copy()
        kept["due"] = np.maximum(new["due"], 0.0)
        self._pushed.append(kept)

    def pop(self, until: float, limit: int) -> Entries:
        """At most `limit` entries that are due at `until` or before, earliest first, of those committed.

        They are gone with the next commit: whoever wants to keep one puts it off.
        """
        most = min(self._fill(until, limit), limit)
        number = min(int(np.searchsorted(self._desk["due"], until, "right")), most)
        popped, self._desk = self._desk[:number], self._desk[number:]
        self._is_changed |= number > 0
        self.handed_out += number
        reached = until if until < math.inf else float(popped["due"][-1]) if number else 0.0
        self._now = max(self._now, min(reached, _HORIZON))
        self._break_up_ahead()
        return popped

    def put_off(self, popped: Entries, due: ArrayLike) -> None:
        """Move popped entries to other dates."""
        moved = popped.copy()
        moved["due"] = due
        self.push(moved)

    def _fill(self, until: float, limit: int) -> int:
        """Bring to the desk what is due; how many of the entries there come before all others."""
        while (stretch := min(self._stretches, default=_AFTER_ALL)).start <= until and stretch.level:
            first = int(np.searchsorted(self._desk["due"], stretch.served_until))
            if first >= limit:
                return first
            keys, found = self._take(stretch, DESK)
            if stretch.level not in (_LEAST, _NEVER) and len(found) > DESK:
                self._break_up(stretch, keys, found)
                continue
            self._hidden.update(keys)
            self._desk = _merged(self._desk, found)
            self._is_changed = True
        return len(self._desk)

    def _written(self) -> Iterator[_Stretch]:
        """The stretches that have entries on disk."""
        for level in range(_LEAST, _NEVER + 1):
            cursor = self._db.iter(_OF_LEVEL[self._shelf + level])
            cursor.seek(b"c%c" % (self._shelf + level))
            while cursor.valid():
                stretch = _Stretch(struct.unpack_from(">d", cursor.key(), 2)[0], level, self._shelf)
                yield stretch
                cursor.seek(stretch.prefix + b"\xff" * (_STAMP_BYTES + 1))

    def _take(self, stretch: _Stretch, enough: int) -> tuple[list[bytes], Entries]:
        """Entries of a stretch, more than enough or all, and the keys they have; they will not be there."""
        keys, blocks, enough_bytes, taken_bytes = list[bytes](), list[bytes](), enough * ENTRY.itemsize, 0
        for key, block in self._blocks(stretch.prefix, self._read_up_to.get(stretch, b"")):
            if taken_bytes > enough_bytes:
                self._read_up_to[stretch] = keys[-1]
                break
            if key not in self._hidden:
                keys.append(key)
                blocks.append(block)
                taken_bytes += len(block)
        else:
            self._stretches.discard(stretch)
            self._read_up_to.pop(stretch, None)
        return keys, _joined(blocks)

    def _break_up_ahead(self) -> None:
        """Some entries of a long stretch whose time comes near; so nobody waits for millions at its start."""
        near = [
            stretch
            for stretch in self._stretches
            if _USUAL < stretch.level < _NEVER
            and stretch.start - self._now <= (_APART - 1.0) * _WIDTHS_S[stretch.level]
        ]
        if near:
            stretch = min(near)
            self._break_up(stretch, *self._take(stretch, MOVED))

    def _break_up(self, stretch: _Stretch, keys: list[bytes], found: Entries) -> None:
        """Let entries go into shorter stretches."""
        batch = WriteBatch(raw_mode=True)
        for key in keys:
            batch.delete(key)
        self._put(batch, found, np.full(len(found), stretch.level - 1))
        try:
            self._db.write(batch)
        except Exception as error:  # rocksdict has no exception class of its own
            raise translated(error, Path(self._db.path())) from None

    def write_into(self, batch: WriteBatch) -> None:
        """Add all changes to the batch that commits the pages; call `committed` when it is written."""
        pushed = _joined(new.tobytes() for new in self._pushed)
        edge = float(self._desk["due"][-1]) if len(self._desk) else -1.0
        is_near = pushed["due"] <= edge
        if is_near.any():
            self._desk, self._is_changed = _merged(self._desk, pushed[is_near]), True
        far = pushed[~is_near]
        if len(self._desk) > 2 * DESK:
            far, self._desk = _joined([far.tobytes(), self._desk[DESK:].tobytes()]), self._desk[:DESK]
            self._is_changed = True
        self._put(batch, far, _levels(far["due"] - max(self._now, min(edge, _HORIZON)), far["due"]))
        if self._is_changed:
            self._put_desk(batch)

    def _put_desk(self, batch: WriteBatch) -> None:
        for key in (*self._on_disk, *self._hidden):
            batch.delete(key)
        self._on_disk = []
        if len(self._desk):
            self._on_disk = [self._key(b"c%c" % self._shelf)]
            batch.put(self._on_disk[0], self._desk.tobytes())

    def committed(self) -> None:
        """The batch of `write_into` is on disk."""
        if self._is_changed:
            self._hidden.clear()
        self._is_changed = False
        self._pushed.clear()

    def _put(self, batch: WriteBatch, new: Entries, levels: NDArray[np.intp]) -> None:
        """Put entries into the stretches of their dates: one key for all that go into the same one."""
        if not len(new):
            return
        due = np.ascontiguousarray(new["due"])
        order = np.argsort(due, kind="stable")  # so stretches follow each other: later dates, longer ones
        levels = levels[order]
        starts = _starts(due[order], levels)
        is_other = (starts[1:] != starts[:-1]) | (levels[1:] != levels[:-1])
        firsts = np.concatenate([[0], np.flatnonzero(is_other) + 1])
        ends = (np.append(firsts[1:], len(new)) * ENTRY.itemsize).tolist()
        packed, left = new[order].tobytes(), 0
        for start, level, right in zip(starts[firsts].tolist(), levels[firsts].tolist(), ends, strict=True):
            stretch = _Stretch(start, level, self._shelf)
            self._stretches.add(stretch)
            batch.put(self._key(stretch.prefix), packed[left:right])
            left = right

    def _key(self, prefix: bytes) -> bytes:
        self._count += 1
        return prefix + self._stamp + self._count.to_bytes(_STAMP_BYTES // 2, "big")

    def _blocks(self, prefix: bytes, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        start = after + b"\0" if after else prefix
        found: Any = self._db.items(from_key=start, read_opt=_OF_LEVEL[prefix[1]])
        for key, block in found:
            if not key.startswith(prefix):
                return
            yield key, block


class Calendar(Dates):
    """The pages of one share that shall be visited again, and apart from them the sources it watches."""

    def __init__(self, db: Rdict) -> None:
        super().__init__(db, 0)
        self.sources = Dates(db, _SOURCES)

    def write_into(self, batch: WriteBatch) -> None:
        """Add all changes to the batch that commits the pages; call `committed` when it is written."""
        super().write_into(batch)
        self.sources.write_into(batch)

    def committed(self) -> None:
        """The batch of `write_into` is on disk."""
        super().committed()
        self.sources.committed()


_AFTER_ALL = _Stretch(math.inf, 0)


def _joined(blocks: Iterable[bytes]) -> Entries:
    """The entries of several blocks; NumPy takes a hundred times as long, it asks each array for its type."""
    return entries_in(b"".join(blocks))


def _sorted(found: Entries) -> Entries:
    """The same entries, earliest first; those due at one moment by page and version."""
    due = np.ascontiguousarray(found["due"])
    order = np.argsort(due, kind="stable")
    due_then = due[order]
    if (due_then[1:] == due_then[:-1]).any():
        order = np.lexsort((found["version"], found["mark"], due))
    return found[order]


def _merged(desk: Entries, new: Entries) -> Entries:
    return _sorted(_joined([desk.tobytes(), new.tobytes()]))


def _levels(away_s: NDArray[np.float64], due: NDArray[np.float64]) -> NDArray[np.intp]:
    """The levels of dates that are so far away."""
    levels = _USUAL + np.searchsorted(_NEAREST, away_s, "right")
    return np.where(due < _HORIZON, np.minimum(levels, _NEVER - 1), _NEVER)


def _starts(due: NDArray[np.float64], levels: NDArray[np.intp]) -> NDArray[np.float64]:
    """When the stretches begin that dates lie in."""
    widths = _WIDTHS[levels]
    return np.where(levels == _NEVER, _HORIZON, np.floor(np.minimum(due, _HORIZON) / widths) * widths)


def _of_level(level: int) -> ReadOptions:
    options = ReadOptions()
    options.set_iterate_upper_bound(b"c%c" % (level + 1))
    return options


#: For as long as we live: a cursor looks at the bound that its options hold, and does not hold the options.
_OF_LEVEL = [_of_level(level) for level in range(_SOURCES + _NEVER + 1)]
