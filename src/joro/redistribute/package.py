"""What exactly is handed over, and how is it known to have arrived whole?

In:    a collection, a selection, and who may have what.
Out:   a package: a WARC that exists only as a list of places in the archive's WARCs, its index, and a
       manifest with the digests of all and of every part.
Never: compresses or copies a record when it makes a package: members are read where they lie, once for their
       digest and once to be sent. Holds more than one package's index in memory; a package has a limit, and
       its manifest says from where the next one goes on.

The same selection of the same captures is the same package, byte for byte, with the same name.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from isal import igzip_lib

from joro import __version__
from joro.archive.cdx import REVISIT, line_of
from joro.archive.far import opened
from joro.archive.hosts import hosts_like
from joro.archive.payload import digest
from joro.archive.times import warc_date
from joro.errors import ArchiveError
from joro.model import Capture
from joro.redistribute.allowed import Allowed
from joro.redistribute.selection import Mark, Selection, is_selected, mark_now, walk
from joro.store.collection import Collection

log = logging.getLogger(__name__)

#: The name of the WARC in a package's index; a receiver gives it one of its own.
WARC_NAME = "package.warc.gz"
MANIFEST, INDEX, HEAD, SPANS, WARCS = (
    "manifest.json",
    "index.cdxj.gz",
    "head.warc.gz",
    "spans.npy",
    "warcs.json",
)
#: What is sent again, at most, when a byte was wrong.
PART_BYTES = 16 << 20
_SPAN = np.dtype([("warc", "u4"), ("offset", "u8"), ("length", "u8")])


@dataclass(frozen=True)
class Limits:
    """How much one package may be, and how many lines of the index are read for it."""

    bytes: int = 1_000_000_000
    captures: int = 200_000
    lines: int = 1_000_000


NO_LIMITS = Limits()


class Manifest(msgspec.Struct, frozen=True):
    """What a package holds, and how to know that all of it is there."""

    package: str  # its name; "" where nothing is left to be had
    source: str  # the collection's name
    captures: int
    bytes: int  # of the WARC
    sha256: str
    parts: list[str]  # the SHA-256 of each `part_bytes`
    part_bytes: int
    index_bytes: int
    index_sha256: str
    purposes: list[str]  # for which every capture in it is free
    scope: str  # hosts its receiver is confined to
    selection: Selection
    mark: Mark  # where the next package, or a later difference, begins
    more: bool  # the selection has more than fitted


class Digests:
    """The digest of all bytes, and of each part of them."""

    def __init__(self, part_bytes: int = PART_BYTES) -> None:
        self.part_bytes = part_bytes
        self.size = 0
        self.whole = hashlib.sha256()
        self.parts: list[str] = []
        self._part = hashlib.sha256()

    def update(self, content: bytes) -> None:
        self.whole.update(content)
        view = memoryview(content)
        while view:
            room = self.part_bytes - self.size % self.part_bytes
            self._part.update(view[:room])
            self.size += len(view[:room])
            view = view[room:]
            if self.size % self.part_bytes == 0:
                self._close_part()

    def close(self) -> list[str]:
        """All parts, the last one perhaps shorter."""
        if len(self.parts) * self.part_bytes < self.size:
            self._close_part()
        return self.parts

    def _close_part(self) -> None:
        self.parts.append(self._part.hexdigest())
        self._part = hashlib.sha256()


class Maker:
    """Makes the packages of one collection."""

    def __init__(self, collection: Collection, folder: Path, limits: Limits = NO_LIMITS) -> None:
        self._collection = collection
        self._folder = folder
        self._limits = limits

    def make(self, selection: Selection, allowed: Allowed, scope: str = "") -> Manifest:
        """The next package of a selection, in the folder from now on; `scope`: what its receiver may have."""
        draft = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        try:
            manifest = self._make(draft, selection, allowed, scope)
            if manifest.package and not (self._folder / manifest.package).exists():
                (draft / MANIFEST).write_bytes(msgspec.json.encode(manifest))
                draft.rename(self._folder / manifest.package)
            elif manifest.package:
                os.utime(self._folder / manifest.package)  # wanted again: it is kept longer
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return manifest

    def _make(self, draft: Path, selection: Selection, allowed: Allowed, scope: str) -> Manifest:
        directory = self._collection.archive
        upto = mark_now(directory) if selection.upto is None else selection.upto
        fixed = msgspec.structs.replace(selection, upto=upto)
        mark, more, lines = dict(selection.after), False, 0
        filling = _Filling(self._source, allowed, self._limits, directory, fixed)
        for step in walk(directory, fixed, hosts_like(scope, "the party's hosts")):
            stopped = filling.take(directory / step.warc, step.captures)
            if stopped is not None:
                mark[step.stream], more = (step.number, stopped), True
                break
            mark[step.stream] = min((step.number + 1, 0), upto.get(step.stream, (step.number + 1, 0)))
            lines += step.lines
            if lines >= self._limits.lines:
                more = True
                break
        if not more:
            mark.update(upto)
        return filling.close(draft, allowed, scope, selection, mark, more)

    @property
    def _source(self) -> str:
        return self._collection.path.resolve().name


class _Filling:
    """A package that grows."""

    def __init__(
        self, source: str, allowed: Allowed, limits: Limits, directory: Path, selection: Selection
    ) -> None:
        self._directory = directory
        self._selection = selection
        self._originals: set[tuple[str, int]] = set()  # that came along
        self._source = source
        self._allowed = allowed
        self._limits = limits
        self._head = b""
        self._digests = Digests()
        self._spans: list[tuple[int, int, int]] = []
        self._lines: list[bytes] = []
        self._warcs: list[str] = []

    def take(self, warc: Path, captures: list[Capture]) -> int | None:
        """All captures of a WARC that may go; the offset of the first that found no room."""
        if not captures:
            return None
        with opened(warc) as file:
            for capture in captures:
                if self._is_full(capture.length):
                    return capture.offset
                if self._allowed.orders.is_withheld(capture):
                    continue  # its bytes may have been erased already
                try:
                    file.seek(capture.offset)
                    record = _exactly(file.read, capture.length, warc)
                    if self._allowed.by_owner(capture, record):
                        self._add(warc.name, capture, record)
                        if self._selection.whole and capture.mime == REVISIT:
                            self._add_original(capture)
                except ArchiveError as error:
                    log.warning("left out of a package: %s", error)
        return None

    def _is_full(self, length: int) -> bool:
        size = self._digests.size
        return bool(size) and (
            size + length > self._limits.bytes or len(self._lines) >= self._limits.captures
        )

    def _add(self, warc: str, capture: Capture, record: bytes) -> None:
        if not self._head:
            self._head = _warcinfo(self._source, capture)
            self._digests.update(self._head)
        if not self._warcs or self._warcs[-1] != warc:
            self._warcs.append(warc)
        self._lines.append(
            line_of(msgspec.structs.replace(capture, warc=WARC_NAME, offset=self._digests.size))
        )
        self._spans.append((len(self._warcs) - 1, capture.offset, capture.length))
        self._digests.update(record)

    def _add_original(self, revisit: Capture) -> None:
        """The capture that a revisit speaks of, unless it belongs to the selection itself."""
        whole = self._allowed.index.original(revisit)
        if whole is None or is_selected(whole, self._selection):
            return
        if (whole.warc, whole.offset) not in self._originals:
            self._originals.add((whole.warc, whole.offset))
            warc = self._directory / whole.warc
            with opened(warc) as file:
                file.seek(whole.offset)
                self._add(whole.warc, whole, _exactly(file.read, whole.length, warc))

    def close(
        self, draft: Path, allowed: Allowed, scope: str, selection: Selection, mark: Mark, more: bool
    ) -> Manifest:
        index = _packed(b"".join(sorted(self._lines)))
        if self._lines:
            (draft / INDEX).write_bytes(index)
            (draft / HEAD).write_bytes(self._head)
            (draft / WARCS).write_bytes(msgspec.json.encode(self._warcs))
            np.save(draft / SPANS, np.array(self._spans, _SPAN))
        manifest = Manifest(
            "",
            self._source,
            len(self._lines),
            self._digests.size,
            self._digests.whole.hexdigest(),
            self._digests.close(),
            self._digests.part_bytes,
            len(index),
            hashlib.sha256(index).hexdigest(),
            sorted(purpose.value for purpose in allowed.purposes),
            scope,
            selection,
            mark,
            more,
        )
        name = hashlib.sha256(msgspec.json.encode(manifest)).hexdigest()[:32] if self._lines else ""
        return msgspec.structs.replace(manifest, package=name)


def _exactly(read: Callable[[int], bytes], length: int, warc: Path) -> bytes:
    content = read(length)
    while len(content) < length:
        more = read(length - len(content))
        if not more:
            raise ArchiveError(f"{warc} ends inside a record", remedy="run: joro archive check")
        content += more
    return content


def _packed(content: bytes) -> bytes:
    packed: bytes = igzip_lib.compress(content, level=2, flag=igzip_lib.COMP_GZIP)
    return packed


def _warcinfo(source: str, first: Capture) -> bytes:
    """The record a WARC begins with; the same for the same package."""
    block = (
        f"software: Joro/{__version__}\r\nformat: WARC File Format 1.1\r\n"
        f"description: captures handed over by the collection {' '.join(source.split())}\r\n"
    ).encode()
    record_id = uuid.uuid5(uuid.NAMESPACE_URL, f"{source} {first.url} {first.time}")
    header = (
        f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:{record_id}>\r\n"
        f"WARC-Date: {warc_date(first.time)}\r\nWARC-Block-Digest: {digest(block)}\r\n"
        f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
    ).encode()
    return _packed(header + block + b"\r\n\r\n")
