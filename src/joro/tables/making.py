"""Which WARCs are missing from the tables, and who puts them in?

In:    a collection.
Out:   its tables with the rows of every closed WARC; beside them a note for each WARC that is in.
Never: does again what is done; mixes rows of a WARC before and after it was changed.

A WARC's note is written last. Where it is missing, or speaks of a WARC of other size, the WARC's rows are
made anew; killed at any moment, the next run sees what is left.
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from joro.archive.far import size_of
from joro.archive.names import SUFFIX, sorted_index, warcs
from joro.errors import ArchiveError
from joro.store.collection import Collection
from joro.store.durable import write_whole
from joro.tables.columns import TABLES
from joro.tables.writing import DRAFTS, write_warc

#: Counts up when columns or their meaning change: then all rows are made anew.
VERSION = 2
NOTES = ".notes"


class Note(msgspec.Struct, frozen=True):
    """What was made from a WARC."""

    version: int
    warc_bytes: int
    index_bytes: int
    files: list[str]


@dataclass(frozen=True)
class Made:
    """What a run did."""

    warcs: int = 0
    files: int = 0
    forgotten: int = 0  # WARCs that are no longer in the archive
    open: int = 0  # WARCs that are still written


#: Told how many bytes of the WARCs have been read, and of how many.
Progress = Callable[[int, int], object]


def make(
    collection: Collection, progress: Progress = lambda _done, _whole: None, *, processes: int = 1
) -> Made:
    """Bring the tables up to what the archive holds in closed WARCs."""
    archive, tables = collection.archive, collection.part("tables")
    with collection.lock("tables"):
        shutil.rmtree(tables / DRAFTS, ignore_errors=True)
        gone = [name for name in noted(tables) if not sorted_index(archive / name).exists()]
        forget(tables, gone)
        waiting = missing(archive, tables)
        forget(tables, waiting)  # rows of an earlier state of theirs
        files = _write_all([archive / name for name in waiting], collection, progress, processes)
        still_written = sum(not sorted_index(archive / name).exists() for name in warcs(archive))
    return Made(len(waiting), files, len(gone), still_written)


def missing(archive: Path, tables: Path) -> list[str]:
    """Closed WARCs of which the tables have no rows, or rows of another state."""
    closed = [name for name in warcs(archive) if sorted_index(archive / name).exists()]
    return [name for name in closed if not _is_current(_note(tables, name), archive / name)]


def forget(tables: Path, names: Iterable[str]) -> None:
    """Leave no row of these WARCs in the tables; those still in the archive come back with `make`."""
    for name in names:
        note, stem = _note(tables, name), name.removesuffix(SUFFIX)
        if note is None:  # killed while its files were put in place: they have to be looked for
            found = [path for table in TABLES for path in tables.glob(f"{table}/*/*/{stem}-*.parquet")]
            found = [path for path in found if path.name.rpartition("-")[0] == stem]
        else:
            found = [tables / file for file in note.files]
        for path in found:
            path.unlink(missing_ok=True)
        _note_path(tables, name).unlink(missing_ok=True)


def noted(tables: Path) -> list[str]:
    """The WARCs that have rows in the tables."""
    return sorted(path.name.removesuffix(".json") for path in (tables / NOTES).glob("*.json"))


def _write_all(paths: list[Path], collection: Collection, progress: Progress, processes: int) -> int:
    whole = sum(map(size_of, paths))
    tables, robot = collection.part("tables"), collection.config.identity.name
    if processes == 1 or len(paths) < 2:
        done = [0]

        def advance(size: int) -> None:
            done[0] += size
            progress(done[0], whole)

        return sum(_write(path, tables, robot, advance) for path in paths)
    files = 0
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        sizes = {pool.submit(_write, path, tables, robot): size_of(path) for path in paths}
        read = 0
        for future in as_completed(sizes):
            files += future.result()
            read += sizes[future]
            progress(read, whole)
    return files


def _write(path: Path, tables: Path, robot: str, progress: Any = lambda _: None) -> int:
    """One WARC, and its note behind it; how many files."""
    note = Note(VERSION, size_of(path), sorted_index(path).stat().st_size, [])
    note = msgspec.structs.replace(note, files=write_warc(path, tables, robot, progress))
    target = _note_path(tables, path.name)
    target.parent.mkdir(exist_ok=True)
    write_whole(target, msgspec.json.encode(note))
    return len(note.files)


def _note_path(tables: Path, warc: str) -> Path:
    return tables / NOTES / f"{warc}.json"


def _note(tables: Path, warc: str) -> Note | None:
    path = _note_path(tables, warc)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise ArchiveError(
            f"{path} cannot be read ({error})", remedy=f"delete it, and run: joro tables -C {tables.parent}"
        ) from None


def _is_current(note: Note | None, warc: Path) -> bool:
    if note is None or note.version != VERSION:
        return False
    return (note.warc_bytes, note.index_bytes) == (size_of(warc), sorted_index(warc).stat().st_size)
