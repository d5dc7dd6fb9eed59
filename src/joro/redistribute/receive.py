"""How do captures of another collection become captures of ours?

In:    a package that arrived whole, and whom it came from.
Out:   a WARC in the archive under a name of its own stream, and its index: from now on they are found,
       replayed, searched and handed on like all others.
Never: shows half a package, or one twice, whatever moment it is killed; takes in a capture that our own
       orders take down; believes an index whose places are not in the WARC.
"""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from joro.archive.cdx import capture_of, line_of, write_sorted
from joro.archive.erase import erase
from joro.archive.index import CaptureIndex, Limits
from joro.archive.names import number_of, warc_name, warcs
from joro.archive.times import stamp, warc_date
from joro.clock import Clock
from joro.errors import ArchiveError
from joro.model import Capture
from joro.redistribute.package import INDEX, MANIFEST, NO_LIMITS, WARC_NAME, Manifest
from joro.redistribute.selection import FROM
from joro.store.collection import Collection
from joro.store.durable import sync, write_whole
from joro.store.orders import OrderBook
from joro.url import try_canonical

#: Which name the WARC has, or will have, in the archive.
TARGET = "target"
_GZIP_MAGIC = b"\x1f\x8b\x08"
#: An index line longer than this is none: URLs have limits, too.
_LINE_BYTES = 100_000
#: More lines are no index of a package: 400 MB of gzip can unpack to a thousand times as much.
_LINES = 2 * NO_LIMITS.captures


def arriving(collection: Collection) -> Iterator[Path]:
    """The folders of all packages on their way, from whomever."""
    yield from sorted((collection.part("redistribution") / "incoming").glob("*/*"))


def stream_from(source: str) -> str:
    """The stream of what comes from a source."""
    return FROM + source


def incoming(collection: Collection, source: str) -> Path:
    """Where packages of a source lie until they are whole."""
    folder = collection.part("redistribution") / "incoming" / source
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def unfinished(collection: Collection, source: str) -> Iterator[tuple[Path, Manifest]]:
    """Packages that began to arrive, and are not yet in the archive."""
    for folder in sorted(incoming(collection, source).iterdir()):
        try:
            yield folder, msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            shutil.rmtree(folder, ignore_errors=True)


def begin(collection: Collection, source: str, manifest: Manifest) -> Path:
    """A folder in which a package may arrive; the one it has, if it began before."""
    folder = incoming(collection, source) / manifest.package
    folder.mkdir(exist_ok=True)
    write_whole(folder / MANIFEST, msgspec.json.encode(manifest))
    return folder


def is_placed(folder: Path) -> bool:
    """Has the package's WARC gone to the archive, so that only the rest is to be done?"""
    return (folder / TARGET).exists() and not (folder / WARC_NAME).exists()


def take_in(collection: Collection, source: str, folder: Path, clock: Clock, *, fresh: bool = True) -> str:
    """Make a whole package part of the archive; the name of its WARC. May be done again, to no harm.

    Whoever asks for it notes down that it came, and then calls `done`. Where it is not `fresh` (all, since, a
    period: it may have come before), what is known stays out of the index.
    """
    directory = collection.archive
    if not (folder / TARGET).exists():
        name = _next_name(directory, stream_from(source), clock)
        write_whole(folder / TARGET, name.encode())
    warc = directory / (folder / TARGET).read_text()
    content = folder / WARC_NAME if (folder / WARC_NAME).exists() else warc
    captures = list(captures_in(folder / INDEX, content, warc.name))
    if content != warc:
        content.rename(warc)
        sync(directory)
    _show(collection, warc, captures, clock, fresh=fresh)
    return warc.name


def done(folder: Path) -> None:
    """The package is in the archive, and that has been noted down."""
    shutil.rmtree(folder)


def _next_name(directory: Path, stream: str, clock: Clock) -> str:
    earlier = warcs(directory, stream)
    number = number_of(earlier[-1]) + 1 if earlier else 1
    return warc_name(stream, stamp(warc_date(clock.now())), number)


def captures_in(index: Path, warc: Path, name: str) -> Iterator[Capture]:
    """What the index lists, if it can be true of the WARC."""
    size = warc.stat().st_size
    with warc.open("rb") as file:
        for capture in listed_in(index):
            end = capture.offset + capture.length
            if not 0 <= capture.offset < end <= size:
                raise _wrong(index, f"a record ends at {end}, the WARC at {size}")
            if os.pread(file.fileno(), 3, capture.offset) != _GZIP_MAGIC:
                raise _wrong(index, f"no record begins at {capture.offset}")
            yield msgspec.structs.replace(capture, warc=name)


def listed_in(index: Path) -> Iterator[Capture]:
    """What the index lists."""
    with gzip.open(index) as lines:
        try:
            for number in itertools.count():
                line = lines.readline(_LINE_BYTES)
                if not line:
                    return
                if number == _LINES:
                    raise ValueError(f"it has more than {_LINES:,} lines")
                capture = capture_of(line)
                if try_canonical(capture.url) is None:
                    raise ValueError(f"{capture.url[:100]!r} is no URL")
                yield capture
        except (ValueError, IndexError, EOFError, OSError, zlib.error) as error:
            raise _wrong(index, str(error)) from None


def _wrong(index: Path, why: str) -> ArchiveError:
    return ArchiveError(
        f"the index of the package in {index.parent} is wrong ({why})",
        remedy="tell its sender; nothing of it was taken in",
    )


def _show(collection: Collection, warc: Path, captures: list[Capture], clock: Clock, *, fresh: bool) -> None:
    orders = OrderBook(collection.orders, clock.now).latest()
    gone = {each.offset for each in captures if orders.erases(each.url, each.time, each.digest)}
    known = CaptureIndex(collection.archive)
    lines = [
        line_of(each)
        for each in captures
        if each.offset not in gone and (fresh or not _is_known(known, each))
    ]
    write_sorted(warc, lines)
    if gone:
        erase(warc, [(each.offset, each.length) for each in captures if each.offset in gone], clock.now())


def _is_known(index: CaptureIndex, capture: Capture) -> bool:
    span = Limits(since=capture.time, until=capture.time + 1e-6, digest=capture.digest)
    return any(each.warc != capture.warc for each in index.versions(capture.url, span))
