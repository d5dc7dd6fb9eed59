"""What did a real crawl find its servers to be like?

In:    a collection of ours, or a log of the kind S1's robots send to their manager (message M3).
Out:   a population to simulate: of each server its download times, and how often its pages are to be visited.
Never: changes what it reads; invents a download time unless told to (`assumed_s`).
Paper: S0 3.1: only the sequence of download times of each server is taken from the log, not their moments.

Of our archive the index (CDXJ) is read: URL, moment and, in `elapsed_ms`, how long the visit took. S1's log
is a line with a file name, then gzip of lines `"URL",request bytes,response bytes,milliseconds,"head"`; such
lines plain or gzipped will do as well. It has no moments, so there every page gets the same interval.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from joro.archive.cdx import index_of, whole_lines
from joro.archive.names import warcs
from joro.archive.times import time_of_stamp
from joro.errors import UsageError
from joro.model import DAY_S
from joro.schedule.feasible import Demand
from joro.schedule.serialize import load_per_s
from joro.simulator.population import PAGE_BYTES, Population, population
from joro.store.collection import Collection
from joro.url import fingerprint, server_of, try_canonical

#: How often a page is to be visited whose own interval the log does not tell: once a week.
REVISIT_S = 7 * DAY_S
#: Download times shorter than this are those of a machine on the same desk, or a clock that ticks too slowly.
SHORTEST_S = 0.001

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20
_LONGEST_LINE = 16 << 20
_VISIT = re.compile(r'"([^"]+)"\s*,\s*(\d{1,15})\s*,\s*(\d{1,15})\s*,\s*(\d{1,15})\s*,')


class _Line(msgspec.Struct):
    """What we want of a CDXJ line's JSON."""

    url: str
    length: str = "0"
    elapsed_ms: float = 0.0


_decode = msgspec.json.Decoder(_Line).decode


@dataclass
class _Server:
    elapsed_s: array[float] = field(default_factory=lambda: array("f"))
    #: fingerprint → visits, first and last moment
    pages: dict[int, tuple[int, float, float]] = field(default_factory=dict)


@dataclass
class Book:
    """Visits, as they are read."""

    servers: dict[str, _Server] = field(default_factory=dict)
    visits: int = 0
    untimed: int = 0  # visits whose duration nobody noted
    unreadable: int = 0  # lines
    bytes: int = 0
    is_packed: bool = False  # these are bytes of the archive, of which there are fewer than were sent

    def note(self, url: str, elapsed_s: float, size_bytes: int, time_s: float = 0.0) -> None:
        """Take a visit down; reading a robots.txt is none, and nobody keeps one fresh as pages are kept."""
        name = server_of(url)
        if url == f"{name}/robots.txt":
            return
        server = self.servers.setdefault(name, _Server())
        self.visits += 1
        self.bytes += size_bytes
        if elapsed_s > 0.0:
            server.elapsed_s.append(max(elapsed_s, SHORTEST_S))
        else:
            self.untimed += 1
        page = fingerprint(url)
        visits, first, last = server.pages.get(page, (0, time_s, time_s))
        server.pages[page] = (visits + 1, min(first, time_s), max(last, time_s))

    @property
    def pages(self) -> int:
        return sum(len(server.pages) for server in self.servers.values())

    def population(self, revisit_s: float = REVISIT_S, assumed_s: float = 0.0) -> Population:
        """Servers with a known download time; `assumed_s` stands in where none was noted."""
        chosen = {
            name: server.elapsed_s or array("f", [assumed_s])
            for name, server in self.servers.items()
            if server.elapsed_s or assumed_s > 0.0
        }
        if not chosen:
            raise UsageError(
                f"none of {self.visits:,} visits tells how long it took",
                remedy="assume a time for all of them: --elapsed 1",
            )
        intervals = [1.0 / load_per_s(_intervals_s(self.servers[name], revisit_s)) for name in chosen]
        return population(
            np.array(intervals),
            np.array([len(times) for times in chosen.values()]),
            np.concatenate([np.frombuffer(times, np.float32) for times in chosen.values()]),
            page_bytes=self.bytes / self.visits if self.bytes else PAGE_BYTES,
            names=tuple(chosen),
        )

    def demand(self, names: Sequence[str], revisit_s: float = REVISIT_S) -> Demand:
        """What the pages of these servers ask for, in the same order; none weighs more than others."""
        rows = [
            (place, interval_s, pages)
            for place, name in enumerate(names)
            for interval_s, pages in Counter(_intervals_s(self.servers[name], revisit_s)).items()
        ]
        server, interval_s, pages = (np.array(column) for column in zip(*rows, strict=True))
        return Demand(server, interval_s, np.ones(len(rows)), pages.astype(np.float64))


def _intervals_s(server: _Server, revisit_s: float) -> Iterator[float]:
    """I_ij of each page; one visited several times keeps the interval it was visited at."""
    for visits, first, last in server.pages.values():
        yield (last - first) / (visits - 1) if last > first else revisit_s


def read(path: Path, progress: Callable[[int], object] = lambda _: None) -> Book:
    """A collection's directory, or a log file; `progress` is told of bytes read."""
    book = _archived(Collection.open(path), progress) if path.is_dir() else _sent(path, progress)
    if not book.visits:
        raise UsageError(
            f"{path} tells of no visit", remedy="give a collection that has been crawled, or a log"
        )
    return book


def size_of(path: Path) -> int:
    """Bytes that `read` will read."""
    if not path.is_dir():
        return path.stat().st_size
    archive = Collection.open(path).archive
    return sum(len(index_of(archive / name)) for name in warcs(archive))


def _archived(collection: Collection, progress: Callable[[int], object]) -> Book:
    book = Book(is_packed=True)
    for name in warcs(collection.archive):
        index = index_of(collection.archive / name)
        for line in whole_lines(index):
            try:
                _, stamp, text = line.split(b" ", 2)
                visit, time_s = _decode(text), time_of_stamp(stamp.decode())
                length = int(visit.length)
            except ValueError:
                book.unreadable += 1
                continue
            book.note(visit.url, visit.elapsed_ms / 1_000, length, time_s)
        progress(len(index))
    return book


def _sent(path: Path, progress: Callable[[int], object]) -> Book:
    book = Book()
    for line in _lines(path, progress):
        if not line.startswith('"'):
            continue  # a comment, or the rest of a response head that had several lines
        visit = _VISIT.match(line)
        url = try_canonical(visit[1]) if visit else None
        if visit is None or url is None:
            book.unreadable += 1
        else:
            book.note(url, int(visit[4]) / 1_000, int(visit[3]))
    return book


def _lines(path: Path, progress: Callable[[int], object]) -> Iterator[str]:
    rest = b""
    for chunk in _unpacked(path, progress):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
        if len(rest) > _LONGEST_LINE:
            raise UsageError(f"{path} is no log: it has a line without end", remedy="give a log of visits")
    yield rest.decode("utf-8", "replace")


def _unpacked(path: Path, progress: Callable[[int], object]) -> Iterator[bytes]:
    """The log's lines: M3's file name is left out, gzip members are unpacked one after the other."""
    with path.open("rb") as file:
        head = file.readline(1_000)
        behind_name = file.read(2) == _GZIP and not head.startswith(_GZIP)
        file.seek(len(head) if behind_name else 0)
        is_packed = behind_name or head.startswith(_GZIP)
        unpack, is_inside = zlib.decompressobj(31), False
        while chunk := file.read(_CHUNK):
            progress(len(chunk))
            if not is_packed:
                yield chunk
            while is_packed and chunk:
                try:
                    yield unpack.decompress(chunk, _CHUNK)  # no more at a time, whatever it unpacks to
                except zlib.error as error:
                    raise UsageError(f"{path} is damaged: {error}", remedy="fetch it again") from None
                chunk, is_inside = unpack.unconsumed_tail or unpack.unused_data, not unpack.eof
                if unpack.eof:
                    unpack = zlib.decompressobj(31)
        if is_inside:
            raise UsageError(f"{path} is damaged: it ends in the middle", remedy="fetch it again")
