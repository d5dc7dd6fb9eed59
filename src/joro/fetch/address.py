"""How many of us are at this IP address?

In:    addresses about to be connected to, by any process of the machine.
Out:   a hold, or none while too many hold the address or the last visit to it is too fresh.
Never: waits; keeps an address when its holder dies, however it dies.
Paper: S2 table 1 (no crowd of collectors at one address that has many host names), S4 (about ten seconds
       between visits to one address).

The processes share a file. Each address has a cell in it, by hash: the moment it was last used. Beside it lie
files with bytes to lock, as many for each cell as it may have holders. Locks belong to processes and the
kernel frees them when one ends, so within the process holders are counted here. Two addresses that fall on
one cell wait for each other: of ten thousand addresses in use, one in a hundred shares its cell, and we are
only too polite to it.
"""

from __future__ import annotations

import fcntl
import functools
import ipaddress
import mmap
import os
from pathlib import Path

import xxhash

from joro.errors import CollectionError

#: Addresses in the file. It has 8 bytes for each, of which the disk keeps only what is used.
CELLS = 1 << 20
#: The most holders an address may have; every cell has room for the locks of so many.
MOST_HOLDERS = 64
#: What can be locked of a cell: a place for each holder, and the moment it was last used.
_GATE, _PLACES = MOST_HOLDERS, MOST_HOLDERS + 1
#: Files with locks. For each lock that is taken the kernel looks through all others of the file: where three
#: hundred were in one, the two calls of a visit took it 9 µs.
LOCK_FILES = 64
#: How a machine without IPv4 reaches the old web (RFC 6052).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: How long to leave an address alone at which others are: they may be gone at any moment.
BUSY_WAIT_S = 0.5


class Hold:
    """Leave to be at an address, until released or the process ends."""

    __slots__ = ("_cell", "_limits", "_place")

    def __init__(self, limits: AddressLimits, cell: int, place: int) -> None:
        self._limits: AddressLimits | None = limits
        self._cell = cell
        self._place = place

    def release(self, now: float) -> None:
        """The visit ended `now`. Once is enough; more often does no harm."""
        if self._limits is not None:
            self._limits.give_back(self._cell, self._place, now)
            self._limits = None


class AddressLimits:
    """The addresses all processes of a machine are at.

    One object to a process and path, made in the process that uses it: locks are not inherited, and closing
    a file anywhere in a process lets go of all its locks.
    """

    def __init__(self, path: Path, per_address: int, *, alone: bool = False) -> None:
        self._is_alone = alone  # no other process uses the file: then counting is enough
        self.renew(per_address)
        self._held: dict[int, int] = {}  # cell → one bit for each of its locks that is ours
        self._locks: list[int] = []
        try:
            self._file = _opened(path)
            os.ftruncate(self._file, CELLS * 8)
            self._map = mmap.mmap(self._file, CELLS * 8)
            if not alone:
                self._locks = [_opened(place) for place in _lock_files(path)]
        except OSError as error:
            raise CollectionError(
                f"{path} cannot be used ({error.strerror})", remedy="check the disk and permissions"
            ) from None
        self._used_at = memoryview(self._map).cast("d")

    def renew(self, per_address: int) -> None:
        """Let so many be at an address from now on; who is at one stays."""
        self._per_address = min(per_address, MOST_HOLDERS)

    def try_hold(self, address: str, now: float, interval_s: float = 0.0) -> Hold | None:
        """Leave to visit `address`, if fewer than `per_address` do and none did for `interval_s`."""
        cell = _cell(address)
        ours = self._held.get(cell, 0)
        for place in range(self._per_address):
            if not ours >> place & 1 and self._lock(cell, place):
                break
        else:
            return None
        if not self._use(cell, now, interval_s):
            self._unlock(cell, place)
            return None
        self._held[cell] = ours | 1 << place
        return Hold(self, cell, place)

    def _use(self, cell: int, now: float, interval_s: float) -> bool:
        """Note that the cell is used from `now` on, unless it has not rested; one process at a time.

        Where an address has one holder, that is the one.
        """
        if self._per_address == 1:
            return self._note(cell, now, interval_s)
        if not self._lock(cell, _GATE):
            return False
        rested = self._note(cell, now, interval_s)
        self._unlock(cell, _GATE)
        return rested

    def _note(self, cell: int, now: float, interval_s: float) -> bool:
        used_at = self._used_at[cell]
        rested = not now - interval_s < used_at <= now  # what lies ahead comes from a clock set back
        if rested:
            self._used_at[cell] = now  # all that a holder leaves when it is killed
        return rested

    def free_at(self, address: str, now: float, interval_s: float = 0.0) -> float:
        """When it is worth asking again for an address that could not be had."""
        rested_at = self._used_at[_cell(address)] + interval_s
        return rested_at if now < rested_at <= now + interval_s else now + BUSY_WAIT_S

    def give_back(self, cell: int, place: int, now: float) -> None:
        """What `Hold.release` does."""
        self._used_at[cell] = now
        left = self._held[cell] & ~(1 << place)
        if left:
            self._held[cell] = left
        else:
            del self._held[cell]
        self._unlock(cell, place)

    def close(self) -> None:
        """Let go of everything."""
        self._used_at.release()
        self._map.close()
        for file in (self._file, *self._locks):
            os.close(file)
        self._held.clear()

    def _lock(self, cell: int, place: int) -> bool:
        if self._is_alone:
            return True
        file, byte = self._locks[cell % LOCK_FILES], cell * _PLACES + place
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, cell: int, place: int) -> None:
        if not self._is_alone:
            fcntl.lockf(self._locks[cell % LOCK_FILES], fcntl.LOCK_UN, 1, cell * _PLACES + place)


def _lock_files(path: Path) -> list[Path]:
    folder = path.with_name(path.name + "-locks")
    folder.mkdir(exist_ok=True)
    return [folder / str(number) for number in range(LOCK_FILES)]


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


@functools.lru_cache(maxsize=8_192)
def _cell(address: str) -> int:
    return xxhash.xxh3_64_intdigest(_plain(address).encode()) % CELLS


def _plain(address: str) -> str:
    """One spelling for one host, though it be reached by IPv6 that leads to its IPv4 address."""
    if ":" not in address:
        return address
    number = ipaddress.IPv6Address(address)
    if number in _NAT64:
        return str(ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF))
    return str(number.ipv4_mapped or number)
