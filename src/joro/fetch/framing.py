"""Where does an HTTP/1 response's head end, and where its body?

In:    bytes as they come from a connection.
Out:   the end of the head, what is wrong with it, and how many bytes belong to the body.
Never: changes a byte, takes off a chunk frame, or knows a socket.

What is accepted is what libcurl accepts, so that it does not matter who fetched a page; the few places where
we are better are named in tests/fetch/test_agreement.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Some servers of HTTP/1 call it 2.0.
_STATUS = re.compile(rb"HTTP/(?:1\.[01]|2\.0)[ \t]([1-9][0-9]{2})(?=[ \t\r\n])")
_PREFIX = b"HTTP/"
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,17}(?![0-9A-Fa-f])")
#: A run of chunks of less than 16 bytes: only those who mean us harm send many, and this is thirty times as
#: fast as reading them one by one (16 MB of one-byte chunks would keep us busy for seven seconds).
_TINY = re.compile(b"(?s:%b|)*+" % b"|".join(b"%x\r\n.{%d}\r\n" % (size, size) for size in range(1, 16)))
_LONGEST = 2**63 - 1
#: Longer lines between chunks are nobody's extensions but an attempt at our memory.
_LINE_LIMIT = 16_384
Piece = memoryview | bytes


def head_end(received: bytearray, start: int, end: int) -> int:
    """Where the first empty line of `received[:end]` ends, looking from `start` on; -1: it has not come."""
    crlf = received.find(b"\n\r\n", start, end)
    bare = received.find(b"\n\n", start, end if crlf < 0 else crlf + 1)
    if bare >= 0:
        return bare + 2
    return crlf + 3 if crlf >= 0 else -1


def may_be_http(start: bytes | bytearray) -> bool:
    """Whether a response can begin like this; also of a few bytes."""
    return start[:5] == _PREFIX[: len(start)]


def status_of(head: bytes) -> int:
    """The status code; 0: this is no HTTP/1."""
    found = _STATUS.match(head)
    return int(found[1]) if found else 0


def flaw_of(head: bytes | bytearray) -> str:
    """What makes the complete lines of `head` no HTTP/1; "" if nothing does."""
    lines = bytes(head).split(b"\n")[:-1]
    if not may_be_http(head) or (lines and not _STATUS.match(lines[0] + b"\n")):
        return "malformed status line"
    for number, line in enumerate(lines):
        if b"\0" in line:
            return "NUL byte in header"
        if b"\r" in line[:-1]:
            return "carriage return in header"
        if number and b":" not in line and line not in (b"", b"\r") and not _is_folded(line, number):
            return "header without colon"
    return ""


def _is_folded(line: bytes, number: int) -> bool:
    """It goes on with the field before it; behind the status line there is none."""
    return number > 1 and line[:1] in (b" ", b"\t")


class Length:
    """A body of so many bytes."""

    __slots__ = ("_left", "flaw", "is_done")
    ends_with_connection = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_done = not length
        self.flaw = ""

    def take(self, piece: Piece) -> int:
        """How much of `piece` belongs to the body."""
        size = len(piece)
        if size < self._left:
            self._left -= size
            return size
        self.is_done = True
        return self._left


class ToTheEnd:
    """A body that lasts as long as the connection."""

    __slots__ = ("flaw", "is_done")
    ends_with_connection = True

    def __init__(self) -> None:
        self.is_done = False
        self.flaw = ""

    def take(self, piece: Piece) -> int:
        """All of it belongs to the body."""
        return len(piece)


class Chunks:
    """A body in chunks, each with its size before it; then trailer fields, then an empty line."""

    __slots__ = ("_left", "_line", "_read_line", "flaw", "is_done")
    ends_with_connection = False

    def __init__(self) -> None:
        self._left = 0  # of the present chunk
        self._line = b""  # the beginning of a line whose end has not come
        self._read_line = self._read_size
        self.is_done = False
        self.flaw = ""

    def take(self, piece: Piece) -> int:
        """How much of `piece` belongs to the body: all of it, when there is a flaw."""
        received, position = bytes(piece), 0
        while position < len(received) and not self.is_done:
            if self._left:
                step = min(self._left, len(received) - position)
                self._left -= step
            elif (
                self._read_line == self._read_size
                and not self._line
                and (tiny := _TINY.match(received, position))
                and tiny.end() > position
            ):
                step = tiny.end() - position
            else:
                step = self._take_line(received, position)
            if self.flaw:
                return len(received)
            position += step
        return position

    def _take_line(self, received: bytes, start: int) -> int:
        end = received.find(b"\n", start) + 1
        self._line += received[start : end or len(received)]
        if len(self._line) > _LINE_LIMIT:
            self.flaw = "endless line between chunks"
        if end:
            line, self._line = self._line, b""
            self._read_line(line)
        return (end or len(received)) - start

    def _read_size(self, line: bytes) -> None:
        found = _SIZE.match(line)
        size = int(found[0], 16) if found else -1
        if not 0 <= size <= _LONGEST:
            self.flaw = "malformed chunk size"
        self._left = size
        self._read_line = self._read_end if size else self._read_trailer

    def _read_end(self, line: bytes) -> None:
        if line not in (b"\r\n", b"\n"):
            self.flaw = "chunk longer than its size"
        self._read_line = self._read_size

    def _read_trailer(self, line: bytes) -> None:
        if line in (b"\r\n", b"\n"):
            self.is_done = True
        elif b":" not in line or b"\r" in line[:-2]:
            self.flaw = "malformed trailer"


Framing = Length | ToTheEnd | Chunks


def framing_of(status: int, fields: Mapping[str, str]) -> Framing | None:
    """How the body of a final response ends; None: its fields contradict themselves."""
    if status in (204, 304):
        return Length(0)
    value = fields.get("content-length")
    size = _LONGEST + 1 if value is None else _length(value)
    if size < 0:
        return None
    codings = fields.get("transfer-encoding")
    if codings is not None:
        is_chunked = any(each.strip() == "chunked" for each in codings.lower().split(","))
        return Chunks() if is_chunked else ToTheEnd()
    return Length(size) if size <= _LONGEST else ToTheEnd()


def _length(value: str) -> int:
    """Several alike are one; -1: it is none, or they differ."""
    if value.isdecimal() and value.isascii() and len(value) < 19:
        return int(value)
    sizes = {each.strip() for each in value.split(",")}
    if not all(each.isascii() and each.isdecimal() for each in sizes):
        return -1
    # Python refuses to read thousands of digits; so many are too long for anybody.
    lengths = {int(each) if len(each) < 100 else _LONGEST + 1 for each in sizes}
    return lengths.pop() if len(lengths) == 1 else -1
