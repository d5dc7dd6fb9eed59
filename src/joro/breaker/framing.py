"""Where does a message end?

In:    the bytes of one direction of an HTTP/1 connection, in pieces as they arrive.
Out:   how many bytes of each piece belong to the message, whether it is over, whether the connection stays.
Never: changes or holds back a byte; complains: what is not HTTP simply ends when the connection does.
"""

from __future__ import annotations

import re

#: A longer head is relayed all the same, but no longer understood.
HEAD_LIMIT_BYTES = 262_144
_LINE_LIMIT_BYTES = 16_384
#: Longer lengths are too long for anybody, or begin with zeros; Python refuses to read thousands of digits.
_LENGTH_LIMIT_DIGITS = 99

_END = re.compile(rb"\n\r?\n")
_FIELDS = re.compile(
    rb"\n(content-length|transfer-encoding|connection)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE
)
#: Some servers of HTTP/1 call it 2.0.
_STATUS = re.compile(rb"HTTP/(?:1\.([01])|2\.0)[ \t]+(\d{3})(?!\d)")
#: Whatever follows the size, as robots read it: `;name=value` or blanks, mostly.
_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,17})(?![0-9a-fA-F])")


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """The fields that decide where a message ends, lower case; repeated ones joined by commas."""
    found: dict[bytes, bytes] = {}
    for name, value in _FIELDS.findall(head):
        key = name.lower()
        value = value.strip().lower()
        found[key] = found[key] + b"," + value if key in found else value
    return found


class Body:
    """Follows one body: of known length, in chunks, or until the connection ends."""

    __slots__ = ("_behind_chunk", "_chunked", "_left", "_line", "_trailer", "done", "endless")

    def __init__(self, *, length: int = 0, chunked: bool = False, endless: bool = False) -> None:
        self._left = length
        self._chunked = chunked
        self._line = b""
        self._behind_chunk = False  # its line end is still to come
        self._trailer = False
        self.endless = endless
        self.done = not (length or chunked or endless)

    def feed(self, piece: bytes, at: int = 0) -> int:
        """How far into `piece` the body reaches, from `at` on."""
        if self.endless:
            return len(piece)
        if self._chunked:
            return self._chunks(piece, at)
        step = min(self._left, len(piece) - at)
        self._left -= step
        self.done = not self._left
        return at + step

    def _chunks(self, piece: bytes, at: int) -> int:
        while at < len(piece) and not self.done:
            if self._left:
                step = min(self._left, len(piece) - at)
                self._left -= step
                at += step
                continue
            end = piece.find(b"\n", at)
            self._line += piece[at:] if end < 0 else piece[at:end]
            if len(self._line) > _LINE_LIMIT_BYTES:
                self.endless = True
            if end < 0 or self.endless:
                return len(piece)
            at = end + 1
            self._read_line()
            if self.endless:
                return len(piece)
        return at

    def _read_line(self) -> None:
        """One whole line: a size, the end of a chunk, a trailer field, or the empty line at the end."""
        line, self._line = self._line, b""
        is_empty = line in (b"", b"\r")
        if self._trailer:
            self.done = is_empty
        elif self._behind_chunk:
            self._behind_chunk = False
            self.endless = not is_empty
        elif size := _SIZE.match(line):
            self._left = int(size[1], 16)
            self._trailer = self._left == 0
            self._behind_chunk = not self._trailer
        else:
            self.endless = True


def request_body(fields: dict[bytes, bytes]) -> Body | None:
    """The body of a request with these fields; None when nobody could say where it ends."""
    coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
    if coding is not None:
        return Body(chunked=True) if coding == b"chunked" and length is None else None
    if length is None:
        return Body()
    size = _length_of(length)
    return Body(length=size) if size is not None else None


def _length_of(length: bytes) -> int | None:
    return int(length) if length.isdigit() and len(length) <= _LENGTH_LIMIT_DIGITS else None


class Response:
    """Follows one response from its first byte to its last."""

    __slots__ = ("_body", "_head", "_headless", "_lasts", "keep", "started")

    def __init__(self, *, method: bytes) -> None:
        self._head = b""
        self._headless = method == b"HEAD"  # its answer has no body, whatever the fields say
        self._body: Body | None = None
        self._lasts = False  # as long as the connection, by everybody's reading
        self.started = False
        self.keep = False  # once done: the connection can take another request

    @property
    def done(self) -> bool:
        """True when every byte has come."""
        return self._body is not None and self._body.done

    @property
    def is_doubtful(self) -> bool:
        """True when we cannot tell where it ends, and someone else perhaps can."""
        return self._body is not None and self._body.endless and not self._lasts

    def feed(self, piece: bytes) -> int:
        """How many bytes of `piece` belong to the response."""
        self.started = True
        if self._body is not None:
            return self._body.feed(piece)
        before = len(self._head)
        self._head += piece
        while self._body is None:
            end = _END.search(self._head)
            if end is None:
                self._doubt()
                return len(piece)
            head, rest = self._head[: end.end()], self._head[end.end() :]
            before -= len(head)
            self._head = rest
            self._body = self._understand(head)
        return self._body.feed(piece, -before)

    def _doubt(self) -> None:
        """No end of the head in sight: is this HTTP at all?"""
        if not b"HTTP/".startswith(self._head[:5]) or len(self._head) > HEAD_LIMIT_BYTES:
            self._body = Body(endless=True)
            self._head = b""

    def _understand(self, head: bytes) -> Body | None:
        """The body after this head; None when it was an interim one and another head follows."""
        start = _STATUS.match(head)
        if start is None:
            return Body(endless=True)
        status = int(start[2])
        if 100 <= status < 200 and status != 101:
            return None
        self._head = b""
        fields = fields_of(head)
        connection = fields.get(b"connection", b"")
        self.keep = b"keep-alive" in connection if start[1] == b"0" else b"close" not in connection
        self.keep = self.keep and start[1] is not None
        if self._headless or status in (204, 304):
            return Body()
        self._lasts = status == 101 or not fields.keys() & {b"transfer-encoding", b"content-length"}
        return Body(endless=True) if self._lasts else self._framed(fields)

    def _framed(self, fields: dict[bytes, bytes]) -> Body:
        coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
        if coding is not None:
            self.keep = self.keep and length is None  # two lengths: trust neither for what comes after
            return Body(chunked=True) if coding.endswith(b"chunked") else Body(endless=True)
        assert length is not None
        values = {value.strip() for value in length.split(b",")}
        size = _length_of(values.pop()) if len(values) == 1 else None
        return Body(length=size) if size is not None else Body(endless=True)
