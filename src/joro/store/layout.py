"""Over how many processes is the frontier spread, and how does it become another number?

In:    the frontier's directory, with one folder per share: `0-of-2`, `1-of-2`.
Out:   the same pages, records, rules and dates in as many shares as are wanted now.
Never: changes the old shares: the new ones are complete before the file `layout` names them, so a crash
       leaves the one or the other. Believes a number that the folders contradict.
"""

from __future__ import annotations

import re
import shutil
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from rocksdict import WriteBatch

from joro.errors import CollectionError
from joro.store.again import ASKED_FOR
from joro.store.calendar import entries_in, key_like
from joro.store.durable import write_whole
from joro.store.frontier import Frontier
from joro.store.records import Counts, PageRecord, ServerRecord
from joro.store.seen import Marks
from joro.url import fingerprint, server_of

#: Keys copied before they are written.
_BATCH = 50_000
#: Remembered by name, and true of every share when it is of all of them, or of any.
_OF_ALL, _OF_ANY = "adopted", ASKED_FOR
#: Remembered for processes that may come again: else one would take all that it archived long ago for new.
_POSITION_OF = "position of "
_SHARE = re.compile(r"(0|[1-9][0-9]*)-of-([1-9][0-9]*)")
#: Of the number of shares, at most: so many processes no machine has.
_DIGITS = 4
_ADDED = ("found", "visited", "over_quota", "trapped", "bytes")


def share_count(directory: Path) -> int:
    """How many shares there are; 0 before the first crawl."""
    try:
        text = (directory / "layout").read_bytes()
    except FileNotFoundError:
        if _found(directory):
            raise _contradicted(directory, "is missing") from None
        return 0
    except PermissionError as error:
        raise CollectionError(
            f"{directory / 'layout'} cannot be read ({error.strerror})",
            remedy="get permission to read it, or run this as its owner",
        ) from None
    except OSError as error:
        raise _contradicted(directory, f"cannot be read ({error.strerror or error})") from None
    number = text.strip()
    if not number.isdigit() or len(number) > _DIGITS:
        raise _contradicted(directory, "cannot be read (not a number of shares)")
    count, found = int(number), _found(directory)
    # Shares that nobody has begun yet are missing, too; but then there are no others.
    if count not in _complete(found) and any(other != count for _, other in found):
        raise _contradicted(directory, f"says {count}")
    return count


def _found(directory: Path) -> set[tuple[int, int]]:
    """The shares that have a folder: number, and of how many."""
    names = [_SHARE.fullmatch(path.name) for path in directory.glob("*-of-*") if path.is_dir()]
    return {(int(name[1]), int(name[2])) for name in names if name}


def _complete(found: set[tuple[int, int]]) -> list[int]:
    """The numbers of shares of which none is missing."""
    counts = sorted({count for _, count in found if count})
    return [count for count in counts if all((number, count) in found for number in range(count))]


def _contradicted(directory: Path, problem: str) -> CollectionError:
    found = _found(directory)
    there = ", ".join(f"{number}-of-{count}" for number, count in sorted(found, key=lambda each: each[::-1]))
    match _complete(found):
        case []:
            remedy = "restore the frontier from a copy, with the file: no set of folders is complete"
        case [count]:
            remedy = f"write {count} into it"
        case counts:
            remedy = f"write {' or '.join(map(str, counts))} into it, or restore it from a copy"
    return CollectionError(
        f"{directory / 'layout'} {problem}, and there are {there or 'no folders'}", remedy=remedy
    )


def shares(directory: Path, count: int) -> list[Path]:
    """The folders of all shares."""
    return [directory / f"{number}-of-{count}" for number in range(count)]


def set_share_count(directory: Path, count: int) -> None:
    """Say, atomically, which shares count; others are leftovers and go.

    Whoever calls it has asked for the `share_count` before, and so knows that nothing is lost.
    """
    write_whole(directory / "layout", f"{count}\n".encode())
    for folder in directory.glob("*-of-*"):
        if not folder.name.endswith(f"-of-{count}"):
            shutil.rmtree(folder)


def reshare(directory: Path, count: int, owner: Callable[[str], int]) -> None:
    """Spread the frontier over `count` shares; every old one must have been closed, its mail read."""
    sources = shares(directory, share_count(directory))
    for folder in sources:
        if not (folder / "pages").is_dir():
            raise CollectionError(
                f"{folder} is missing, or empty",
                remedy=f"restore it from a copy, or have it made anew: joro crawl --processes {len(sources)}",
            )
    old = [Frontier(folder, read_only=True) for folder in sources]
    for folder in shares(directory, count):
        shutil.rmtree(folder, ignore_errors=True)
    new = [Frontier(folder) for folder in shares(directory, count)]
    marks, homes = _sorted_out(old, new, owner)
    for frontier, known in zip(new, marks, strict=True):
        frontier.merge_marks(np.array(sorted(known), np.uint64))
    _move_dates(old, new, homes)
    _agree(old, new)
    new[0].counts = total_counts(old)
    positions = _positions(old)
    for number in filter(lambda number: number >= count, positions):
        new[0].keep(f"{_POSITION_OF}{number}", msgspec.msgpack.encode(positions[number]))
    for number, frontier in enumerate(new):
        frontier.commit(positions.get(number))
        if all(each.was_closed for each in old):
            frontier.close()
        else:  # whoever opens it must know that somebody was killed
            frontier.abandon()
    for frontier in old:
        frontier.abandon()
    shutil.rmtree(directory / "exchange", ignore_errors=True)
    set_share_count(directory, count)


class _Movers:
    """Writes keys to the shares they go to, many at a time."""

    def __init__(self, frontiers: list[Frontier]) -> None:
        self._frontiers = frontiers
        self._batches = [WriteBatch(raw_mode=True) for _ in frontiers]

    def put(self, home: int, key: bytes, value: bytes) -> None:
        self._batches[home].put(key, value)
        if len(self._batches[home]) >= _BATCH:
            self._write(home)

    def close(self) -> None:
        for home in range(len(self._batches)):
            self._write(home)

    def _write(self, home: int) -> None:
        self._frontiers[home].write(self._batches[home])
        self._batches[home] = WriteBatch(raw_mode=True)


class _Homes:
    """Which share a server goes to, by its fingerprint: ten bytes a server."""

    def __init__(self) -> None:
        self._servers, self._homes = array("Q"), array("H")

    def add(self, server: str, home: int) -> None:
        self._servers.append(fingerprint(server))
        self._homes.append(home)

    def close(self) -> Callable[[Marks], NDArray[np.int32]]:
        """All are known: the shares of servers, -1 for those nobody knows."""
        servers, homes = np.array(self._servers, np.uint64), np.array(self._homes, np.int32)
        order = np.argsort(servers)
        servers, homes = servers[order], homes[order]

        def homes_of(asked: Marks) -> NDArray[np.int32]:
            if not len(servers):
                return np.full(len(asked), -1, np.int32)
            places = np.minimum(np.searchsorted(servers, asked), len(servers) - 1)
            return np.where(servers[places] == asked, homes[places], np.int32(-1))

        return homes_of


def _sorted_out(
    old: list[Frontier], new: list[Frontier], owner: Callable[[str], int]
) -> tuple[list[list[int]], _Homes]:
    """Copy every key to its share; the fingerprints each share knows, and where servers went."""
    marks: list[list[int]] = [[] for _ in new]
    movers, homes = _Movers(new), _Homes()
    for key, value in _keys(old):
        if key[:1] == b"s" and not msgspec.msgpack.decode(value, type=ServerRecord).found:
            continue  # only visited on another server's behalf; its own share knows it better
        server = _server(key, value)
        home = owner(server)
        movers.put(home, key, value)
        if key[:1] in (b"q", b"p"):
            marks[home].append(int.from_bytes(key[-8:], "big"))
        elif key[:1] == b"s":
            homes.add(server, home)
    movers.close()
    return marks, homes


def _move_dates(old: list[Frontier], new: list[Frontier], homes: _Homes) -> None:
    """A date names its server by fingerprint only; it goes where the server went."""
    movers, homes_of = _Movers(new), homes.close()
    for frontier in old:
        for key, block in frontier.scan(b"c"):
            dates = entries_in(block)
            went = homes_of(dates["server"])
            for home in np.unique(went[went >= 0]).tolist():
                movers.put(home, key_like(key), dates[went == home].tobytes())
    movers.close()


def _agree(old: list[Frontier], new: list[Frontier]) -> None:
    for name, how_many in ((_OF_ALL, all), (_OF_ANY, any)):
        if old and how_many(name in frontier.kept(name) for frontier in old):
            for frontier in new:
                frontier.keep(name, b"yes")


def _positions(old: list[Frontier]) -> dict[int, tuple[str, int]]:
    """How far the archive is known of what each process has written, also of those that are no more."""
    kept = [entry for frontier in old for entry in frontier.kept(_POSITION_OF).items()]
    positions = {
        int(name.removeprefix(_POSITION_OF)): msgspec.msgpack.decode(packed, type=tuple[str, int])
        for name, packed in kept
    }
    return positions | {
        number: frontier.position for number, frontier in enumerate(old) if frontier.position is not None
    }


def _keys(frontiers: list[Frontier]) -> Iterator[tuple[bytes, bytes]]:
    for frontier in frontiers:
        for kind in (b"q", b"p", b"s", b"w", b"r", b"t", b"f", b"d"):
            yield from frontier.scan(kind)


def _server(key: bytes, value: bytes) -> str:
    if key[:1] == b"p":
        return server_of(msgspec.msgpack.decode(value, type=PageRecord).url)
    return key[1:-10].decode() if key[:1] in (b"q", b"f") else key[1:].decode()


def total_counts(frontiers: list[Frontier]) -> Counts:
    """The sum of all shares; which share an outcome belongs to is of no interest to anyone."""
    counts = Counts()
    for frontier in frontiers:
        for name in _ADDED:
            setattr(counts, name, getattr(counts, name) + getattr(frontier.counts, name))
        for outcome, number in frontier.counts.outcomes.items():
            counts.outcomes[outcome] = counts.outcomes.get(outcome, 0) + number
    return counts


def counts_in(directory: Path) -> Counts:
    """What all shares of a frontier have counted; somebody may be working there."""
    folders = shares(directory, share_count(directory))
    frontiers = [Frontier(folder, read_only=True) for folder in folders if (folder / "pages").exists()]
    counts = total_counts(frontiers)
    for frontier in frontiers:
        frontier.abandon()
    return counts
