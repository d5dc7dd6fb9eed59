"""How does the archive reach another place, and come back?

In:    closed WARCs with their indexes, merged indexes, and a place for files.
Out:   copies there under the same names; a note beside each WARC that has one; room on this machine.
Never: copies what is there already; deletes a WARC here before its copy is there in full; leaves there a
       merged index without one of its files.

Interrupted at any moment, the next run goes on. A WARC that was changed (a take-down) is copied again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from joro.archive.far import RUNS_STORED, Note, blobs_at, note_of, problem_far
from joro.archive.merge import FAMILIES, FOLDER, MANIFEST, Manifest, alone, read_manifest
from joro.archive.names import SUFFIX, sorted_index, stored_note, stream_of, warcs
from joro.archive.runs import LINES, TABLE
from joro.errors import ArchiveError
from joro.store.blobs import Blobs
from joro.store.durable import write_whole

#: Bytes fetched at a time when a file comes back.
PIECE_BYTES = 8 << 20

#: Told how many bytes have been copied, and of how many.
Progress = Callable[[int, int], object]


def upload(directory: Path, url: str, progress: Progress = lambda _done, _whole: None) -> int:
    """Copy all closed WARCs and indexes that are not there in their present state; how many WARCs."""
    blobs = blobs_at(url)
    waiting = [name for name in warcs(directory) if _is_waiting(directory / name, blobs.url)]
    whole = sum((directory / name).stat().st_size for name in waiting)
    done = 0
    for name in waiting:
        warc = directory / name
        note = _present(warc, blobs.url)
        blobs.put(name, warc)
        blobs.put(sorted_index(warc).name, sorted_index(warc))
        _write_note(warc, note)
        done += note.warc_bytes
        progress(done, whole)
    if (directory / FOLDER / MANIFEST).exists():
        _upload_runs(directory, blobs)
    return len(waiting)


def free(directory: Path) -> list[str]:
    """Delete WARCs here whose copies are whole; their names. A stream keeps its last: robots begin there."""
    last = {stream_of(name): name for name in warcs(directory)}
    freed = []
    for name in warcs(directory):
        warc = directory / name
        note = note_of(warc)
        if note is None or name in last.values() or not warc.exists():
            continue
        if note == _present(warc, note.url) and problem_far(warc) is None:
            warc.unlink()
            freed.append(name)
    return freed


def bring_back(warc: Path) -> None:
    """Fetch a WARC whose bytes are elsewhere; whoever wants to change one needs it here."""
    note = note_of(warc)
    if warc.exists() or note is None:
        return
    _fetch(blobs_at(note.url), warc.name, warc)
    os.utime(warc, ns=(note.warc_changed_ns, note.warc_changed_ns))  # the copy there is the same


def attach(directory: Path, url: str) -> int:
    """Take over an archive that is elsewhere: its indexes come here, its WARCs stay there; how many WARCs."""
    blobs = blobs_at(url)
    sizes = {name for name in blobs.names() if "/" not in name}
    taken = 0
    for name in sorted(name for name in sizes if name.endswith(SUFFIX)):
        warc = directory / name
        if warc.exists() or stored_note(warc).exists():
            continue
        index = sorted_index(warc)
        if index.name not in sizes:
            continue  # its upload is under way
        _fetch(blobs, index.name, index)
        size, status = blobs.size(name), index.stat()
        assert size is not None, name
        _write_note(warc, Note(blobs.url, size, 0, status.st_size, status.st_mtime_ns))
        taken += 1
    if not (directory / FOLDER / MANIFEST).exists() and blobs.size(f"{FOLDER}/{MANIFEST}") is not None:
        _attach_runs(directory, blobs)
    return taken


def _attach_runs(directory: Path, blobs: Blobs) -> None:
    """Tables of runs come here, to be searched; their blocks stay there. The manifest comes last."""
    with alone(directory) as folder:
        (folder / RUNS_STORED).write_text(blobs.url, encoding="utf-8")
        draft = folder / f"{MANIFEST}.new"
        _fetch(blobs, f"{FOLDER}/{MANIFEST}", draft)
        for entry in msgspec.json.decode(draft.read_bytes(), type=Manifest).runs:
            for family in FAMILIES:
                name = f"{entry.name}{family}{TABLE}"
                _fetch(blobs, f"{FOLDER}/{name}", folder / name)
        draft.rename(folder / MANIFEST)


def _is_waiting(warc: Path, url: str) -> bool:
    if not (warc.exists() and sorted_index(warc).exists()):
        return False
    return note_of(warc) != _present(warc, url)


def _present(warc: Path, url: str) -> Note:
    """The note that a copy made now would have."""
    content, index = warc.stat(), sorted_index(warc).stat()
    return Note(url, content.st_size, content.st_mtime_ns, index.st_size, index.st_mtime_ns)


def _write_note(warc: Path, note: Note) -> None:
    write_whole(stored_note(warc), msgspec.json.encode(note))


def _upload_runs(directory: Path, blobs: Blobs) -> None:
    """Runs never change, so those that are there are right; the manifest last, then what it does not name."""
    with alone(directory) as folder:
        runs = read_manifest(directory).runs
        wanted = {
            f"{FOLDER}/{entry.name}{family}{suffix}"
            for entry in runs
            for family in FAMILIES
            for suffix in (LINES, TABLE)
        }
        there = set(blobs.names(f"{FOLDER}/"))
        for name in sorted(wanted):
            local = directory / name
            if local.exists() and (name not in there or blobs.size(name) != local.stat().st_size):
                blobs.put(name, local)
        blobs.put(f"{FOLDER}/{MANIFEST}", folder / MANIFEST)
        for name in there - wanted - {f"{FOLDER}/{MANIFEST}"}:
            blobs.delete(name)


def _fetch(blobs: Blobs, name: str, target: Path) -> None:
    """A whole file from there, under its name only when it is whole."""
    size = blobs.size(name)
    if size is None:
        raise ArchiveError(f"{blobs.url}/{name} is gone", remedy="restore it there from a copy")
    draft = target.with_name(target.name + ".new")
    with draft.open("wb") as file:
        while (place := file.tell()) < size:
            content = blobs.read(name, place, min(PIECE_BYTES, size - place))
            if not content:
                raise ArchiveError(f"{blobs.url}/{name} ends at {place}, not at {size}", remedy="try again")
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(target)
