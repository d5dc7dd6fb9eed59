"""Where does each gzip member of a WARC begin and end?

In:    a WARC, perhaps torn at its end, damaged inside, or growing while we read.
Out:   its whole members one after the other; an unfinished last one is simply not there yet.
Never: reads a record's meaning; maps the file (a writer with a full disk may shorten it).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isal import igzip_lib, isal_zlib

from joro.archive.far import opened, size_of
from joro.errors import ArchiveError

WINDOW_BYTES = 1 << 20
#: Handed to the decoder at once; what it does not use it copies, so more than a few members is waste.
STEP_BYTES = 1 << 14


@dataclass(slots=True)
class Member:
    """One gzip member: one record."""

    offset: int
    length: int  # compressed bytes
    content: bytes

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes that are no whole member although whole members follow."""

    offset: int
    length: int


def members(path: Path, offset: int = 0, window_bytes: int = WINDOW_BYTES) -> Iterator[Member]:
    """Every whole member from `offset` on; stops before an unfinished one, raises at a damaged one.

    So many bytes are read at a time: whoever wants one member and knows its length reads no more.
    """
    with opened(path) as file:
        file.seek(offset)
        window, place = b"", 0
        while True:
            decoder = isal_zlib.decompressobj(wbits=31)
            pieces: list[bytes] = []
            length = 0
            while not decoder.eof:
                if place == len(window):
                    window, place = file.read(window_bytes), 0
                    if not window:
                        return
                step = window[place : place + STEP_BYTES]
                try:
                    pieces.append(decoder.decompress(step))
                except igzip_lib.error as error:  # type: ignore[misc]  # its stub says instance
                    raise damaged(path, offset, str(error)) from None
                used = len(step) - len(decoder.unused_data)
                place += used
                length += used
            yield Member(offset, length, b"".join(pieces))
            offset += length


def damaged(path: Path, offset: int, why: str) -> ArchiveError:
    return ArchiveError(
        f"{path} is damaged at byte {offset} ({why})",
        remedy="run: joro archive check, and restore the file from a copy",
    )


def salvage(path: Path, offset: int, known: Callable[[], Sequence[int]]) -> Iterator[Member | Gap]:
    """Every whole member from `offset` on, past damage too.

    A damaged member does not tell where the next one begins; `known()`, asked only then, gives the
    sorted offsets its index lists. Searching for gzip's magic number instead would let a web page that
    is itself a WARC slip its records into ours.
    """
    while True:
        # Taken before reading: what a writer adds meanwhile is no gap but simply not read yet.
        size = size_of(path)
        try:
            for member in members(path, offset):
                offset = member.end
                yield member
        except ArchiveError:
            pass
        listed = known() if offset < size else ()
        after = bisect_right(listed, offset)
        if after == len(listed) or listed[after] >= size:
            return
        yield Gap(offset, listed[after] - offset)
        offset = listed[after]
