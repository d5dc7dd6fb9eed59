"""Which files have to be looked into, at this moment?

In:    the directory of WARCs, in which robots write and merges happen.
Out:   a snapshot: the runs that count, and the indexes of WARCs in none of them.
Never: lists the directory again while nothing in it changed; fails because a run was replaced meanwhile.

Every WARC is seen exactly once: in the run that the manifest names for it, or else by its own index, which
stays where it is when a run takes it in.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from joro.archive.far import open_run
from joro.archive.merge import BY_DIGEST, BY_URL, FOLDER, MANIFEST, Entry, broken, read_manifest
from joro.archive.names import open_index, sorted_index, warcs
from joro.archive.runs import Run, first_not_below, mapped
from joro.archive.tail import Marks, Tail, containing, digest_in

#: File systems tell time in steps of some milliseconds, old ones of a second. A directory listed this long
#: after its time of change was first seen cannot have changed again within the same step.
STEP_S, OLD_STEP_S = 0.05, 2.0

#: Which file it is: the same number and time are the same content.
_Identity = tuple[int, int]
_Key = tuple[str, _Identity]


class _Index(Protocol):
    """The index of one WARC."""

    def beginning(self, prefix: bytes, start: bytes) -> Iterable[bytes]: ...
    def with_digest(self, digest: bytes) -> Iterable[bytes]: ...


class _Runs(NamedTuple):
    """The same captures in both orders."""

    by_url: Run
    by_digest: Run


class Snapshot(NamedTuple):
    """Sources of sorted lines at one moment."""

    runs: list[_Runs]
    unmerged: list[_Index]

    def beginning(self, prefix: bytes, start: bytes = b"") -> list[Iterable[bytes]]:
        """The lines that begin with `prefix` and are not below `start`: a sorted stream from each source."""
        sources: list[Iterable[bytes]] = [run.by_url.beginning(prefix, start) for run in self.runs]
        return sources + [index.beginning(prefix, start) for index in self.unmerged]

    def keys_of_digest(self, digest: bytes) -> list[bytes]:
        """What the lines begin with that have this digest: SURT, blank, timestamp, blank."""
        found = {
            line[len(digest) + 1 : line.rindex(b" ") + 1]
            for run in self.runs
            for line in run.by_digest.beginning(digest + b" ")
        }
        for index in self.unmerged:
            for line in index.with_digest(digest):
                found.add(line[: line.index(b" ", line.index(b" ") + 1) + 1])
        return sorted(found)


class Snapshots:
    """The latest snapshot of an archive, made anew when something changed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._folder = directory / FOLDER
        self._state: tuple[object, ...] = ()
        self._seen_at = 0.0  # when `_state` was first seen
        self._listed_at = 0.0
        self._snapshot: Snapshot | None = None
        self._runs: dict[_Key, _Runs] = {}
        self._unmerged: dict[_Key, _Index] = {}

    def latest(self) -> Snapshot:
        """What is there now."""
        while True:
            state = (_identity(self._folder / MANIFEST), _identity(self._directory))
            step_s = STEP_S if state[1][1] % 1_000_000_000 else OLD_STEP_S
            known, is_settled = self._snapshot, self._listed_at - self._seen_at > step_s
            if state != self._state:
                self._state, self._seen_at = state, time.monotonic()
            elif known is not None and is_settled:
                return known
            listed_at = time.monotonic()
            try:
                self._snapshot = snapshot = self._make()
            except FileNotFoundError as error:
                if _identity(self._folder / MANIFEST) == state[0]:
                    raise broken(self._folder, f"{error.filename} is gone") from None
                continue  # a merge replaced it while we were about to open it
            self._listed_at = listed_at
            return snapshot

    def _make(self) -> Snapshot:
        manifest = read_manifest(
            self._directory
        )  # first: what is merged from now on is still found by itself
        there = manifest.warcs
        self._runs = dict(self._run(entry) for entry in manifest.runs)
        names = [name for name in warcs(self._directory) if name not in there]
        self._unmerged = dict(pair for name in names for pair in self._own(self._directory / name))
        return Snapshot(list(self._runs.values()), list(self._unmerged.values()))

    def _run(self, entry: Entry) -> tuple[_Key, _Runs]:
        key = entry.name, _identity(self._folder / f"{entry.name}{BY_URL}.idx")
        known = self._runs.get(key)
        stems = (self._folder / (entry.name + family) for family in (BY_URL, BY_DIGEST))
        return key, known or _Runs(*(open_run(stem) for stem in stems))

    def _own(self, warc: Path) -> Iterator[tuple[_Key, _Index]]:
        """The WARC's own index, if it has one (yet)."""
        closed, growing = sorted_index(warc), open_index(warc)
        # The sorted one twice: between the first and the second look the WARC may have been closed.
        for path in (closed, growing, closed):
            number, changed = _identity(path)
            key = path.name, (number, changed if path is closed else 0)
            try:
                known = self._unmerged.get(key)
                yield key, known or (_Closed(path) if path is closed else Tail(path))
            except FileNotFoundError:
                continue
            return


class _Closed:
    """The index of a closed WARC, which never changes."""

    def __init__(self, path: Path) -> None:
        self._lines = mapped(path)
        self._lock = threading.Lock()
        self._by_digest: Marks | None = None

    def beginning(self, prefix: bytes, start: bytes) -> Iterator[bytes]:
        lines = self._lines
        place = first_not_below(lines, max(start, prefix))
        while lines[place : place + len(prefix)] == prefix and place < len(lines):
            end = lines.find(b"\n", place) + 1 or len(lines)
            yield lines[place:end]
            place = end

    def with_digest(self, digest: bytes) -> Iterator[bytes]:
        """By reading everything; whoever asks again is worth remembering where each digest is."""
        marks, lines = self._by_digest, self._lines
        if marks is None:
            self._by_digest = Marks(digest_in)
            return containing(lines, b'"%b"' % digest)
        with self._lock:
            if not marks.end:
                marks.add(lines[:])
        return (line for at, size in marks.find(digest) if digest in (line := lines[at : at + size]))


def _identity(path: Path) -> _Identity:
    try:
        known = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (known.st_ino, known.st_mtime_ns)
