"""What did a record say?

In:    a WARC, and where to begin.
Out:   its records; the response inside one; everything written since a position.
Never: changes a file; trips over a torn end or a file that grows while we read.

Nine tenths of fastwarc's speed (bench/archive.py), and it knows what to do with a torn or damaged file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joro.archive.cdx import REVISIT, capture_of, index_of, whole_lines
from joro.archive.members import WINDOW_BYTES, Member, damaged, members, salvage
from joro.archive.names import Position as Position
from joro.archive.names import number_of, stream_name, stream_of, warcs
from joro.archive.payload import digest, header_fields, is_framed, mime_of, payload_of, split, status_of
from joro.archive.times import time_of
from joro.model import Capture, Response, Truncated

if TYPE_CHECKING:
    from joro.archive.index import CaptureIndex

#: Record types that hold a capture.
CAPTURES = ("response", "revisit")


@dataclass(slots=True)
class Record:
    """One WARC record."""

    type: str
    url: str  # WARC-Target-URI, "" where it has none
    time: float
    fields: dict[str, str]  # of the WARC header, lower-case names
    block: bytes  # for a response: head and body exactly as received
    warc: str
    offset: int
    length: int  # compressed bytes

    @property
    def head(self) -> bytes:
        return split(self.block)[0]

    @property
    def body(self) -> bytes:
        return split(self.block)[1]

    @property
    def status(self) -> int:
        return status_of(self.block)

    @property
    def headers(self) -> dict[str, str]:
        """HTTP fields, lower-case names."""
        return header_fields(self.head)

    @property
    def end(self) -> int:
        return self.offset + self.length


def record_in(member: Member, warc: str) -> Record:
    """The record a member holds; a `ValueError` says what is wrong with it."""
    header, _, rest = member.content.partition(b"\r\n\r\n")
    lines = header.decode("utf-8", "replace").split("\r\n")
    if not lines[0].startswith("WARC/"):
        raise ValueError("no WARC header")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    length = int(fields.get("content-length", "-1"))
    if length < 0 or rest[length:] != b"\r\n\r\n":
        raise ValueError(f"Content-Length is {length}, but the block has {len(rest) - 4} bytes")
    return Record(
        fields.get("warc-type", ""),
        fields.get("warc-target-uri", ""),
        time_of(fields.get("warc-date", "1970")),
        fields,
        rest[:length],
        warc,
        member.offset,
        member.length,
    )


def records(path: Path, offset: int = 0) -> Iterator[Record]:
    """Every whole record from `offset` on; a damaged one is an `ArchiveError`."""
    for member in members(path, offset):
        yield _record(member, path)


def read_at(path: Path, offset: int, length: int | None = None) -> Record:
    """The record at an offset a capture names."""
    for member in members(path, offset, length or WINDOW_BYTES):
        if length is not None and member.length != length:
            raise damaged(path, offset, f"a record of {member.length} instead of {length} bytes")
        return _record(member, path)
    raise damaged(path, offset, "no record there")


def _record(member: Member, path: Path) -> Record:
    try:
        return record_in(member, path.name)
    except ValueError as error:
        raise damaged(path, member.offset, str(error)) from None


def response_of(record: Record) -> Response:
    """What the server sent, ready to be parsed."""
    head, body = split(record.block)
    truncated = record.fields.get("warc-truncated")
    known = {reason.value: reason for reason in Truncated}
    return Response(
        status_of(head),
        head,
        body,
        header_fields(head),
        known.get(truncated, Truncated.DISCONNECT) if truncated else None,
        is_framed(head, body),
    )


def capture_in(record: Record) -> Capture:
    """Where the record lies, as `WarcWriter.append` said when it wrote it."""
    head, body = split(record.block)
    is_revisit = record.type == "revisit"
    elapsed = record.fields.get("joro-elapsed-ms", "")
    return Capture(
        record.url,
        record.time,
        status_of(head),
        REVISIT if is_revisit else mime_of(head),
        record.fields.get("warc-payload-digest", "") if is_revisit else digest(payload_of(head, body)),
        record.warc,
        record.offset,
        record.length,
        int(elapsed) if elapsed.isdecimal() and len(elapsed) < 16 else 0,
    )


def response_at(directory: Path, capture: Capture, index: CaptureIndex | None = None) -> Response:
    """The response of a capture; where that only says "as before", the one it speaks of.

    When that is not (or no longer) in the archive, or `index` withholds it, what the server said this time,
    without a body. Whoever asks for many hands over an index.
    """
    record = read_at(directory / capture.warc, capture.offset, capture.length)
    response = response_of(record)
    if record.type != "revisit":
        return response
    if index is None:
        from joro.archive.index import CaptureIndex  # 0.03 s, which robots need not pay: they only replay

        index = CaptureIndex(directory)
    whole = index.original(capture)
    if whole is None:
        return response
    return response_of(read_at(directory / whole.warc, whole.offset, whole.length))


def replay(
    directory: Path, since: Position | None = None, *, process: int = 0, prefix: str = "joro"
) -> Iterator[tuple[Record, Position]]:
    """Every capture of one stream written after `since`, each with the position that lies behind it.

    Call again with the last position to go on: an unfinished record at the end will be whole by then.
    """
    stream = stream_of(since.name) if since and since.name else stream_name(prefix, process)
    for name in warcs(directory, stream):
        start = 0
        if since and number_of(name) <= number_of(since.name):
            if name != since.name:
                continue
            start = since.offset
        yield from _replay_file(directory / name, start)


def _replay_file(path: Path, start: int) -> Iterator[tuple[Record, Position]]:
    for record in readable(path, start):
        if record.type in CAPTURES:
            yield record, Position(path.name, record.end)


def readable(path: Path, offset: int = 0) -> Iterator[Record]:
    """Every record from `offset` on that can be read at all; `check` tells of the others."""
    for member in salvage(path, offset, lambda: offsets(path)):
        if isinstance(member, Member):
            with contextlib.suppress(ValueError):
                yield record_in(member, path.name)


def offsets(warc: Path) -> Sequence[int]:
    """Where the index says that captures begin, in order."""
    found = []
    for line in whole_lines(index_of(warc)):
        with contextlib.suppress(ValueError):
            found.append(capture_of(line).offset)
    return sorted(found)
