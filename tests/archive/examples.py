"""Visits to archive, spelled as shortly as a test can bear."""

import warnings
from pathlib import Path

from joro.archive.index import CaptureIndex
from joro.archive.payload import header_fields
from joro.archive.warc import WarcWriter
from joro.clock import Clock, FakeClock
from joro.model import Capture, Outcome, Page, Response, Truncated, Visit
from joro.url import server_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # fastwarc 1.1 warns of its own old classes while it loads
    from fastwarc.warc import ArchiveIterator as FastIterator

__all__ = ["CHUNKED_HEAD", "HEAD", "NOON", "URL", "FastIterator", "lookup", "only", "visit", "writer"]

#: 2023-11-14 22:13:20 UTC
NOON = 1_700_000_000.0
URL = "http://www.example.jp/a"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


def visit(
    url: str = URL,
    body: bytes = b"<p>hello",
    *,
    head: bytes = HEAD,
    time: float = NOON,
    request: bytes = b"GET /a HTTP/1.1\r\nHost: www.example.jp\r\n\r\n",
    truncated: Truncated | None = None,
) -> Visit:
    response = Response(200, head, body, header_fields(head), truncated, b"chunked" in head)
    return Visit(Page(url, 0, server_of(url)), time, Outcome.OK, request, response, "192.0.2.7")


def writer(directory: Path, *, limit_bytes: int = 1_000_000, clock: Clock | None = None) -> WarcWriter:
    return WarcWriter(
        directory,
        limit_bytes=limit_bytes,
        clock=clock or FakeClock(NOON),
        robot="joro/0 (+http://x.example/)",
    )


def only(directory: Path) -> Path:
    """The one WARC there is."""
    (warc,) = directory.glob("*.warc.gz")
    return warc


def lookup(directory: Path, url: str) -> list[Capture]:
    """Every version of a page, oldest first."""
    return list(CaptureIndex(directory).versions(url))
