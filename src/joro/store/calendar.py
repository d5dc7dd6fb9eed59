"""Which known pages are due for another visit?

In:    entries: when a page is due, its fingerprint and its server's, and what a schedule needs to price it.
Out:   those due by a moment, earliest first, in columns; nothing is read that is not due.
Never: holds pages in memory that are not due; loses an entry in a crash; knows why a page is due.

One key for each entry in the frontier's own RocksDB, which keeps them in order of time:

    c DUE MARK VERSION → fingerprint of the server, state

Entries pushed and entries done with gather in memory, and `write_into` puts them into the very batch that
writes the page records: a visit and the next date of its page are there together or not at all. An entry
taken by `pop` stays on disk until it is dropped: after a crash it is due again.

A page may have two entries, when a signal moved it forward: its record names the version that counts, and
whoever pops the other drops it (`store.upkeep`). So nobody has to search for the old entry. Its date is known
to itself alone, because prices change and `put_off` moves an entry without touching the page's record.

Append-only files for hours, days and months (Tamura and Kitsuregawa 2010) were sketched: up to three times
the moves per CPU-second and a quarter of the bytes, for a second way of surviving crashes; a move is 1 % of
what a visit costs as it is. Figures: docs/decisions/0005-refresh.md, bench/calendar.py.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rocksdict import Rdict, ReadOptions, WriteBatch

#: What a schedule keeps with an entry, so that pricing it again takes no look at the page's record.
STATE_BYTES = 48
_STATE = f"V{STATE_BYTES}"

ENTRY = np.dtype([("due", "f8"), ("mark", "u8"), ("version", "u4"), ("server", "u8"), ("state", _STATE)])
#: Big-endian, the bytes of positive floats sort as the numbers do.
_STORED = np.dtype(
    [("due", ">f8"), ("mark", ">u8"), ("version", ">u4"), ("server", ">u8"), ("state", _STATE)]
)
_SIZE = _STORED.itemsize
_KEY = 20  # bytes of due, mark and version

Entries = np.ndarray[Any, np.dtype[np.void]]


def entries(
    due: ArrayLike, mark: ArrayLike, version: ArrayLike, server: ArrayLike, state: NDArray[np.void] | bytes
) -> Entries:
    """Entries made of columns, or of a single page; `state` may be shorter than STATE_BYTES."""
    due = np.atleast_1d(np.asarray(due, np.float64))
    made = np.zeros(len(due), ENTRY)
    made["due"], made["mark"], made["version"], made["server"] = due, mark, version, server
    made["state"] = np.void(state.ljust(STATE_BYTES, b"\0")) if isinstance(state, bytes) else state
    return made


class Calendar:
    """The pages of one share that shall be visited again."""

    def __init__(self, db: Rdict) -> None:
        self._db = db
        self._from = b"c"  # nothing before this key is left to pop
        self._out: set[bytes] = set()  # popped, and still on disk
        self._pushed: list[bytes] = []
        self._dropped: list[bytes] = []
        self._earliest = math.inf  # of the entries pushed

    @property
    def out(self) -> int:
        """Entries popped that a commit has not yet removed: what `pop` costs in memory."""
        return len(self._out)

    def push(self, new: Entries) -> None:
        """Let pages be due; `pop` finds them after the next commit."""
        if len(new) == 0:
            return
        assert not np.isnan(new["due"]).any(), "a date that is no number"
        stored = new.astype(_STORED)
        stored["due"] = np.maximum(new["due"], 0.0) + 0.0  # no -0.0: its bytes sort behind all others
        self._pushed.append(stored.tobytes())
        self._earliest = min(self._earliest, float(stored["due"].min()))

    def pop(self, until: float, limit: int) -> Entries:
        """At most `limit` entries that are due at `until` or before, earliest first, of those committed."""
        found: list[bytes] = []
        cursor = self._db.iter(_up_to(until))
        cursor.seek(self._from)
        while cursor.valid() and len(found) < limit:
            key = cursor.key()
            if key not in self._out:
                self._out.add(key)
                found.append(key[1:] + cursor.value())
            cursor.next()
        if cursor.valid():
            self._from = cursor.key()
        elif found:
            self._from = b"c" + found[-1][:_KEY] + b"\0"
        return np.frombuffer(b"".join(found), _STORED).astype(ENTRY)

    def drop(self, popped: Entries) -> None:
        """Popped entries are done with, and vanish with the next commit."""
        raw = popped.astype(_STORED).tobytes()
        self._dropped += [b"c" + raw[at : at + _KEY] for at in range(0, len(raw), _SIZE)]

    def put_off(self, popped: Entries, due: ArrayLike) -> None:
        """Move popped entries to other dates."""
        self.drop(popped)
        moved = popped.copy()
        moved["due"] = due
        self.push(moved)

    def next_due(self) -> float:
        """When the first entry that is not popped is due, as of the last commit; infinity when none is."""
        cursor = self._db.iter(_up_to(math.inf))
        cursor.seek(self._from)
        while cursor.valid():
            if cursor.key() not in self._out:
                return float(struct.unpack_from(">d", cursor.key(), 1)[0])
            cursor.next()
        return math.inf

    def write_into(self, batch: WriteBatch) -> None:
        """Add all changes to the batch that commits the pages; call `committed` when it is written."""
        for key in self._dropped:  # first: an entry put off to the very moment at which it was due stays
            batch.delete(key)
        for block in self._pushed:
            for at in range(0, len(block), _SIZE):
                batch.put(b"c" + block[at : at + _KEY], block[at + _KEY : at + _SIZE])

    def committed(self) -> None:
        """The batch of `write_into` is on disk."""
        self._out.difference_update(self._dropped)
        if self._pushed:
            self._from = min(self._from, b"c" + struct.pack(">d", self._earliest))
        self._dropped.clear()
        self._pushed.clear()
        self._earliest = math.inf


def server_in(value: bytes) -> int:
    """The fingerprint of the server, in the value of an entry."""
    return int.from_bytes(value[:8], "big")


def _up_to(until: float) -> ReadOptions:
    """Read entries that are due at `until` or before."""
    options = ReadOptions()
    after = math.nextafter(until, math.inf)
    options.set_iterate_upper_bound(b"d" if after == math.inf else b"c" + struct.pack(">d", max(after, 0.0)))
    return options
