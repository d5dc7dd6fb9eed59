"""How is a WARC read whose bytes are no longer on this machine?

In:    the path a WARC has, or had, in the archive; beside it a note that says where its copy is.
Out:   its size, and its bytes as from a file.
Never: fetches more than is asked for; trusts a copy that has another size than the note says.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from joro.archive.names import stored_note
from joro.archive.runs import LINES, TABLE, Run, beside, mapped
from joro.errors import ArchiveError
from joro.store.blobs import Blobs, open_blobs

#: In the folder of merged indexes: where the blocks are that are not here.
RUNS_STORED = "stored"
#: One connection pool for each place.
blobs_at = functools.lru_cache(maxsize=8)(open_blobs)


class Note(msgspec.Struct, frozen=True):
    """Where the copy of a WARC and its index is, and what was copied."""

    url: str  # of the directory; the names in it are the same
    warc_bytes: int
    warc_changed_ns: int
    index_bytes: int
    index_changed_ns: int


class Reader(AbstractContextManager["Reader"], Protocol):
    """As much of a file as reading needs."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, /) -> int: ...


def note_of(warc: Path) -> Note | None:
    """What is known of a copy; None where there is none."""
    path = stored_note(warc)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise ArchiveError(
            f"{path} cannot be read ({error})", remedy="restore it from a copy, or run: joro archive attach"
        ) from None


def size_of(warc: Path) -> int:
    """Its bytes, wherever they are."""
    try:
        return warc.stat().st_size
    except FileNotFoundError:
        return _note_about(warc).warc_bytes


def opened(warc: Path) -> Reader:
    """The WARC, to be read from its beginning."""
    try:
        return warc.open("rb", buffering=0)
    except FileNotFoundError:
        note = _note_about(warc)
        return _FarFile(blobs_at(note.url), warc.name, note.warc_bytes)


def problem_far(warc: Path) -> str | None:
    """What is wrong with the copy of a WARC; None if nothing."""
    note = note_of(warc)
    if note is None:
        return "is gone"
    size = blobs_at(note.url).size(warc.name)
    if size is None:
        return f"is gone from {note.url}"
    return None if size == note.warc_bytes else f"has {size} instead of {note.warc_bytes} bytes in {note.url}"


def open_run(stem: Path) -> Run:
    """A run, or one whose blocks are elsewhere: then those that are needed are fetched, one by one."""
    try:
        return Run.open(stem)
    except FileNotFoundError:
        place = stem.with_name(RUNS_STORED)
        if not (place.exists() and beside(stem, TABLE).exists()):
            raise
        blobs = blobs_at(place.read_text(encoding="utf-8"))
        name = f"{stem.parent.name}/{stem.name}{LINES}"
        return Run(mapped(beside(stem, TABLE)), lambda offset, length: _whole(blobs, name, offset, length))


def _whole(blobs: Blobs, name: str, offset: int, length: int) -> bytes:
    """A range that has to be there."""
    try:
        content = blobs.read(name, offset, length)
    except FileNotFoundError:
        content = b""
    if len(content) < length:
        raise ArchiveError(
            f"{blobs.url}/{name} has no {length} bytes at {offset}",
            remedy="restore it there from a copy, or copy the archive again: joro archive upload",
        )
    return content


def _note_about(warc: Path) -> Note:
    note = note_of(warc)
    if note is None:
        raise FileNotFoundError(2, "no such file", str(warc))
    return note


class _FarFile:
    def __init__(self, blobs: Blobs, name: str, size: int) -> None:
        self._blobs = blobs
        self._name = name
        self._size = size
        self._place = 0

    def __enter__(self) -> _FarFile:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def seek(self, offset: int, /) -> int:
        self._place = offset
        return offset

    def read(self, size: int, /) -> bytes:
        size = min(size, self._size - self._place)
        if size <= 0:
            return b""
        content = _whole(self._blobs, self._name, self._place, size)
        self._place += size
        return content
