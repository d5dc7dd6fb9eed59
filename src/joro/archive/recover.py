"""What did the last robot leave behind when it was killed?

In:    WARCs that were never closed.
Out:   the same, ending at their last whole record, with a sorted index: as if closed in peace.
Never: cuts off a whole record; shortens a WARC that was closed.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from joro.archive.cdx import capture_of, index_of, line_of, whole_lines, write_sorted
from joro.archive.members import members
from joro.archive.names import Position, open_index, sorted_index, stream_name, warcs
from joro.archive.read import CAPTURES, capture_in, readable
from joro.errors import ArchiveError

_GZIP_MAGIC = b"\x1f\x8b\x08"


def mend(directory: Path, since: Position | None = None, *, process: int = 0, prefix: str = "joro") -> int:
    """Close every WARC of a stream that a crash left open; the bytes cut off torn ends.

    `since`, a position known to be good, spares reading what lies before it.
    """
    cut = 0
    for name in warcs(directory, stream_name(prefix, process)):
        if sorted_index(directory / name).exists():
            open_index(directory / name).unlink(missing_ok=True)  # killed between sorting and tidying up
        else:
            cut += close(directory / name, since.offset if since and since.name == name else 0)
    return cut


def close(warc: Path, good: int = 0) -> int:
    """Cut a WARC at its last whole record, complete its index and sort it; the bytes cut off.

    A file killed before its first record was whole holds nothing, and goes.
    """
    lines = _trusted_lines(warc)
    indexed = max((_end(line) for line in lines), default=0)
    cut = mend_file(warc, from_offset=max(indexed, good))
    if warc.stat().st_size == 0:
        open_index(warc).unlink(missing_ok=True)
        warc.unlink()
        return cut
    write_sorted(warc, lines + _lines_from(warc, indexed))
    return cut


def mend_file(path: Path, from_offset: int = 0) -> int:
    """Cut one WARC at its last whole record after `from_offset`, a record boundary; the bytes cut off."""
    size = path.stat().st_size
    end = from_offset if from_offset <= size else 0
    is_guess = end == 0
    try:
        for member in members(path, end):
            end = member.end
    except ArchiveError:
        pass  # garbage instead of a torn member: what a power cut leaves
    if end == size:
        return 0
    if is_guess:
        _refuse_to_cut_records(path, end)
    os.truncate(path, end)
    return size - end


def rebuild(warc: Path) -> int:
    """Make the index of a closed WARC anew from its records; how many captures it lists."""
    lines = _lines_from(warc, 0)
    write_sorted(warc, lines)
    return len(lines)


def _lines_from(warc: Path, offset: int) -> list[bytes]:
    return [line_of(capture_in(record)) for record in readable(warc, offset) if record.type in CAPTURES]


def _trusted_lines(warc: Path) -> list[bytes]:
    """What the open index knows already; nothing when it knows of bytes the WARC lost in a power cut."""
    lines = whole_lines(index_of(warc))
    try:
        is_right = all(_end(line) <= warc.stat().st_size for line in lines)
    except ValueError:
        is_right = False
    return lines if is_right else []


def _end(line: bytes) -> int:
    capture = capture_of(line)
    return capture.offset + capture.length


def _refuse_to_cut_records(path: Path, start: int) -> None:
    """Without an index a flipped bit in the middle looks like a torn end: see whether records follow."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        place = content.find(_GZIP_MAGIC, start + 1)
        while place >= 0:
            if _is_record(path, place):
                raise ArchiveError(
                    f"{path} is damaged at byte {start}, and whole records follow",
                    remedy="restore it from a copy, or move it out of the archive",
                )
            place = content.find(_GZIP_MAGIC, place + 1)


def _is_record(path: Path, offset: int) -> bool:
    try:
        return next(members(path, offset)).content.startswith(b"WARC/")
    except (ArchiveError, StopIteration):
        return False
