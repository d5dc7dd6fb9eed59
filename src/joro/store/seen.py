"""Which fingerprints were seen before?

In:    64-bit fingerprints, in batches: the larger, the cheaper.
Out:   which of them are new; from then on they are known.
Never: holds more in memory than the buffer: 8 bytes a key lie on disk, read through the page cache.

Sort and merge (DRUM: Lee, Leonard, Wang, Loguinov 2008): new fingerprints gather in a sorted buffer,
and `merge` works it, partition by partition, into sorted files. A partition is replaced by rename, so
a crash, or a loss of power, leaves the old or the new one. Merging what is there already changes nothing;
whoever keeps a log of the fingerprints added since the last merge can therefore simply `add` them again.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from joro.errors import CollectionError
from joro.store.durable import sync

Marks = NDArray[np.uint64]

#: Files; a merge needs memory for the largest of them twice.
PARTITIONS = 64
_SHIFT = np.uint64(64 - 6)
_NONE: Marks = np.empty(0, np.uint64)
#: So few are looked at one by one: twenty calls of NumPy cost as much as hundreds of looks. Those found new
#: join the buffer when so many have come together.
FEW, YOUNG = 64, 4_096


class SeenSet:
    """Fingerprints on disk, with the newest in memory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._parts = [self._open(number) for number in range(PARTITIONS)]
        self._buffer = _NONE
        self._young: set[int] = set()

    def __len__(self) -> int:
        """Fingerprints known."""
        return self.unmerged + sum(len(part) for part in self._parts)

    @property
    def unmerged(self) -> int:
        """Fingerprints in memory only."""
        return len(self._buffer) + len(self._young)

    def add(self, marks: Marks) -> NDArray[np.intp]:
        """Make `marks` known; the positions at which one stood for the first time ever, in order."""
        if len(marks) <= FEW:
            return self._add_few(marks.tolist())
        self._grow_up()
        unique, first = np.unique(marks, return_index=True)
        new = self._are_new(unique)
        self._buffer = _merged(self._buffer, unique[new])
        return np.sort(first[new])

    def are_known(self, marks: Marks) -> NDArray[np.bool_]:
        """Which of these were made known before."""
        self._grow_up()
        unique, places = np.unique(marks, return_inverse=True)
        return ~self._are_new(unique)[places]

    def _add_few(self, marks: list[int]) -> NDArray[np.intp]:
        young = self._young
        first: dict[int, int] = {}
        for position, mark in enumerate(marks):
            if mark not in young and mark not in first:
                first[mark] = position
        unique = np.array(sorted(first), np.uint64)
        new = unique[self._are_new(unique)].tolist()
        young.update(new)
        if len(young) >= YOUNG:
            self._grow_up()
        return np.array(sorted([first[mark] for mark in new]), np.intp)

    def _are_new(self, unique: Marks) -> NDArray[np.bool_]:
        """Which of these, sorted, are neither in the buffer nor on disk?"""
        new = ~_contains(self._buffer, unique)
        if any(map(len, self._parts)):
            for number, start, end in _partitions(unique):
                new[start:end] &= ~_contains(self._parts[number], unique[start:end])
        return new

    def _grow_up(self) -> None:
        if self._young:
            self._buffer = _merged(self._buffer, np.array(sorted(self._young), np.uint64))
            self._young = set()

    def merge(self) -> None:
        """Move the buffer to disk."""
        self._grow_up()
        for number, start, end in _partitions(self._buffer):
            self._replace(number, _merged(self._parts[number], self._buffer[start:end]))
        sync(self._directory)
        self._buffer = _NONE

    def forget(self, marks: Marks) -> None:
        """Let fingerprints be unknown again, in memory and on disk."""
        self.merge()
        gone = np.unique(marks)
        for number, start, end in _partitions(gone):
            part = self._parts[number]
            stays = ~_contains(gone[start:end], part)
            if not stays.all():
                self._replace(number, part[stays])

    def keep_only(self, marks: Marks) -> None:
        """Let all other fingerprints be unknown again, in memory and on disk.

        `marks` are sorted where they lie: they may be as many as there are pages.
        """
        self.merge()
        marks.sort()
        starts = np.arange(PARTITIONS, dtype=np.uint64) << _SHIFT
        bounds = [*np.searchsorted(marks, starts).tolist(), len(marks)]
        for number, part in enumerate(self._parts):
            stays = _contains(marks[bounds[number] : bounds[number + 1]], part)
            if not stays.all():
                self._replace(number, part[stays])

    def _replace(self, number: int, content: Marks) -> None:
        path = self._path(number)
        draft = path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(content.tobytes())
            file.flush()
            os.fsync(file.fileno())  # whoever merges forgets then what it had noted
        os.replace(draft, path)
        self._parts[number] = self._open(number)

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:02d}.seen"

    def _open(self, number: int) -> Marks:
        path = self._path(number)
        if not path.exists() or path.stat().st_size == 0:
            return _NONE
        try:
            return np.memmap(path, np.uint64, "r")
        except ValueError:
            raise CollectionError(
                f"{path} is damaged: {path.stat().st_size} bytes are no whole fingerprints",
                remedy=f"restore {self._directory.parent} from a copy, or move it away and crawl anew:"
                " joro crawl SEED",
            ) from None


def _partitions(marks: Marks) -> list[tuple[int, int, int]]:
    """Where each partition's share of sorted `marks` begins and ends."""
    bounds = np.searchsorted(marks >> _SHIFT, np.arange(PARTITIONS + 1, dtype=np.uint64))
    ends = bounds.tolist()
    return [(number, ends[number], ends[number + 1]) for number in np.flatnonzero(np.diff(bounds)).tolist()]


def _contains(table: Marks, keys: Marks) -> NDArray[np.bool_]:
    if not len(table):
        return np.zeros(len(keys), np.bool_)
    at = np.searchsorted(table, keys)
    at[at == len(table)] = 0
    return np.asarray(table[at] == keys)


def _merged(table: Marks, keys: Marks) -> Marks:
    """Both sorted arrays as one; `keys` holds nothing that is in `table`, except after a crash."""
    keys = keys[~_contains(table, keys)]
    return np.insert(table, np.searchsorted(table, keys), keys) if len(keys) else table
