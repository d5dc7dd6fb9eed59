"""How does one WARC become rows of the tables?

In:    a closed WARC.
Out:   Parquet files with its captures and links, one or more for each day and part of the servers.
Never: holds more rows than some hundred thousand; leaves half a file in a table; writes other bytes for the
       same WARC.

All files of a WARC are written under another name, and take their places when all are whole. Killed in
between, the same files are made and put there again.
"""

from __future__ import annotations

import logging
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joro.archive.names import SUFFIX
from joro.archive.read import CAPTURES as CAPTURE_TYPES
from joro.archive.read import Record, capture_in, readable, response_of
from joro.errors import UsageError
from joro.model import Document, Response
from joro.parse.page import document
from joro.parse.payload import is_html, mime_of, unwrap
from joro.parse.rights import NO_RESERVATION, page_rights
from joro.store.durable import sync
from joro.tables.columns import CAPTURES, COLUMNS, LINKS, Place, capture_row, link_rows, place_of, schema
from joro.url import try_canonical

if TYPE_CHECKING:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

log = logging.getLogger(__name__)

#: Rows of one row group, rows held in all, and files open at a time.
GROUP_ROWS, HELD_ROWS, OPEN_FILES = 50_000, 200_000, 64
#: Where files wait until they are whole.
DRAFTS = ".drafts"

Row = tuple[Any, ...]


def write_warc(
    warc: Path, tables: Path, robot: str, progress: Callable[[int], object] = lambda _bytes: None
) -> list[str]:
    """Put the rows of a WARC into the tables; the names of its files there."""
    drafts = tables / DRAFTS / warc.name.removesuffix(SUFFIX)
    shutil.rmtree(drafts, ignore_errors=True)
    rows = _Rows(drafts, warc.name.removesuffix(SUFFIX))
    place = 0
    try:
        for record in readable(warc):
            if record.type in CAPTURE_TYPES:
                _take(record, robot, rows)
            progress(record.end - place)
            place = record.end
        names = rows.close()
    finally:
        rows.abandon()
    for name in names:
        sync(drafts / name)
        (tables / name).parent.mkdir(parents=True, exist_ok=True)
        (drafts / name).replace(tables / name)
    shutil.rmtree(drafts, ignore_errors=True)
    return names


def _take(record: Record, robot: str, rows: _Rows) -> None:
    url = try_canonical(record.url)  # records of other writers may spell it otherwise, or speak of DNS
    if url is None:
        log.warning("left out a record of %s with the URL %.200r", record.warc, record.url)
        return
    record.url = url
    capture, response = capture_in(record), response_of(record)
    found, rights = Document(record.url, "", "", "", ""), NO_RESERVATION
    if record.type != "revisit":
        try:
            found, content = _document(record.url, response, robot)
            rights = page_rights(record.url, response.headers, found.directives, content)
        except Exception as error:  # one page that breaks the parser must not stop all pages behind it
            log.warning("without its text: %s: %r", record.url, error)
    links = list(link_rows(capture, response, found)) if record.type != "revisit" else []
    rows.add(place_of(LINKS, capture), links)
    rows.add(place_of(CAPTURES, capture), [capture_row(capture, response, found, str(rights), len(links))])


def _document(url: str, response: Response, robot: str) -> tuple[Document, bytes]:
    """The readable form and what it was read from; of what cannot be text only the header is looked at."""
    headers = response.headers
    mime, content_type, x_robots = (
        mime_of(headers),
        headers.get("content-type", ""),
        headers.get("x-robots-tag", ""),
    )
    if not is_html(mime, b"<p>") and mime != "text/plain":
        return document(b"", url, mime or "application/octet-stream", x_robots, robot), b""
    body = unwrap(response)
    if body.undecoded and not is_html("", body.content):
        return document(b"", url, "application/octet-stream", x_robots, robot), b""
    return document(body.content, url, content_type, x_robots, robot), body.content


class _Rows:
    """Rows on their way into files, by partition."""

    def __init__(self, drafts: Path, stem: str) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ModuleNotFoundError:
            raise UsageError("tables need pyarrow", remedy="run: pip install 'joro[tables]'") from None
        self._drafts = drafts
        self._stem = stem
        self._held: defaultdict[Place, list[Row]] = defaultdict(list)
        self._count = 0
        self._files: dict[Place, pq.ParquetWriter] = {}
        self._begun: defaultdict[Place, int] = defaultdict(int)
        self._names: list[str] = []

    def add(self, place: Place, rows: list[Row]) -> None:
        held = self._held[place]
        held += rows
        self._count += len(rows)
        if len(held) >= GROUP_ROWS:
            self._write(place)
        elif self._count >= HELD_ROWS:
            for each in sorted(self._held):
                self._write(each)

    def close(self) -> list[str]:
        """Bring everything to the disk; the names of all files."""
        for place in sorted(self._held):
            self._write(place)
        self.abandon()
        return self._names

    def abandon(self) -> None:
        """Let go of the files, whole or not."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _write(self, place: Place) -> None:
        """One row group, sorted: whoever looks for a page skips the groups it cannot be in."""
        import pyarrow as pa

        rows = sorted(self._held.pop(place))
        self._count -= len(rows)
        if not rows:
            return
        columns = dict(zip(COLUMNS[place.table], zip(*rows, strict=True), strict=True))
        table = pa.table({name: list(values) for name, values in columns.items()}, schema=schema(place.table))
        self._file(place).write_table(table)

    def _file(self, place: Place) -> pq.ParquetWriter:
        """Its file, the latest at the end. A WARC of many days would have too many open: then one ends."""
        import pyarrow.parquet as pq

        file = self._files.pop(place, None)
        if file is None:
            if len(self._files) >= OPEN_FILES:
                self._files.pop(next(iter(self._files))).close()
            self._begun[place] += 1
            name = f"{place.folder}/{self._stem}-{self._begun[place]}.parquet"
            self._names.append(name)
            (self._drafts / name).parent.mkdir(parents=True, exist_ok=True)
            file = pq.ParquetWriter(self._drafts / name, schema(place.table), compression="zstd")
        self._files[place] = file
        return file
