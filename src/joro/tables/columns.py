"""Which columns do the tables have, and what stands in them for one capture?

In:    a capture, the response it holds and the document in that.
Out:   one row of `captures`, and a row of `links` for each link.
Never: reads a file; a text where there is none is "", so that nobody has to think of NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from joro.archive.cdx import REVISIT
from joro.archive.payload import digest
from joro.model import Capture, Document, Response
from joro.parse.copies import text_sketch
from joro.parse.missing import is_sent_home, is_soft_404, target_of
from joro.url import host_of, server_of, surt

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

CAPTURES, LINKS = "captures", "links"
TABLES = (CAPTURES, LINKS)
#: Servers fall into so many parts by the hash of their key, each a portion for one process of an analysis.
PARTS = 8
#: A longer anchor is a paragraph that somebody made a link.
ANCHOR_LIMIT_CHARS = 1_000
TITLE_LIMIT_CHARS = 1_000
#: What a column of 32 bits holds.
LONGEST_MS = 2**31 - 1

_EPOCH = datetime(1970, 1, 1)
#: Without a zone: all times are UTC, and every reader shows the same.
_TIME = "timestamp"

#: name → (type, what it is)
COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    CAPTURES: {
        "url": ("string", "of the page, canonical"),
        "surt": ("string", "sort key of the URL: `jp,example)/path`"),
        "host": ("string", "of the URL, without port"),
        "server": ("string", "scheme, host and port"),
        "time": (_TIME, "of the request, UTC"),
        "status": ("int16", "of HTTP"),
        "mime": ("string", "media type as the server said, lower case"),
        "revisit": ("bool", "the same bytes as an earlier capture with this digest, which has all else"),
        "charset": ("string", "that we found the page to be in"),
        "language": ("string", "BCP 47"),
        "title": ("string", "of the page"),
        "text_chars": ("int32", "length of the visible text"),
        "links": ("int32", "how many rows of `links` it has"),
        "rights": ("string", "what the owner reserves in the answer: `noarchive tdm`"),
        "digest": ("string", "of the payload, `sha1:BASE32`"),
        "text_digest": ("string", "of the visible text, the same way"),
        "text_sketch": ("string", "64 bytes in hexadecimal digits, of which near copies have many in common"),
        "soft_404": ("bool", "the page says that there is none, or the redirect leads to the front page"),
        "elapsed_ms": ("int32", "from the request to the last byte; 0: not known"),
        "truncated": ("string", "why the body was cut short: length, time, disconnect"),
        "length": ("int64", "bytes of the record, compressed"),
        "warc": ("string", "file in `archive/`"),
        "offset": ("int64", "of the record in it"),
    },
    LINKS: {
        "source": ("string", "URL of the page the link stands in"),
        "source_host": ("string", "its host"),
        "target": ("string", "URL it leads to, canonical"),
        "target_host": ("string", "its host"),
        "anchor": ("string", "text of the link"),
        "rel": ("string", "as written, lower case"),
        "kind": ("string", "a, area, frame, link, refresh, redirect, canonical"),
        "time": (_TIME, "of the capture it was found in, UTC"),
        "digest": ("string", "of that capture's payload"),
        "warc": ("string", "that capture's file"),
    },
}


class Place(NamedTuple):
    """The partition a row belongs to."""

    table: str
    day: str
    part: int

    @property
    def folder(self) -> str:
        return f"{self.table}/day={self.day}/part={self.part}"


def schema(table: str) -> pa.Schema:
    import pyarrow as pa

    types = {_TIME: pa.timestamp("us"), "bool": pa.bool_()}
    return pa.schema(
        [(name, types.get(kind) or getattr(pa, kind)()) for name, (kind, _) in COLUMNS[table].items()]
    )


def place_of(table: str, capture: Capture) -> Place:
    """A capture's links are where the capture is."""
    part = xxh3_64_intdigest(server_of(capture.url).encode()) % PARTS
    return Place(table, moment(capture.time).strftime("%Y-%m-%d"), part)


def capture_row(
    capture: Capture, response: Response, document: Document, rights: str, links: int
) -> tuple[Any, ...]:
    """In the order of COLUMNS."""
    text = document.text
    return (
        capture.url,
        surt(capture.url),
        host_of(capture.url),
        server_of(capture.url),
        moment(capture.time),
        capture.status,
        "" if capture.mime == REVISIT else capture.mime,
        capture.mime == REVISIT,
        document.charset,
        document.language,
        sound(document.title)[:TITLE_LIMIT_CHARS],
        len(text),
        links,
        rights,
        capture.digest,
        digest(sound(text).encode()) if text else "",
        text_sketch(text).hex(),
        _is_missing(capture, response, document),
        min(capture.elapsed_ms, LONGEST_MS),
        response.truncated.value if response.truncated else "",
        capture.length,
        capture.warc,
        capture.offset,
    )


def _is_missing(capture: Capture, response: Response, document: Document) -> bool:
    if 200 <= response.status < 300:
        return bool(document.text or document.title) and is_soft_404(document.title, document.text)
    return is_sent_home(capture.url, target_of(capture.url, response))


def link_rows(capture: Capture, response: Response, document: Document) -> Iterator[tuple[Any, ...]]:
    """Links of a page that was answered, or the target of a redirect."""
    source = capture.url, host_of(capture.url)
    found = moment(capture.time), capture.digest, capture.warc
    if target := target_of(capture.url, response):
        yield (*source, target, host_of(target), "", "", "redirect", *found)
    if not 200 <= response.status < 300:
        return
    for link in document.links:
        anchor = sound(link.anchor)[:ANCHOR_LIMIT_CHARS]
        yield (*source, link.url, host_of(link.url), anchor, sound(link.rel), link.kind, *found)


def sound(text: str) -> str:
    """The text without halves of characters, which no file can hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def moment(time: float) -> datetime:
    """A time as the tables have it: UTC, and nothing said about it."""
    return _EPOCH + timedelta(microseconds=round(time * 1e6))
