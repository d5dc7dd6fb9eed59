"""Is another process at this server, to read its robots.txt for a server of its own?

In:    servers about to be asked: each by its host, the process in whose share it is, or by a guest from
       another share, where robots.txt redirects across shares.
Out:   when a server may be asked: now, or later.
Never: lets a guest be at a server together with anybody else, or before its pause is over, whomever the
       server asked for it; keeps a server for a guest that died; makes a visit ask the kernel, or wait,
       where no guest is.

The processes share a file. Each server has a cell in it, by hash, with six moments, three of its host and
three of guests: since when one is there, when one left, and when the server may be asked again by what it
said then (Retry-After, Crawl-delay, errors that make pauses longer). Whoever comes writes that down first and
looks for the other then: one of both sees the other. Processors may read before what they wrote is seen, so a
guest lets a moment pass in between; a host, who comes far more often, need not. A lock keeps guests apart.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable
from pathlib import Path

import xxhash

from joro.errors import CollectionError

#: Servers in the file. It has 48 bytes for each, of which the disk keeps only what is used.
CELLS = 1 << 20
#: Servers of which it is remembered where they are in the file, and whose.
REMEMBERED = 20_000
#: What a guest lets pass between writing and looking; also when to try again where somebody is.
MOMENT_S = 0.5

#: What is in a cell.
_HOST_SINCE, _HOST_LEFT, _HOST_READY, _GUEST_SINCE, _GUEST_LEFT, _GUEST_READY, _COLUMNS = range(7)


class Guests:
    """The servers at which processes of a machine are; one object to a process, made in it."""

    def __init__(
        self,
        path: Path,
        is_host: Callable[[str], bool],
        pause_s: Callable[[str], float],
        longest_s: float,
    ) -> None:
        self._is_host = is_host
        self._pause_s = pause_s
        self._longest_s = longest_s  # no visit takes longer: who seems to be somewhere for longer was killed
        self._known: dict[str, tuple[int, bool]] = {}  # where in the file, and is it ours
        self._guest_since: dict[int, float] = {}  # where we are announced as one
        size = CELLS * _COLUMNS * 8
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.ftruncate(self._file, size)
            self._map = mmap.mmap(self._file, size)
        except OSError as error:
            raise CollectionError(
                f"{path} cannot be used ({error.strerror})", remedy="check the disk and permissions"
            ) from None
        self._moments = memoryview(self._map).cast("d")

    def enter(self, server: str, now: float, *, in_run: bool = False) -> float:
        """`now` if the server may be asked; else when to try again.

        It counts as being asked until `leave` or `step_back`. A run goes on without a pause.
        """
        at, is_host = self._known.get(server) or self._locate(server)
        return self._enter_as_host(server, at, now, in_run) if is_host else self._enter(server, at, now)

    def leave(self, server: str, now: float) -> None:
        """The visit ended `now`."""
        at, is_host = self._known.get(server) or self._locate(server)
        if is_host:
            self._moments[at + _HOST_LEFT] = now
            self._moments[at + _HOST_SINCE] = 0.0
            return
        self._moments[at + _GUEST_LEFT] = now
        self._moments[at + _GUEST_SINCE] = 0.0
        del self._guest_since[at]
        self._unlock(at)

    def promise(self, server: str, ready_at: float) -> None:
        """Nobody is to ask the server before `ready_at`, by what it said at our last visit."""
        at, is_host = self._known.get(server) or self._locate(server)
        self._moments[at + (_HOST_READY if is_host else _GUEST_READY)] = ready_at

    def step_back(self, server: str) -> None:
        """There was no visit after all. A guest remains announced: it will try again."""
        at, is_host = self._known.get(server) or self._locate(server)
        if is_host:
            self._moments[at + _HOST_SINCE] = 0.0

    def close(self) -> None:
        """Let go of everything."""
        for at in self._guest_since:
            self._moments[at + _GUEST_SINCE] = 0.0
        self._moments.release()
        self._map.close()
        os.close(self._file)

    def _locate(self, server: str) -> tuple[int, bool]:
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        cell = xxhash.xxh3_64_intdigest(server.encode()) % CELLS
        known = self._known[server] = cell * _COLUMNS, self._is_host(server)
        return known

    def _enter_as_host(self, server: str, at: int, now: float, in_run: bool) -> float:
        moments = self._moments
        moments[at + _HOST_SINCE] = now
        if not moments[at + _GUEST_LEFT] and not moments[at + _GUEST_SINCE]:
            return now  # as nearly always
        free_at = now
        if moments[at + _GUEST_SINCE] and not self._is_orphaned(at):
            free_at = now + MOMENT_S
        elif not in_run:
            free_at = self._rested_at(server, now, moments[at + _GUEST_LEFT], moments[at + _GUEST_READY])
        if free_at > now:
            moments[at + _HOST_SINCE] = 0.0
        return free_at

    def _is_orphaned(self, at: int) -> bool:
        """Was the guest killed? Then the server is as if it had just left."""
        if not self._lock(at):
            return False
        self._moments[at + _GUEST_LEFT] = self._moments[at + _GUEST_SINCE]
        self._moments[at + _GUEST_SINCE] = 0.0
        self._unlock(at)
        return True

    def _enter(self, server: str, at: int, now: float) -> float:
        moments = self._moments
        if at not in self._guest_since:
            if not self._lock(at):
                return now + MOMENT_S
            self._guest_since[at] = moments[at + _GUEST_SINCE] = now
        free_at = self._guest_since[at] + MOMENT_S
        if free_at > now:
            return min(free_at, now + MOMENT_S)  # the clock may have been set back
        if 0.0 <= now - moments[at + _HOST_SINCE] < self._longest_s:
            return now + MOMENT_S
        after_host = self._rested_at(server, now, moments[at + _HOST_LEFT], moments[at + _HOST_READY])
        after_guest = self._rested_at(server, now, moments[at + _GUEST_LEFT], moments[at + _GUEST_READY])
        free_at = max(after_host, after_guest)
        if free_at <= now:
            moments[at + _GUEST_SINCE] = now
        return free_at

    def _rested_at(self, server: str, now: float, left_at: float, ready_at: float) -> float:
        """When it has been left alone for long enough; what lies ahead comes from a clock set back."""
        return max(now, left_at + self._pause_s(server), ready_at) if left_at <= now else now

    def _lock(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, byte: int) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)
