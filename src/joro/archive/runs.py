"""How are millions of sorted lines kept so that a few are found without reading the others?

In:    lines, sorted by their bytes.
Out:   a *run*: the lines in gzip blocks, and a small table of where each block begins and with what.
Never: changes a run once it is written; reads more than the blocks that may hold what is asked for.

    000018.cdxj.gz    blocks of 200 lines, one gzip member each; `zcat` shows them all
    000018.cdxj.idx   one line per block: its first line up to the second blank, name, offset, length, number

The layout is that of ZipNum clusters, as pywb and Common Crawl use them. The table of 10 million lines has
some 4 MB, and is searched by halving where it lies: 16 steps, and one or two blocks are unpacked.
"""

from __future__ import annotations

import mmap
import os
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from isal import igzip_lib

from joro.archive.growing import NO_ROOM, disk_full
from joro.errors import ArchiveError

#: More lines make a smaller file and a slower look-up: 50 KB are unpacked in 0.1 ms.
BLOCK_LINES = 200
#: The level of ISA-L that packs lines best for its time.
LEVEL = 2
#: Blocks unpacked last, kept for whoever asks about the same page again: some 3 MB a run at most.
BLOCKS_KEPT = 64
#: Blocks that a merge takes from a run at a time.
BATCH_BLOCKS = 50

LINES, TABLE = ".gz", ".idx"


class Table(Protocol):
    """Bytes that can be searched where they lie: an `mmap`, or `bytes`."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: slice, /) -> bytes: ...
    def find(self, text: bytes, start: int = ..., end: int = ..., /) -> int: ...
    def rfind(self, text: bytes, start: int = ..., end: int = ..., /) -> int: ...


class _Block(NamedTuple):
    offset: int
    length: int


class RunWriter:
    """Writes the two files of a run; they are whole when `close` has returned."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._pending: list[bytes] = []
        self._offset = self._blocks = self.lines = 0
        self._files: list[BinaryIO] = [beside(stem, suffix).open("wb") for suffix in (LINES, TABLE)]

    def add(self, lines: Sequence[bytes]) -> None:
        """Lines that belong behind all those before."""
        self._pending += lines
        whole = len(self._pending) - len(self._pending) % BLOCK_LINES
        for start in range(0, whole, BLOCK_LINES):
            self._write(self._pending[start : start + BLOCK_LINES])
        del self._pending[:whole]

    def close(self) -> int:
        """Wait until the disk has everything; how many bytes that is."""
        try:
            if self._pending:
                self._write(self._pending)
            for file in self._files:
                file.flush()
                os.fsync(file.fileno())
            return sum(file.tell() for file in self._files)
        except OSError as error:
            raise _explained(self._stem, error) from None
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the files, whole or not."""
        for file in self._files:
            try:
                file.close()
            except OSError:  # what could not be written was told before
                continue

    def _write(self, lines: Sequence[bytes]) -> None:
        packed: bytes = igzip_lib.compress(b"".join(lines), level=LEVEL, flag=igzip_lib.COMP_GZIP)
        self._blocks += 1
        place = f"\t{self._stem.name}\t{self._offset}\t{len(packed)}\t{self._blocks}\n".encode()
        try:
            self._files[0].write(packed)
            self._files[1].write(_key(lines[0]) + place)
        except OSError as error:
            raise _explained(self._stem, error) from None
        self._offset += len(packed)
        self.lines += len(lines)


class Run:
    """Sorted lines on the disk, or anywhere else where ranges of bytes can be had."""

    def __init__(self, table: Table, read: Callable[[int, int], bytes]) -> None:
        self._table = table
        self._read = read
        self._lines = lru_cache(BLOCKS_KEPT)(self._unpack)

    @classmethod
    def open(cls, stem: Path) -> Run:
        """The run in two local files, which may be deleted afterwards: we keep hold of them."""
        # Not mapped: blocks read through a map count as memory of ours as long as there is enough of it.
        packed = os.open(beside(stem, LINES), os.O_RDONLY | os.O_CLOEXEC)
        try:
            run = cls(mapped(beside(stem, TABLE)), lambda offset, length: os.pread(packed, length, offset))
        except BaseException:
            os.close(packed)
            raise
        weakref.finalize(run, os.close, packed)
        return run

    def beginning(self, prefix: bytes, start: bytes = b"") -> Iterator[bytes]:
        """The lines that begin with `prefix`, in order, from the first that is not below `start` on."""
        start = max(start, prefix)
        for _, block in self._rows(start):
            lines = self._lines(block)
            for line in lines[bisect_left(lines, start) :]:
                if not line.startswith(prefix):
                    return
                yield line

    def batches(self) -> Iterator[list[bytes]]:
        """All lines, many at a time; none of them stays in memory. A wrong table is seen, too."""
        batch: list[bytes] = []
        for number, (key, block) in enumerate(self._rows(b""), start=1):
            lines = self._unpack(block)
            if not lines or _key(lines[0]) != key:
                raise _damaged(block, "its table speaks of another line")
            batch += lines
            if number % BATCH_BLOCKS == 0:
                yield batch
                batch = []
        if batch:
            yield batch

    def _unpack(self, block: _Block) -> list[bytes]:
        try:
            content: bytes = igzip_lib.decompress(self._read(*block), flag=igzip_lib.DECOMP_GZIP)
        except igzip_lib.error as error:  # type: ignore[misc]  # its stub says instance
            raise _damaged(block, str(error)) from None
        return content.splitlines(keepends=True)

    def _rows(self, start: bytes) -> Iterator[tuple[bytes, _Block]]:
        """The table from the one block on that may begin before `start` and hold it: keys and blocks."""
        table = self._table
        place = first_not_below(table, start)
        if place:
            place = table.rfind(b"\n", 0, place - 1) + 1
        while (end := table.find(b"\n", place)) >= 0:
            try:
                key, _, offset, length, _ = table[place:end].rsplit(b"\t", 4)
                block = _Block(int(offset), int(length))
            except ValueError:
                raise _damaged(_Block(place, end - place), "a line of its table makes no sense") from None
            yield key, block
            place = end + 1


def first_not_below(lines: Table, start: bytes) -> int:
    """Where the first of the sorted lines begins that is not below `start`."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high) // 2
        begin = lines.rfind(b"\n", low, middle) + 1 or low
        end = lines.find(b"\n", middle) + 1 or len(lines)
        if lines[begin : begin + len(start)] < start:
            low = end
        else:
            high = begin
    return low


def merged(sources: Iterable[Iterator[list[bytes]]]) -> Iterator[list[bytes]]:
    """The lines of all sources, each sorted, as sorted batches.

    What is below the last line at hand of every source can be given away. Sorting it anew costs a fifth of
    taking one line at a time from a heap: `sorted` sees that it is made of sorted pieces.
    """
    sources = list(sources)
    heads = [next(source, []) for source in sources]
    while any(heads):
        bound = min(head[-1] for head in heads if head)
        cuts = [bisect_right(head, bound) for head in heads]
        yield sorted(chain.from_iterable(head[:cut] for head, cut in zip(heads, cuts, strict=True)))
        heads = [
            head[cut:] or (next(source, []) if head else head)
            for head, cut, source in zip(heads, cuts, sources, strict=True)
        ]


def beside(stem: Path, suffix: str) -> Path:
    """One of the files of a run."""
    return stem.with_name(stem.name + suffix)


def mapped(path: Path) -> Table:
    """A file's bytes, where they lie; it may be deleted afterwards."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # of which no map can be made
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _key(line: bytes) -> bytes:
    """What the table has of a block's first line."""
    return b" ".join(line.split(b" ", 2)[:2]).rstrip()


def _damaged(block: _Block, why: str) -> ArchiveError:
    return ArchiveError(
        f"a merged index is damaged at byte {block.offset} ({why})", remedy="run: joro archive check --mend"
    )


def _explained(path: Path, error: OSError) -> Exception:
    return disk_full(path, error) if error.errno in NO_ROOM else error
