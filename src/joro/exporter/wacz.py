"""How do WARCs become one file that other replay tools open?

In:    a directory of WARCs with their indexes.
Out:   a WACZ 1.1.1 file: WARCs, one sorted index, the list of pages, and digests of all.
Never: changes a WARC; is there half: the file appears under its name when it is whole.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from joro import __version__
from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex
from joro.archive.names import sorted_index, warcs
from joro.archive.read import read_at, response_of
from joro.archive.times import warc_date
from joro.parse.page import outline_of
from joro.parse.payload import is_html
from joro.store.durable import sync

_CHUNK_BYTES = 1 << 20
#: Zip knows no earlier date; the same for all, so that the same captures give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def pack(directory: Path, target: Path, *, title: str, now: float) -> Path:
    """Pack all WARCs of a directory into one WACZ."""
    draft = target.with_name(target.name + ".new")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        package = _Package(archive)
        for name in warcs(directory):
            package.add(f"archive/{name}", _chunks(directory / name))
        package.add("indexes/index.cdx", _index(directory))
        package.add("pages/pages.jsonl", _pages(directory))
        package.close(title, now)
    sync(draft)
    draft.replace(target)
    return target


class _Package:
    """Files in a zip, and their digests."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, str | int]] = []

    def add(self, path: str, chunks: Iterable[bytes]) -> None:
        digest, size = hashlib.sha256(), 0
        with self._archive.open(_entry(path), "w", force_zip64=True) as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        name = path.rpartition("/")[2]
        self._resources.append(
            {"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}
        )

    def close(self, title: str, now: float) -> None:
        package = {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": title,
            "software": f"Joro/{__version__}",
            "created": warc_date(now)[:19] + "Z",
            "resources": self._resources,
        }
        content = json.dumps(package, indent=2, ensure_ascii=False).encode()
        self._archive.writestr(_entry("datapackage.json"), content)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"}
        self._archive.writestr(_entry("datapackage-digest.json"), json.dumps(digest, indent=2))


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, _DATE)
    entry.external_attr = 0o644 << 16
    return entry


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _index(directory: Path) -> Iterator[bytes]:
    """The lines of all indexes, sorted."""
    files = [sorted_index(directory / name).open("rb") for name in warcs(directory)]
    try:
        yield from heapq.merge(*files)
    finally:
        for file in files:
            file.close()


def _pages(directory: Path) -> Iterator[bytes]:
    """One line for each capture of a page that can be read."""
    yield _line({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"})
    for number, capture in enumerate(CaptureIndex(directory).all(), 1):
        if capture.status != 200 or capture.mime == REVISIT or not is_html(capture.mime, b"<p>"):
            continue
        record = read_at(directory / capture.warc, capture.offset, capture.length)
        title = outline_of(capture.url, response_of(record)).title
        page = {"id": str(number), "url": capture.url, "ts": warc_date(capture.time)[:19] + "Z"}
        yield _line(page | ({"title": title} if title else {}))


def _line(fields: dict[str, str]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
