"""How does a frontier of a hundred million visited pages come about in minutes?

In:    how many pages, and a few thousand histories of changes with the intervals they lead to.
Out:   a frontier in which every page has a record and a date, and every server what its pages wish and say;
       as a crawl would have left it, and RocksDB not behind with its work.
Never: writes anything the robot would write otherwise: the first page is compared with what it would.

Everything about a page follows from its number, so nothing has to be remembered. Records are all of one
length, and are made a hundred thousand at a time by putting numbers into a template; keys are written in
their order into tables, which RocksDB takes in as they are. That holds 16 to 24 bytes a page while it lasts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray
from rocksdict import IngestExternalFileOptions, Rdict, SstFileWriter

from joro.robot.lessons import STATE
from joro.schedule import change, prior
from joro.schedule.plan import cells_of
from joro.store import calendar
from joro.store.records import PageRecord, ServerRecord, Upkeep
from joro.store.rocks import opened, options
from joro.url import fingerprint

PAGES_PER_SERVER = 100
VERSION = 3
#: Pages made at a time.
_CHUNK = 100_000
#: Bytes to a table, as RocksDB makes them itself: the index of a larger one fits no part of its cache.
_TABLE_BYTES = 64_000_000
#: Dates under one key: some are put there by one commit, some by thousands when a long stretch is broken up.
_BLOCK = 64
#: Numbers above take nine bytes in MessagePack, whatever they are.
_LONG = 2**40

Numbers = NDArray[np.uint64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Pages:
    """Pages by their numbers, visited at some time before `start`."""

    def __init__(self, pages: int, histories: change.Histories, intervals_s: Floats, start: float) -> None:
        self.pages = pages
        self.servers = max(pages // PAGES_PER_SERVER, 1)
        self._histories = histories
        self._intervals_s = intervals_s
        self._start = start

    def url(self, number: int) -> str:
        """The URL of a page; pages of a server are as far apart as a crawl would have found them."""
        return f"{self.server(number % self.servers)}/pages-of-it-{number // self.servers:03d}.html"

    def server(self, number: int) -> str:
        """The name of a server."""
        return f"http://www.server-{number:07d}.example"

    def record(self, number: int) -> PageRecord:
        """What is known of a page."""
        numbers = np.array([number], np.uint64)
        (like,), (seen_at,) = self._alike(numbers).tolist(), self._seen_at(numbers).tolist()
        interval_s = float(self._intervals_s[like])
        care = Upkeep(VERSION, seen_at + interval_s, interval_s, seen_at, seen_at, f"sha1:{number:032d}")
        care.text, care.etag, care.modified = number + _LONG, f'"{number:010d}"', _MODIFIED
        care.history = self._histories[like].tobytes()
        return PageRecord(self.url(number), 3, seen_at, "ok", 200, number + _LONG, 0, care)

    def _alike(self, numbers: Numbers) -> NDArray[np.intp]:
        """Which of the histories each page has."""
        return (_mixed(numbers, 1) % np.uint64(len(self._histories))).astype(np.intp)

    def _seen_at(self, numbers: Numbers) -> Floats:
        shares = _mixed(numbers, 2).astype(np.float64) / 2.0**64
        return np.asarray(self._start - self._intervals_s[self._alike(numbers)] * shares)

    def write(self, folder: Path) -> None:
        """Fill the frontier that will be opened in `folder`."""
        database = folder / "pages"
        database.mkdir(parents=True)
        db = opened(database, read_only=False)
        marks = np.concatenate([self._marks(numbers) for numbers in self._chunks()])
        for keys in (self._records(marks), self._dates(marks), self._server_records()):
            _take_in(db, folder, keys)
        db.close()

    def _chunks(self) -> Iterator[Numbers]:
        for first in range(0, self.pages, _CHUNK):
            yield np.arange(first, min(first + _CHUNK, self.pages), dtype=np.uint64)

    def _marks(self, numbers: Numbers) -> Numbers:
        """Fingerprints of pages."""
        url = self.url(0).encode()
        rows = _copies(url, len(numbers))
        self._spell(rows, url, numbers)
        hashed = map(xxhash.xxh3_64_intdigest, _rows(rows))
        return np.fromiter(hashed, np.uint64, len(numbers))

    def _spell(self, rows: Bytes, like: bytes, numbers: Numbers) -> None:
        """Write URLs where that of page 0 stands."""
        servers, places = numbers % np.uint64(self.servers), numbers // np.uint64(self.servers)
        _write_digits(rows, like.index(b"server-0000000") + 7, 7, servers)
        _write_digits(rows, like.index(b"of-it-000") + 6, 3, places)

    def _records(self, marks: Numbers) -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of all pages, in the order of their keys."""
        order = np.argsort(marks)
        template = _Template(self.record(0))
        for first in range(0, self.pages, _CHUNK):
            numbers = order[first : first + _CHUNK]
            rows = self._filled(template, numbers.astype(np.uint64))
            keys = _rows(marks[numbers].astype(">u8").view(np.uint8).reshape(-1, 8))
            yield from zip((b"p" + key for key in keys), _rows(rows), strict=True)

    def _filled(self, template: _Template, numbers: Numbers) -> Bytes:
        rows = _copies(template.packed, len(numbers))
        alike, seen_at = self._alike(numbers), self._seen_at(numbers)
        intervals_s = self._intervals_s[alike]
        self._spell(rows, template.packed, numbers)
        columns = (seen_at, seen_at + intervals_s, intervals_s, seen_at, seen_at)
        for at, column in zip(template.floats, columns, strict=True):
            rows[:, at : at + 8] = column.astype(">f8").view(np.uint8).reshape(-1, 8)
        for at in template.longs:
            rows[:, at : at + 8] = (numbers + np.uint64(_LONG)).astype(">u8").view(np.uint8).reshape(-1, 8)
        for at, digits in template.digits:
            _write_digits(rows, at, digits, numbers)
        size = change.HISTORY.itemsize
        packed = self._histories.view(np.uint8).reshape(-1, size)
        rows[:, template.history : template.history + size] = packed[alike]
        return rows

    def _dates(self, marks: Numbers) -> Iterator[tuple[bytes, bytes]]:
        """Keys and blocks of the calendar, in the order of their keys."""
        names = np.array([fingerprint(self.server(number)) for number in range(self.servers)], np.uint64)
        due = np.concatenate([self._due(numbers) for numbers in self._chunks()])
        order = np.argsort(due)
        count = 0
        for first in range(0, self.pages, _CHUNK):
            numbers = order[first : first + _CHUNK].astype(np.uint64)
            entries = self._entries(numbers, due[numbers], marks[numbers], names)
            for prefix, block in _blocks(entries, self._start):
                count += 1
                yield prefix + count.to_bytes(12, "big"), block

    def _due(self, numbers: Numbers) -> Floats:
        return np.asarray(self._seen_at(numbers) + self._intervals_s[self._alike(numbers)])

    def _entries(self, numbers: Numbers, due: Floats, marks: Numbers, names: Numbers) -> calendar.Entries:
        state = np.zeros(len(numbers), STATE)
        state["history"], state["weight"] = self._histories[self._alike(numbers)], 1.0
        state["visited_at"] = self._seen_at(numbers)
        servers = names[numbers % np.uint64(self.servers)]
        return calendar.entries(due, marks, VERSION, servers, state.view(f"V{STATE.itemsize}"))

    def _server_records(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of all servers, in the order of their keys: names of one length."""
        said = prior.said(self._histories)
        cells = np.array(cells_of(self._intervals_s, np.ones(len(self._intervals_s))))
        kinds, kind = np.unique(cells, return_inverse=True)
        for first in range(0, self.servers, _CHUNK):
            servers = np.arange(first, min(first + _CHUNK, self.servers), dtype=np.uint64)
            counts, rates = np.zeros((2, len(servers), len(kinds)))
            sums, rows = np.zeros((len(servers), 2)), np.arange(len(servers))
            for place in range(self.pages // self.servers):
                alike = self._alike(servers + np.uint64(place * self.servers))
                counts[rows, kind[alike]] += 1
                rates[rows, kind[alike]] += 1 / self._intervals_s[alike]
                sums += said[alike]
            for number, *columns in zip(
                servers.tolist(), counts.tolist(), rates.tolist(), sums.tolist(), strict=True
            ):
                yield b"s" + self.server(number).encode(), self._server_record(kinds.tolist(), *columns)

    def _server_record(
        self, kinds: list[int], counts: list[float], rates: list[float], said: list[float]
    ) -> bytes:
        pages = self.pages // self.servers
        record = ServerRecord(found=pages, visited=pages, collected=pages)
        record.download_s = record.longest_download_s = 1.0
        record.said = (said[0], said[1])
        columns = zip(kinds, counts, rates, strict=True)
        record.wishes = {cell: (int(count), rate) for cell, count, rate in columns if count}
        return msgspec.msgpack.encode(record)


_MODIFIED = "Mon, 16 Nov 2026 12:00:00 GMT"


class _Template:
    """A packed record, and where in it numbers stand that differ from page to page."""

    def __init__(self, record: PageRecord) -> None:
        care = record.upkeep
        assert care is not None
        marked = msgspec.structs.replace(care, due=1.25, interval_s=2.25, seen_at=3.25, captured_at=4.25)
        self.packed = msgspec.msgpack.encode(msgspec.structs.replace(record, time=0.25, upkeep=marked))
        self.floats = [self._find(struct.pack(">d", 0.25 + place)) for place in range(5)]
        long = struct.pack(">Q", _LONG)
        self.longs = [self._find(b"\xcf" + long) + 1, self.packed.rindex(long)]
        self.digits = [(self._find(b"sha1:0") + 5, 32), (self._find(b'"0000000000"') + 1, 10)]
        self.history = self._find(care.history)

    def _find(self, what: bytes) -> int:
        return self.packed.index(what)


def _take_in(db: Rdict, folder: Path, keys: Iterable[tuple[bytes, bytes]]) -> None:
    """Write keys, which come in order, into tables of the database."""
    paths, source = list[str](), iter(keys)
    while some := next(source, None):
        writer = SstFileWriter(options())
        paths.append(str(folder / f"{some[0][:1].decode()}-{len(paths)}.sst"))
        writer.open(paths[-1])
        size = 0
        for key, value in chain([some], source):
            writer[key] = value
            size += len(value)
            if size >= _TABLE_BYTES:
                break
        writer.finish()
    moved = IngestExternalFileOptions()
    moved.set_move_files(True)
    db.ingest_external_file(paths, moved)


def _blocks(entries: calendar.Entries, now: float) -> Iterator[tuple[bytes, bytes]]:
    """Entries, sorted by their dates, some to a key of the stretch they lie in."""
    levels = calendar._levels(entries["due"] - now, entries["due"])
    starts = calendar._starts(entries["due"], levels)
    is_other = (np.diff(starts) != 0.0) | (np.diff(levels) != 0)
    edges = [0, *(np.flatnonzero(is_other) + 1).tolist(), len(entries)]
    for left, right in pairwise(edges):
        prefix = calendar._Stretch(float(starts[left]), int(levels[left])).prefix
        for first in range(left, right, _BLOCK):
            yield prefix, entries[first : min(first + _BLOCK, right)].tobytes()


def _mixed(numbers: Numbers, salt: int) -> Numbers:
    """Numbers as good as drawn by lot, the same ones every time (SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed: Any = (numbers + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _copies(row: bytes, number: int) -> Bytes:
    return np.tile(np.frombuffer(row, np.uint8), (number, 1))


def _rows(of: Bytes) -> Iterator[bytes]:
    packed, size = of.tobytes(), of.shape[1]
    return (packed[at : at + size] for at in range(0, len(packed), size))


def _write_digits(rows: Bytes, at: int, digits: int, numbers: Numbers) -> None:
    """Write numbers with leading zeros, those of which are there already."""
    left = numbers.copy()
    for place in range(at + digits - 1, at - 1, -1):
        left, digit = np.divmod(left, np.uint64(10))
        rows[:, place] = digit + np.uint64(48)
        if not left.any():
            break
