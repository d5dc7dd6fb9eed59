"""How do the indexes of many WARCs become a few that are searched quickly?

In:    the sorted indexes of closed WARCs.
Out:   `archive/merged/`: runs that hold the lines of many WARCs, by URL and by digest, and a manifest.
Never: touches a WARC or its own index, from which all of this can be made again; takes a run from under a
       reader; leaves anything but old or new, whatever moment it is killed.

The manifest names the runs and the WARCs in each; replacing it is the one step that counts. Files it does
not name are leftovers, and go with the next merge. The largest run that is not larger than all smaller ones
together is joined with these. So whenever a line is written again it is in a run at least twice as large, and
every run that is left is larger than all smaller ones together: with merges of like size, n of them write
each line at most log2(n) + 1 times, and leave at most log2(n) + 1 runs to look into.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

import msgspec

from joro.archive.far import RUNS_STORED, open_run
from joro.archive.growing import NO_ROOM, disk_full
from joro.archive.names import sorted_index, warcs
from joro.archive.runs import LINES, TABLE, Run, RunWriter, merged
from joro.errors import ArchiveError, CollectionError
from joro.store.durable import sync

FOLDER = "merged"
MANIFEST = "manifest.json"
#: The two orders in which lines are kept, as suffixes of a run's name.
BY_URL, BY_DIGEST = ".cdxj", ".digests"
FAMILIES = (BY_URL, BY_DIGEST)
#: So many closed WARCs wait for each other: looking into each costs 0.05 ms, merging at least their lines.
DUE_WARCS = 8
#: Or so many bytes of index: looking for a digest means reading them all.
DUE_BYTES = 64_000_000
#: WARCs put into one run at a time, and bytes read of each at once; together what a merge needs of memory.
GROUP_WARCS, CHUNK_BYTES = 64, 1 << 18
#: Lines sorted by digest in memory; more are sorted in pieces on the disk.
SORTED_LINES = 300_000

#: Told what is going on ("reading", "joining"), how far, and of how much.
Progress = Callable[[str, int, int], object]


class Entry(msgspec.Struct, frozen=True):
    """One run of the manifest."""

    name: str
    lines: int
    warcs: tuple[str, ...]


class Manifest(msgspec.Struct, frozen=True):
    """Which runs count."""

    runs: tuple[Entry, ...] = ()
    next: int = 1  # number of the next run; none is ever used twice

    @property
    def warcs(self) -> frozenset[str]:
        return frozenset(chain.from_iterable(entry.warcs for entry in self.runs))


def read_manifest(directory: Path) -> Manifest:
    """What counts now; an archive never merged has no runs."""
    path = directory / FOLDER / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        return Manifest()
    except msgspec.DecodeError as error:
        raise broken(path.parent, f"{MANIFEST} cannot be read ({error})") from None


def broken(folder: Path, why: str) -> ArchiveError:
    return ArchiveError(
        f"the merged index {folder} is broken: {why}", remedy="run: joro archive check --mend"
    )


def pending(directory: Path, manifest: Manifest) -> list[str]:
    """Closed WARCs whose lines are in no run."""
    there = manifest.warcs
    return [
        name for name in warcs(directory) if name not in there and sorted_index(directory / name).exists()
    ]


def is_due(directory: Path) -> bool:
    """Is there enough to merge that it pays?"""
    waiting = pending(directory, read_manifest(directory))
    size = sum(sorted_index(directory / name).stat().st_size for name in waiting)
    return len(waiting) >= DUE_WARCS or size >= DUE_BYTES


def merge(directory: Path, progress: Progress = lambda *_: None) -> int:
    """Bring the lines of all closed WARCs into runs, and join small runs; how many WARCs were new."""
    with alone(directory, wait=False) as folder:
        manifest = read_manifest(directory)
        tidy(folder, manifest)
        waiting = pending(directory, manifest)
        whole = sum(sorted_index(directory / name).stat().st_size for name in waiting)
        done = 0
        for start in range(0, len(waiting), GROUP_WARCS):
            group = waiting[start : start + GROUP_WARCS]
            reading = _Reading(lambda size: progress("reading", size, whole), done)
            manifest = _with_group(directory, manifest, group, reading)
            done = reading.done
        if small := to_join(manifest.runs):
            manifest = _with_joined(folder, manifest, small, progress)
        tidy(folder, manifest)
        return len(waiting)


@contextmanager
def changing(directory: Path, names: Collection[str]) -> Iterator[None]:
    """Whoever changes or removes closed WARCs, or their indexes, does it inside of this.

    No line about them is left in any run, and nobody merges meanwhile: until the next merge they are found
    by their own indexes. A merge that is under way is waited for.
    """
    with alone(directory) as folder:
        manifest = read_manifest(directory)
        gone = frozenset(names)
        for entry in manifest.runs:
            if not gone.isdisjoint(entry.warcs):
                manifest = _without(folder, manifest, entry, gone)
        tidy(folder, manifest)
        yield


def to_join(runs: Iterable[Entry]) -> list[Entry]:
    """The runs that ought to be one: see above. Empty where nothing is to be done."""
    rising = sorted(runs, key=lambda entry: (entry.lines, entry.name))
    count = total = 0
    for place, entry in enumerate(rising):
        if place and entry.lines <= total:
            count = place + 1
        total += entry.lines
    return rising[:count]


@contextmanager
def alone(directory: Path, *, wait: bool = True) -> Iterator[Path]:
    """The folder of runs, held by us alone; the kernel frees it if we die. Others are waited for, or told."""
    folder = directory / FOLDER
    folder.mkdir(exist_ok=True)
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CollectionError(f"others work in {folder}", remedy="wait for them or stop them") from None
        yield folder
    finally:
        os.close(file)


def tidy(folder: Path, manifest: Manifest) -> None:
    """Remove what the manifest does not name: replaced runs, and what a killed merge left."""
    kept = {MANIFEST, "lock", RUNS_STORED}
    for entry in manifest.runs:
        kept.update(entry.name + family + suffix for family in FAMILIES for suffix in (LINES, TABLE))
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink(missing_ok=True)


def digest_line(line: bytes) -> bytes:
    """`digest surt timestamp warc`, by which a capture is found by its digest; b"" where it has none."""
    head = line.index(b" ", line.index(b" ") + 1)
    digest, warc = _digest_and_warc(line, head)
    return b"%b %b %b\n" % (digest, line[:head], warc) if digest else b""


def warc_of(line: bytes, family: str) -> str:
    """The WARC that a line of a run speaks of."""
    if family == BY_DIGEST:
        return line[line.rindex(b" ") + 1 : -1].decode()
    return _digest_and_warc(line, line.index(b" {"))[1].decode()


class _Names(msgspec.Struct):
    digest: str = ""
    filename: str = ""


def _digest_and_warc(line: bytes, head: int) -> tuple[bytes, bytes]:
    """Two fields of the JSON behind `head`; read so, a line as we spell it takes a quarter of the time."""
    digest = line.find(b'"digest":"', head) + 10
    warc = line.find(b'"filename":"', digest) + 12
    if digest < 10 or warc < 12 or line.find(b"\\", head) >= 0:
        found = msgspec.json.decode(line[head:], type=_Names)
        return found.digest.encode(), found.filename.encode()
    return line[digest : line.index(b'"', digest)], line[warc : line.index(b'"', warc)]


class _Reading:
    """Batches of lines from the index of a WARC, and how many bytes were read in all."""

    def __init__(self, tell: Callable[[int], object], done: int) -> None:
        self._tell = tell
        self.done = done

    def batches(self, path: Path) -> Iterator[list[bytes]]:
        last = b""
        with path.open("rb") as file:
            while lines := file.readlines(CHUNK_BYTES):
                if lines[0] < last or lines != sorted(lines):
                    raise ArchiveError(f"{path} is not sorted", remedy="run: joro archive check --mend")
                last = lines[-1]
                self.done += sum(map(len, lines))
                self._tell(self.done)
                yield lines


def _with_group(directory: Path, manifest: Manifest, names: list[str], reading: _Reading) -> Manifest:
    """The manifest with one run more, made of the indexes of these WARCs."""
    stem = directory / FOLDER / f"{manifest.next:06d}"
    sources = [reading.batches(sorted_index(directory / name)) for name in names]
    with _writing(stem, BY_URL) as by_url, _Digests(stem) as digests:
        for batch in merged(sources):
            by_url.add(batch)
            digests.add(batch)
    entry = Entry(stem.name, by_url.lines, tuple(names))
    return publish(directory / FOLDER, (*manifest.runs, entry), manifest.next + 1)


def _with_joined(folder: Path, manifest: Manifest, small: list[Entry], progress: Progress) -> Manifest:
    stem = folder / f"{manifest.next:06d}"
    whole = len(FAMILIES) * sum(entry.lines for entry in small)
    done = 0
    for family in FAMILIES:
        with _writing(stem, family) as run:
            for batch in merged(open_run(folder / (entry.name + family)).batches() for entry in small):
                run.add(batch)
                done += len(batch)
                progress("joining", done, whole)
    names = tuple(chain.from_iterable(entry.warcs for entry in small))
    entry = Entry(stem.name, sum(entry.lines for entry in small), names)
    kept = tuple(entry for entry in manifest.runs if entry not in small)
    return publish(folder, (*kept, entry), manifest.next + 1)


def _without(folder: Path, manifest: Manifest, entry: Entry, gone: frozenset[str]) -> Manifest:
    """The manifest with a run that has no line about some WARCs in the place of one that has."""
    stem = folder / f"{manifest.next:06d}"
    lines = {}
    for family in FAMILIES:
        with _writing(stem, family) as run:
            for batch in open_run(folder / (entry.name + family)).batches():
                run.add([line for line in batch if warc_of(line, family) not in gone])
        lines[family] = run.lines
    left = tuple(name for name in entry.warcs if name not in gone)
    runs = [each for each in manifest.runs if each is not entry]
    if left:
        runs.append(Entry(stem.name, lines[BY_URL], left))
    return publish(folder, tuple(runs), manifest.next + 1)


class _Digests:
    """Sorts the digest lines of a new run, in pieces where they are many."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._lines: list[bytes] = []
        self._pieces: list[Path] = []

    def add(self, batch: list[bytes]) -> None:
        self._lines += filter(None, map(digest_line, batch))
        if len(self._lines) >= SORTED_LINES:
            self._spill()

    def __enter__(self) -> _Digests:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        if not self._pieces:
            self._write(self._stem.with_name(self._stem.name + BY_DIGEST), [sorted(self._lines)])
            return
        self._spill()
        self._write(
            self._stem.with_name(self._stem.name + BY_DIGEST),
            merged(Run.open(piece).batches() for piece in self._pieces),
        )

    def _spill(self) -> None:
        piece = self._stem.with_name(f"{self._stem.name}-{len(self._pieces)}{BY_DIGEST}")
        self._write(piece, [sorted(self._lines)])
        self._pieces.append(piece)
        self._lines = []

    def _write(self, stem: Path, batches: Iterable[list[bytes]]) -> None:
        with _writing(stem, "") as run:
            for batch in batches:
                run.add(batch)


@contextmanager
def _writing(stem: Path, family: str) -> Iterator[RunWriter]:
    run = RunWriter(stem.with_name(stem.name + family))
    try:
        yield run
        run.close()
    finally:
        run.abandon()


def publish(folder: Path, runs: tuple[Entry, ...], number: int) -> Manifest:
    """Let these runs count from now on."""
    manifest = Manifest(runs, number)
    draft = folder / f"{MANIFEST}.new"
    try:
        with draft.open("wb") as file:
            file.write(msgspec.json.encode(manifest))
            file.flush()
            os.fsync(file.fileno())
        sync(folder)  # the runs' names before the one that makes them count
        draft.rename(folder / MANIFEST)
        sync(folder)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if error.errno in NO_ROOM:
            raise disk_full(draft, error) from None
        raise
    return manifest
