"""How does a record vanish from a WARC while everything else stays where it is?

In:    a closed WARC, and where the records lie that must go.
Out:   a WARC of the same name and length without them: fillers of zeros stand in their places.
Never: moves a record: indexes, tables, positions and readers of the others stay right, before, during and
       after. Leaves anything but the old file or the new one, whatever moment it is killed.

A filler is a WARC record like any other (type metadata, a block of zeros, stored rather than compressed), so
every reader passes over it. Zeros are not written but skipped: the file system gives their room back.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from joro.archive.growing import NO_ROOM, disk_full
from joro.archive.names import sorted_index
from joro.archive.times import warc_date
from joro.errors import ArchiveError
from joro.store.durable import sync

#: What deflate can store in one block, and what each costs.
_BLOCK_BYTES, _BLOCK_COST = 65_535, 5
#: A gzip member without its content: header, checksum and size.
_MEMBER_COST = 18
_COPY_BYTES = 1 << 20
_OCTETS = b"Content-Type: application/octet-stream\r\n"

Span = tuple[int, int]  # offset and length


def erase(warc: Path, spans: Iterable[Span], now: float, replaced: dict[int, bytes] | None = None) -> int:
    """Put fillers in the place of all spans, and whole members of the same length in that of others.

    How many bytes were erased.
    """
    assert sorted_index(warc).exists(), f"{warc} is being written"
    holes = apart(spans)
    changes = {offset: filler(length, now) for offset, length in holes}
    for offset, member in (replaced or {}).items():
        changes[offset] = [member]
    if not changes:
        return 0
    draft = warc.with_name(warc.name + ".new")
    try:
        with warc.open("rb") as source, draft.open("wb") as target:
            _copy(source, target, changes)
            os.fsync(target.fileno())
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno in NO_ROOM:
            raise disk_full(draft, error) from None
        raise
    assert draft.stat().st_size == warc.stat().st_size
    draft.rename(warc)
    sync(warc.parent)
    return sum(length for _, length in holes)


def apart(spans: Iterable[Span]) -> list[Span]:
    """The same bytes in spans that do not overlap, in order; those that touch stay apart.

    Each record gets a filler of its own: a position between two records stays one.
    """
    found: list[Span] = []
    for offset, length in sorted(set(spans)):
        if found and offset < found[-1][0] + found[-1][1]:
            start = found[-1][0]
            found[-1] = start, max(found[-1][1], offset + length - start)
        else:
            found.append((offset, length))
    return found


def _copy(source: BinaryIO, target: BinaryIO, changes: dict[int, list[bytes]]) -> None:
    for offset in sorted(changes):
        _copy_bytes(source, target, offset - source.tell())
        for piece in changes[offset]:
            if piece.count(0) == len(piece):
                target.seek(len(piece), os.SEEK_CUR)
            else:
                target.write(piece)
        source.seek(target.tell())
    _copy_bytes(source, target, os.fstat(source.fileno()).st_size - source.tell())


def _copy_bytes(source: BinaryIO, target: BinaryIO, count: int) -> None:
    while count:
        chunk = source.read(min(count, _COPY_BYTES))
        if not chunk:
            raise OSError(f"{source.name} became shorter while it was read")
        target.write(chunk)
        count -= len(chunk)


def filler(length: int, now: float) -> list[bytes]:
    """A gzip member of exactly that many bytes, in pieces, the long ones all zeros; it says nothing."""
    size = length - _MEMBER_COST - _BLOCK_COST - len(_header(0, now)) - 4
    while size >= 0 and (over := _stored_bytes(size, now) - length) > 0:
        size -= over
    if size < 0:
        return [member(_header(0, now).replace(_OCTETS, b"") + b"\r\n\r\n", length)]
    content = [_header(size, now), *_zeros(size), b"\r\n\r\n"]
    checksum = total = 0
    for piece in content:
        checksum, total = zlib.crc32(piece, checksum), total + len(piece)
    padding = length - _stored_bytes(size, now)
    end = checksum.to_bytes(4, "little") + total.to_bytes(4, "little")
    return [_gzip_header(padding), *_stored(content), end]


def member(content: bytes, length: int) -> bytes:
    """Content as a gzip member of exactly that many bytes; an `ArchiveError` where it does not fit."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflated = deflater.compress(content) + deflater.flush()
    padding = length - _MEMBER_COST - len(deflated)
    if padding < 0:
        raise ArchiveError(
            f"a record of {len(content)} bytes does not fit into {length}",
            remedy="report this: it never ought to",
        )
    end = zlib.crc32(content).to_bytes(4, "little") + (len(content) & 0xFFFFFFFF).to_bytes(4, "little")
    return _gzip_header(padding) + deflated + end


def _gzip_header(padding: int) -> bytes:
    """RFC 1952; what a member is too short is made up by a comment."""
    header = bytes([31, 139, 8, 16 if padding else 0, 0, 0, 0, 0, 0, 255])
    return header + b" " * (padding - 1) + b"\0" if padding else header


def _header(size: int, now: float) -> bytes:
    return (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\n"
        f"WARC-Date: {warc_date(now)[:19]}Z\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()


def _stored_bytes(size: int, now: float) -> int:
    """How long a member is whose record has a block of `size` bytes, before padding."""
    blocks = 2 + -(-size // _BLOCK_BYTES)
    return _MEMBER_COST + _BLOCK_COST * blocks + len(_header(size, now)) + size + 4


def _zeros(size: int) -> list[bytes]:
    whole, rest = divmod(size, _BLOCK_BYTES)
    return [bytes(_BLOCK_BYTES)] * whole + ([bytes(rest)] if rest else [])


def _stored(content: Sequence[bytes]) -> Iterable[bytes]:
    """Each piece as one deflate block that stores it."""
    for number, piece in enumerate(content, 1):
        size = len(piece)
        last = number == len(content)
        yield bytes([last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
        yield piece
