"""What goes over the wire?

In:    status, header fields and body, and the host's habits.
Out:   an `Answer`: all bytes of a response in one piece, or a `Play` when the timing is the point.
Never: adds a Date field: a ready answer is served again and again, in every run the same.
"""

from __future__ import annotations

import enum
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate

from joro.testweb.plan import Host

REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    410: "Gone",
    421: "Misdirected Request",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

HTML = "text/html"
CHUNK_BYTES = 4_096


class Stop(enum.Enum):
    """How a play can end before its time."""

    RESET = "reset"  # the connection is torn down
    HANG = "hang"  # nothing more comes until the other side gives up


#: One by one: bytes to send, seconds (real) to wait, or a sudden end.
Play = Iterator[bytes | float | Stop]


@dataclass(slots=True)
class Answer:
    """A response ready to be sent."""

    wire: bytes
    head_bytes: int  # where the body begins in `wire`
    status: int
    page: int = -1  # number of the page it shows
    close: bool = False  # hang up afterwards
    until: float = math.inf  # virtual time at which it grows stale; -inf: never kept
    etag: bytes = b""
    modified: bytes = b""
    unchanged: bytes = b""  # the 304 to send instead
    play: Play | None = None  # sent after `wire`, which may be empty
    target: int = -1  # number of its target in the access log, once it has one


@dataclass(frozen=True)
class Body:
    """A body with what is said about it."""

    content: bytes
    mime: str = HTML
    charset: str = ""  # named in Content-Type when not empty


def http_date(time: float) -> str:
    """A moment as HTTP writes it."""
    return formatdate(time, usegmt=True)


def compose(
    host: Host,
    status: int,
    body: Body,
    fields: tuple[tuple[str, str], ...] = (),
    *,
    gzip: bool = False,
    page: int = -1,
    until: float = -math.inf,
) -> Answer:
    """An answer in the host's own manner: version, connection, transfer coding."""
    content, coding = encoded(host, body.content, gzip=gzip)
    lines = _opening(host, status)
    lines.append(
        f"Content-Type: {body.mime}; charset={body.charset}" if body.charset else f"Content-Type: {body.mime}"
    )
    lines += [f"{name}: {value}" for name, value in (*coding, *fields)]
    head = _block(lines)
    return Answer(
        wire=head + content,
        head_bytes=len(head),
        status=status,
        page=page,
        close=host.connection != "keep-alive",
        until=until,
    )


def unchanged(host: Host, fields: tuple[tuple[str, str], ...]) -> bytes:
    """The whole 304."""
    return _block(_opening(host, 304) + [f"{name}: {value}" for name, value in fields])


def encoded(host: Host, content: bytes, *, gzip: bool) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The content as this host transfers it, and the header fields that say so."""
    if host.transfer == "gzip" and gzip:
        content = deflated(content)
        coding = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return content, (*coding, ("Content-Length", str(len(content))))
    if host.transfer == "chunked" and host.connection != "http/1.0":
        return chunked(content), (("Transfer-Encoding", "chunked"),)
    if host.connection == "http/1.0" and host.number % 2:
        return content, ()  # the end of the connection is the end of the body
    return content, (("Content-Length", str(len(content))),)


def deflated(content: bytes, level: int = 1) -> bytes:
    """A gzip member without a time in it."""
    packer = zlib.compressobj(level, wbits=31)
    return packer.compress(content) + packer.flush()


def chunked(content: bytes) -> bytes:
    """The content cut in chunks."""
    parts = [content[start : start + CHUNK_BYTES] for start in range(0, len(content), CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def _opening(host: Host, status: int) -> list[str]:
    version = "HTTP/1.0" if host.connection == "http/1.0" else "HTTP/1.1"
    lines = [f"{version} {status} {REASONS[status]}", "Server: testweb"]
    if host.connection == "close":
        lines.append("Connection: close")
    return lines


def _block(lines: list[str]) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
