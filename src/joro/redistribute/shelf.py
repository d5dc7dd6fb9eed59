"""Which packages are there, and may their bytes still be sent?

In:    the folder of packages, and the orders.
Out:   a package by its name; any range of its bytes.
Never: sends a byte of a package in which a capture has been withheld since it was made: the package is thrown
       away, and a new one has to be asked for. Keeps one longer than a week after it was last made.
Paper: S1, 5.4.1: daily differences are kept for a week.
"""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np

from joro.archive.cdx import capture_of
from joro.archive.far import Reader, opened
from joro.errors import ArchiveError
from joro.model import DAY_S
from joro.redistribute.package import HEAD, INDEX, MANIFEST, SPANS, WARCS, Manifest
from joro.store.collection import Collection
from joro.store.orders import OrderBook, Orders

KEPT_S = 7 * DAY_S
#: Bytes sent at a time; between two pieces an order may come.
PIECE_BYTES = 1 << 20
#: Packages whose places are held in memory, some 5 MB each.
OPEN_LIMIT = 16
#: In a package's folder: for whom it was made.
PARTIES = "parties"
_NAME = re.compile("[0-9a-f]{32}")


class Withdrawn(Exception):
    """A capture in the package must not be shown any more."""


class Package:
    """One package, ready to be sent."""

    def __init__(self, folder: Path, archive: Path) -> None:
        self.folder = folder
        self.manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        self._archive = archive
        self._head = (folder / HEAD).read_bytes()
        self._warcs: list[str] = msgspec.json.decode((folder / WARCS).read_bytes())
        self._spans = np.load(folder / SPANS)
        self._ends = len(self._head) + np.cumsum(self._spans["length"].astype(np.int64))

    def pieces(self, start: int, end: int, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
        """The bytes of the WARC from `start` on and before `end`."""
        waiting: list[bytes] = []
        size = 0
        for content in self._records(start, end):
            waiting.append(content)
            size += len(content)
            if size >= piece_bytes:
                yield b"".join(waiting)
                waiting, size = [], 0
        if waiting:
            yield b"".join(waiting)

    def index(self, start: int, end: int) -> Iterator[bytes]:
        """The same of the index."""
        with (self.folder / INDEX).open("rb") as file:
            file.seek(start)
            while start < end and (content := file.read(min(PIECE_BYTES, end - start))):
                start += len(content)
                yield content

    def is_free(self, orders: Orders, now: float) -> bool:
        """May all of it still be shown?"""
        with gzip.open(self.folder / INDEX) as lines:
            captures = map(capture_of, lines)
            return all(orders.withholds(each.url, each.time, each.digest, now) is None for each in captures)

    def _records(self, start: int, end: int) -> Iterator[bytes]:
        if start < len(self._head):
            yield self._head[start:end]
        place = int(np.searchsorted(self._ends, start, side="right"))
        with ExitStack() as held:
            file: Reader | None = None
            at = -1
            for number, offset, length, stop in zip(
                *(self._spans[name][place:].tolist() for name in ("warc", "offset", "length")),
                self._ends[place:].tolist(),
                strict=True,
            ):
                begin = stop - length
                if begin >= end:
                    return
                if number != at or file is None:
                    held.close()
                    file, at = held.enter_context(opened(self._archive / self._warcs[number])), number
                skipped, wanted = max(0, start - begin), min(end, stop) - max(start, begin)
                yield _piece_of(file, offset + skipped, wanted, self._warcs[number])


def _piece_of(file: Reader, offset: int, length: int, name: str) -> bytes:
    file.seek(offset)
    content = file.read(length)
    while len(content) < length:
        more = file.read(length - len(content))
        if not more:
            raise ArchiveError(f"{name} has become shorter", remedy="run: joro archive check")
        content += more
    return content


class Shelf:
    """The packages of one collection."""

    def __init__(self, collection: Collection, orders: OrderBook) -> None:
        self.folder = collection.part("redistribution") / "packages"
        self.folder.mkdir(exist_ok=True)
        self._archive = collection.archive
        self._orders = orders
        self._open: dict[str, Package] = {}
        self._checked: dict[str, Orders] = {}

    def find(self, name: str, now: float) -> Package | None:
        """A package by its name; None where there is none, `Withdrawn` where it may not be sent any more."""
        if not _NAME.fullmatch(name):
            return None
        if name not in self._open:
            try:
                self._open[name] = Package(self.folder / name, self._archive)
            except FileNotFoundError:
                return None
            for old in list(self._open)[:-OPEN_LIMIT]:
                self._open.pop(old, None)
        package = self._open[name]
        if not package.folder.exists():  # another program has thrown it away
            self.drop(name)
            return None
        self.see(package, now)
        return package

    def see(self, package: Package, now: float) -> None:
        """Nothing in it has been withheld meanwhile; costs a microsecond while no order comes."""
        orders, name = self._orders.latest(), package.manifest.package
        if self._checked.get(name) is orders:
            return
        if not package.folder.exists() or not package.is_free(orders, now):
            self.drop(name)
            raise Withdrawn(name)
        self._checked[name] = orders

    def give(self, name: str, party: str) -> None:
        """From now on the party may have the package."""
        with (self.folder / name / PARTIES).open("a", encoding="utf-8") as file:
            file.write(party + "\n")

    def is_for(self, name: str, party: str) -> bool:
        """Was the package made for the party, perhaps among others?"""
        path = self.folder / name / PARTIES
        return path.exists() and party in path.read_text(encoding="utf-8").splitlines()

    def drop(self, name: str) -> None:
        self._open.pop(name, None)
        self._checked.pop(name, None)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def tidy(self, now: float) -> None:
        """Throw away what was made more than a week ago, and drafts that a kill left behind."""
        for path in self.folder.iterdir():
            if path.stat().st_mtime < now - KEPT_S:
                self.drop(path.name)
