"""Over how many processes is the frontier spread, and how does it become another number?

In:    the frontier's directory, with one folder per share: `0-of-2`, `1-of-2`.
Out:   the same pages, records and rules in as many shares as are wanted now.
Never: changes the old shares: the new ones are complete before the file `layout` names them, so a crash
       leaves the one or the other.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from rocksdict import WriteBatch

from joro.store.frontier import Frontier
from joro.store.records import Counts, PageRecord, ServerRecord
from joro.url import server_of

#: Keys copied before they are written.
_BATCH = 50_000
_ADDED = ("found", "visited", "over_quota", "trapped", "bytes")


def share_count(directory: Path) -> int:
    """How many shares there are; 0 before the first crawl."""
    try:
        return int((directory / "layout").read_text())
    except FileNotFoundError:
        return 0


def shares(directory: Path, count: int) -> list[Path]:
    """The folders of all shares."""
    return [directory / f"{number}-of-{count}" for number in range(count)]


def set_share_count(directory: Path, count: int) -> None:
    """Say, atomically, which shares count; others are leftovers and go."""
    draft = directory / "layout.new"
    draft.write_text(f"{count}\n")
    os.replace(draft, directory / "layout")
    for folder in directory.glob("*-of-*"):
        if not folder.name.endswith(f"-of-{count}"):
            shutil.rmtree(folder)


def reshare(directory: Path, count: int, owner: Callable[[str], int]) -> None:
    """Spread the frontier over `count` shares; every old one must have been closed, its mail read."""
    old = [Frontier(folder, read_only=True) for folder in shares(directory, share_count(directory))]
    for folder in shares(directory, count):
        shutil.rmtree(folder, ignore_errors=True)
    new = [Frontier(folder) for folder in shares(directory, count)]
    for frontier, keys in zip(new, _sorted_out(old, new, owner), strict=True):
        frontier.merge_marks(np.array(sorted(keys), np.uint64))
    new[0].counts = total_counts(old)
    for number, frontier in enumerate(new):
        frontier.commit(old[number].position if number < len(old) else None)
        if all(each.was_closed for each in old):
            frontier.close()
        else:  # whoever opens it must know that somebody was killed
            frontier.abandon()
    for frontier in old:
        frontier.abandon()
    shutil.rmtree(directory / "exchange", ignore_errors=True)
    set_share_count(directory, count)


def _sorted_out(old: list[Frontier], new: list[Frontier], owner: Callable[[str], int]) -> list[list[int]]:
    """Copy every key to the share it belongs to; the fingerprints each share knows."""
    marks: list[list[int]] = [[] for _ in new]
    batches = [WriteBatch(raw_mode=True) for _ in new]
    for key, value in _keys(old):
        if key[:1] == b"s" and not msgspec.msgpack.decode(value, type=ServerRecord).found:
            continue  # only visited on another server's behalf; its own share knows it better
        home = owner(_server(key, value))
        batches[home].put(key, value)
        if key[:1] in (b"q", b"p"):
            marks[home].append(int.from_bytes(key[-8:], "big"))
        if len(batches[home]) >= _BATCH:
            new[home].write(batches[home])
            batches[home] = WriteBatch(raw_mode=True)
    for frontier, batch in zip(new, batches, strict=True):
        frontier.write(batch)
    return marks


def _keys(frontiers: list[Frontier]) -> Iterator[tuple[bytes, bytes]]:
    for frontier in frontiers:
        for kind in (b"q", b"p", b"s", b"w", b"r", b"t"):
            yield from frontier.scan(kind)


def _server(key: bytes, value: bytes) -> str:
    if key[:1] == b"p":
        return server_of(msgspec.msgpack.decode(value, type=PageRecord).url)
    return key[1:-10].decode() if key[:1] == b"q" else key[1:].decode()


def total_counts(frontiers: list[Frontier]) -> Counts:
    """The sum of all shares; which share an outcome belongs to is of no interest to anyone."""
    counts = Counts()
    for frontier in frontiers:
        for name in _ADDED:
            setattr(counts, name, getattr(counts, name) + getattr(frontier.counts, name))
        for outcome, number in frontier.counts.outcomes.items():
            counts.outcomes[outcome] = counts.outcomes.get(outcome, 0) + number
    return counts
