"""How is it written down where a capture lies?

In:    captures, as they are written.
Out:   CDXJ lines `surt timestamp {json}`, and captures read from them; the index of each WARC.
Never: holds what the WARC does not: every line can be made again from it (`recover.rebuild`).

While a WARC grows its lines are appended to `NAME.cdxj.open`; when it is closed they are sorted into
`NAME.cdxj`, which never changes again. Another process may read at any time; `index.CaptureIndex` finds
captures in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from joro.archive.growing import NO_ROOM, disk_full
from joro.archive.names import open_index, sorted_index
from joro.archive.times import microsecond, stamp, time_of_stamp, warc_date
from joro.model import Capture
from joro.url import surt

#: Stands for the media type of a capture that only says "as before".
REVISIT = "warc/revisit"


class _Fields(msgspec.Struct, omit_defaults=True):
    """The JSON part; texts where other CDXJ tools want texts."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str
    microsecond: int = 0  # ours: two captures within a second stay in order
    elapsed_ms: int = 0  # ours, too: how long the server took


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Fields).decode


def line_of(capture: Capture, date: str = "") -> bytes:
    """The CDXJ line of a capture, line end included; `date` is its `warc_date`, where that is known."""
    date = date or warc_date(capture.time)
    fields = _Fields(
        capture.url,
        capture.mime,
        str(capture.status),
        capture.digest,
        str(capture.length),
        str(capture.offset),
        capture.warc,
        microsecond(date),
        capture.elapsed_ms,
    )
    return b"%b %b %b\n" % (surt(capture.url).encode(), stamp(date).encode(), _encode(fields))


def capture_of(line: bytes) -> Capture:
    """The capture a CDXJ line tells of."""
    _, digits, text = line.split(b" ", 2)
    fields = _decode(text)
    return Capture(
        fields.url,
        time_of_stamp(digits.decode(), fields.microsecond),
        int(fields.status),
        fields.mime,
        fields.digest,
        fields.filename,
        int(fields.offset),
        int(fields.length),
        fields.elapsed_ms,
    )


def whole_lines(content: bytes) -> list[bytes]:
    """The lines that were written to their end."""
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def write_sorted(warc: Path, lines: Iterable[bytes]) -> None:
    """Make the index of a closed WARC: it is there whole, or not at all, and then replaces the open one."""
    index = sorted_index(warc)
    draft = index.with_name(index.name + ".new")
    try:
        with draft.open("wb") as file:
            file.writelines(sorted(lines))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno in NO_ROOM:
            raise disk_full(index, error) from None
        raise
    draft.rename(index)
    open_index(warc).unlink(missing_ok=True)


def index_of(warc: Path) -> bytes:
    """All lines about one WARC, sorted if it is closed; none if it has no index (yet)."""
    # The sorted one twice: between the first and the second look the WARC may have been closed.
    for path in (sorted_index(warc), open_index(warc), sorted_index(warc)):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            continue
    return b""
