"""How is written down what was found in a capture: its links, its character set, its language?

In:    the facts, and the record they speak of.
Out:   a WARC `metadata` record, one gzip member.
Never: says anything that cannot be found again in the capture itself: the records spare others the finding.

The block is `application/warc-fields`, with the names Heritrix gave them where it has any:

    via: http://www.example.jp/
    hopsFromSeed: 3
    fetchTimeMs: 125
    charsetForLinkExtraction: shift_jis
    language: ja
    outlink: http://www.example.jp/b L a/@href
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isal import igzip_lib

from joro.archive.payload import digest

#: Where a link of each kind stands, as Heritrix writes it: kind of hop, element and attribute.
_CONTEXTS = {
    "a": "L a/@href",
    "area": "L area/@href",
    "frame": "E frame/@src",
    "link": "L link/@href",
    "refresh": "L meta/@content",
    "redirect": "R Location:",
    "canonical": "L link[@rel='canonical']/@href",
}
_LEVEL = 2


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found in a capture, and how we came to it; empty or 0 is not known."""

    links: tuple[tuple[str, str], ...] = ()  # canonical URL and kind, as `model.Link` has them
    charset: str = ""
    language: str = ""  # BCP 47
    via: str = ""  # URL of the page where its link was found
    hops: int | None = None  # links followed from the nearest seed
    elapsed_ms: int = 0

    def __bool__(self) -> bool:
        return self != Facts()


def metadata_record(url: str, date: str, record_id: str, response_id: str, facts: Facts) -> bytes:
    """The record, ready to be appended behind the one it speaks of.

    `date` is that record's `warc_date`, `response_id` its WARC-Record-ID.
    """
    block = metadata_block(facts)
    header = (
        "WARC/1.1\r\nWARC-Type: metadata\r\n"
        f"WARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Concurrent-To: {response_id}\r\nWARC-Refers-To: {response_id}\r\n"
        f"WARC-Block-Digest: {digest(block)}\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    content = b"".join((header.encode(), block, b"\r\n\r\n"))
    record: bytes = igzip_lib.compress(content, level=_LEVEL, flag=igzip_lib.COMP_GZIP)
    return record


def metadata_block(facts: Facts) -> bytes:
    """The fields, one a line."""
    return "".join(f"{name}: {value}\r\n" for name, value in _fields(facts)).encode()


def _fields(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.via:
        yield "via", _line(facts.via)
    if facts.hops is not None:
        yield "hopsFromSeed", str(facts.hops)
    if facts.elapsed_ms:
        yield "fetchTimeMs", str(facts.elapsed_ms)
    if facts.charset:
        yield "charsetForLinkExtraction", _line(facts.charset)
    if facts.language:
        yield "language", _line(facts.language)
    for url, kind in facts.links:
        yield "outlink", f"{_line(url)} {_CONTEXTS.get(kind, 'L a/@href')}"


def _line(text: str) -> str:
    """The text without anything that would end its line."""
    return " ".join(text.encode(errors="replace").decode().split())
