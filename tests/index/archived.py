"""A collection whose archive holds just the answers a test names."""

from pathlib import Path

from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.config import Config
from joro.model import Outcome, Page, Response, Visit
from joro.store.collection import Collection

#: 2026-11-16 05:55:00 UTC, the moment of the first capture unless a test says otherwise.
START = 1_794_808_500.0


def collection_in(directory: Path) -> Collection:
    return Collection.create(directory / "my-web", Config())


def answer(
    url: str,
    body: str | bytes = "",
    *,
    status: int = 200,
    time: float = START,
    content_type: str = "text/html; charset=utf-8",
    fields: str = "",
) -> Visit:
    """One visit that was answered."""
    content = body if isinstance(body, bytes) else body.encode()
    kind = f"Content-Type: {content_type}\r\n" if content_type else ""
    head = f"HTTP/1.1 {status} Fine\r\n{kind}{fields}Content-Length: {len(content)}\r\n\r\n"
    return Visit(Page(url), time, Outcome.OK, response=Response(status, head.encode(), content))


def page(url: str, title: str, text: str, *, time: float = START, head: str = "") -> Visit:
    """An HTML page, title and text as they stand in its source."""
    source = (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body><p>{text}</p></body></html>"
    )
    return answer(url, source, time=time)


def archive(collection: Collection, *visits: Visit, process: int = 0) -> None:
    """Put answers into the archive, as a robot would."""
    writer = WarcWriter(
        collection.archive, limit_bytes=10**9, clock=FakeClock(START), robot="joro", process=process
    )
    for visit in visits:
        writer.append(visit)
    writer.close()
