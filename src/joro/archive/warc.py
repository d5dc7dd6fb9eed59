"""How is a visit written down so that any WARC reader understands it?

In:    visits that were answered.
Out:   WARC/1.1 files of one gzip member per record, each with its CDXJ index; where each capture lies.
Never: changes what the server sent; appends to a file of an earlier run; leaves more than a torn tail
       behind, whatever moment it is killed.

Records are put together here and compressed by ISA-L rather than through a WARC library: more than four
times as fast as warcio, index included (bench/archive.py).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from isal import igzip_lib, isal_zlib

from joro import __version__
from joro.archive.cdx import REVISIT, line_of, whole_lines, write_sorted
from joro.archive.growing import GrowingFile
from joro.archive.metadata import Facts, metadata_record
from joro.archive.names import Position, number_of, open_index, stream_name, warc_name, warcs
from joro.archive.payload import digest, is_framed, mime_of, payload_pieces
from joro.archive.recover import mend
from joro.archive.times import stamp, warc_date
from joro.clock import Clock
from joro.model import Capture, Known, Response, Visit

#: ISA-L's best trade: level 3 costs 1.6 times as much for 0.4 % fewer bytes, level 0 saves a fifth of the
#: time for a third more bytes.
LEVEL = 2
#: A block this small (a request) is not worth the tables that levels above 0 begin with: a quarter of the
#: time for 150 bytes more.
SMALL_BYTES = 1_024
#: A longer block is compressed piece by piece and never copied as a whole: a body may be as long as
#: `fetch.body_limit_bytes`, and two copies of it were most of the memory that hostile servers could take.
PIECE_BYTES = 1_000_000
#: When more waits for a flush it is made at once: the archive may be ahead of the frontier.
PENDING_LIMIT_BYTES = 4_000_000

#: A head whose end every reader finds at the same place: CR LF line ends, no line that is only blank.
_REGULAR_HEAD = re.compile(rb"(?:[ \t]*[!-~][^\r\n]*\r\n)+\r\n")
#: As libcurl writes it. Who says HTTP/2.0 is a server of HTTP/1.1 that calls itself so.
_NEWER_HTTP = re.compile(rb"HTTP/([23])(?=[ \r\n])")


class WarcWriter:
    """Writes one stream of WARCs into `directory`.

    `append` fills memory, up to a limit; `flush` makes everything appended safe, even against a power cut.
    """

    def __init__(
        self,
        directory: Path,
        *,
        limit_bytes: int,
        clock: Clock,
        robot: str,
        prefix: str = "joro",
        process: int = 0,
    ) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._robot = robot
        self._stream = stream_name(prefix, process)
        mend(directory, process=process, prefix=prefix)
        earlier = warcs(directory, self._stream)
        self._number = number_of(earlier[-1]) if earlier else 0
        size = (directory / earlier[-1]).stat().st_size if earlier else 0
        self._position = Position(earlier[-1] if earlier else "", size)
        self._ids = _RecordIds()
        self._warc: GrowingFile | None = None
        self._index: GrowingFile | None = None

    @property
    def position(self) -> Position:
        """The end of what is safe."""
        return self._position

    def append(self, visit: Visit, facts: Facts | None = None) -> Capture:
        """Take the answer to a visit into the archive; it lies there safely after the next `flush`.

        What was found in it may be written down beside it.
        """
        response = visit.response
        assert response is not None, f"nothing to archive: {visit.outcome}"
        if self._warc is None or self._index is None:
            self._warc, self._index = self._begin()
        date = warc_date(visit.time)
        record_id = self._ids.next()
        offset = self._warc.end
        head, protocol = _as_http1(response.head)
        payload_digest = digest(*payload_pieces(head, response.body))
        profile = _profile(response, payload_digest, visit.known)
        if profile and visit.known is not None:
            pieces: Iterable[bytes] = [
                _revisit_record(visit, visit.known, profile, (head, protocol), record_id, date)
            ]
            payload_digest = visit.known.digest
        else:
            pieces = _response_record(visit, response, (head, protocol), payload_digest, record_id, date)
        for piece in pieces:
            self._warc.append(piece)
        length = self._warc.end - offset
        if visit.request:
            self._warc.append(_request_record(visit, self._ids.next(), record_id, date))
        if facts is not None:
            self._warc.append(metadata_record(visit.page.url, date, self._ids.next(), record_id, facts))
        capture = Capture(
            visit.page.url,
            round(visit.time * 1e6) / 1e6,  # as precise as the record, so that both agree
            response.status,
            REVISIT if profile else mime_of(response.head),
            payload_digest,
            self._warc.path.name,
            offset,
            length,
            elapsed_ms(visit),
        )
        self._index.append(line_of(capture, date))
        if self._warc.pending_bytes > PENDING_LIMIT_BYTES:
            self.flush()
        return capture

    def flush(self) -> Position:
        """Bring everything to the disk; the index last, so that it never knows of bytes that are not there.

        On a full disk a `DiskFull` is raised, the files end where they ended before, and a later flush
        tries again.
        """
        if self._warc is not None and self._index is not None:
            self._warc.flush()
            self._index.flush()
            self._position = Position(self._warc.path.name, self._warc.size)
            if self._warc.size >= self._limit_bytes:
                self.rotate()
        return self._position

    def rotate(self) -> None:
        """Close the file at hand, if any; the next record begins another."""
        if self._warc is None or self._index is None:
            return
        self._warc.flush()
        self._index.flush()
        self._position = Position(self._warc.path.name, self._warc.size)
        # Before the files are let go: should the disk be full, we go on with them.
        write_sorted(self._warc.path, whole_lines(self._index.path.read_bytes()))
        self._warc.close()
        self._index.close()
        self._warc = self._index = None

    def close(self) -> None:
        """Flush, and close the file; may be called again."""
        self.flush()
        self.rotate()

    def _begin(self) -> tuple[GrowingFile, GrowingFile]:
        self._number += 1
        date = warc_date(self._clock.now())
        warc = GrowingFile(self._directory / warc_name(self._stream, stamp(date), self._number), durable=True)
        warc.append(_warcinfo_record(warc.path.name, self._ids.next(), date, self._robot))
        return warc, GrowingFile(open_index(warc.path), durable=False)


class _RecordIds:
    """UUIDs that count on from a random one: 74 random bits tell writers apart, 48 the records of one."""

    def __init__(self) -> None:
        first = str(uuid.uuid4())
        self._start = f"<urn:uuid:{first[:24]}"
        self._count = int(first[24:], 16) >> 1  # with room to count

    def next(self) -> str:
        self._count += 1
        return f"{self._start}{self._count:012x}>"


def _record(kind: str, record_id: str, date: str, fields: str, block: bytes) -> bytes:
    return b"".join(_pieces(kind, record_id, date, fields, block))


def _pieces(kind: str, record_id: str, date: str, fields: str, *block: bytes) -> Iterable[bytes]:
    """A record: one gzip member, in one piece or, if it is long, in several."""
    size = sum(map(len, block))
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n{fields}"
        f"Content-Length: {size}\r\n\r\n"
    ).encode()
    parts = (header, *block, b"\r\n\r\n")
    if size > PIECE_BYTES:
        return _compressed(parts)
    level = LEVEL if size > SMALL_BYTES else 0
    return [igzip_lib.compress(b"".join(parts), level=level, flag=igzip_lib.COMP_GZIP)]


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    packer = isal_zlib.compressobj(LEVEL, wbits=31)
    for part in parts:
        whole = memoryview(part)
        for start in range(0, len(part), PIECE_BYTES):
            yield packer.compress(whole[start : start + PIECE_BYTES])
    yield packer.flush()


def elapsed_ms(visit: Visit) -> int:
    """How long the download took, at least a millisecond; 0: nobody knows, as of captures of others."""
    return max(1, round(visit.elapsed_s * 1e3)) if visit.elapsed_s > 0.0 else 0


def _field(name: str, value: str) -> str:
    """One line of a WARC header, none for an empty value."""
    return f"{name}: {value}\r\n" if value else ""


def _profile(response: Response, payload_digest: str, known: Known | None) -> str:
    """Why the answer need not be written whole: its bytes are known already. "" if they are not."""
    if known is None or response.truncated is not None:
        return ""
    if response.status == 304:
        return "server-not-modified"
    return "identical-payload-digest" if payload_digest == known.digest else ""


def _revisit_record(
    visit: Visit, known: Known, profile: str, head: tuple[bytes, str], record_id: str, date: str
) -> bytes:
    """The head as received, and where the body is to be found."""
    fields = (
        f"WARC-Target-URI: {visit.page.url}\r\n"
        + _field("WARC-IP-Address", visit.address)
        + _field("WARC-Protocol", head[1])
        + f"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/{profile}\r\n"
        + f"WARC-Refers-To-Target-URI: {visit.page.url}\r\n"
        + f"WARC-Refers-To-Date: {warc_date(known.time)}\r\n"
        + f"WARC-Payload-Digest: {known.digest}\r\nWARC-Block-Digest: {digest(head[0])}\r\n"
        + _field("Joro-Elapsed-Ms", str(elapsed_ms(visit) or ""))
        + "Content-Type: application/http;msgtype=response\r\n"
    )
    return _record("revisit", record_id, date, fields, head[0])


def _response_record(
    visit: Visit,
    response: Response,
    spelled: tuple[bytes, str],
    payload_digest: str,
    record_id: str,
    date: str,
) -> Iterable[bytes]:
    """The answer, whole, in pieces.

    WARC-Payload-Digest is left out where readers disagree: for a body in chunk frames the standard says
    "without them", warcio and fastwarc check it with them. The index has the standard's in any case.
    The block's digest stands in for it there; both would cost a tenth of a record more.
    """
    head, protocol = spelled
    is_agreed = _REGULAR_HEAD.fullmatch(head) and not is_framed(head, response.body)
    fields = (
        f"WARC-Target-URI: {visit.page.url}\r\n"
        + _field("WARC-IP-Address", visit.address)
        + _field("WARC-Protocol", protocol)
        + _field("WARC-Truncated", response.truncated.value if response.truncated else "")
        + _field("Joro-Elapsed-Ms", str(elapsed_ms(visit) or ""))
        + (
            f"WARC-Payload-Digest: {payload_digest}\r\n"
            if is_agreed
            else f"WARC-Block-Digest: {digest(head, response.body)}\r\n"
        )
        + "Content-Type: application/http;msgtype=response\r\n"
    )
    return _pieces("response", record_id, date, fields, head, response.body)


def _request_record(visit: Visit, record_id: str, response_id: str, date: str) -> bytes:
    fields = (
        f"WARC-Target-URI: {visit.page.url}\r\n"
        + _field("WARC-IP-Address", visit.address)
        + f"WARC-Concurrent-To: {response_id}\r\nWARC-Block-Digest: {digest(visit.request)}\r\n"
        + "Content-Type: application/http;msgtype=request\r\n"
    )
    return _record("request", record_id, date, fields, visit.request)


def _warcinfo_record(name: str, record_id: str, date: str, robot: str) -> bytes:
    fields = f"WARC-Filename: {name}\r\nContent-Type: application/warc-fields\r\n"
    block = (
        f"software: Joro/{__version__}\r\n"
        "format: WARC File Format 1.1\r\n"
        "conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
        f"http-header-user-agent: {robot}\r\n"
    )
    fields += f"WARC-Block-Digest: {digest(block.encode())}\r\n"
    return _record("warcinfo", record_id, date, fields, block.encode())


def _as_http1(head: bytes) -> tuple[bytes, str]:
    """HTTP/2 and 3 have no status line; what libcurl makes up in its place is written as HTTP/1.1's."""
    newer = _NEWER_HTTP.match(head)
    if newer is None:
        return head, ""
    return b"HTTP/1.1" + head[newer.end() :], f"h{newer[1].decode()}"
