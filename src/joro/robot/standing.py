"""May the robot start anything now?

In:    the operator's pause, room on the disk, our own memory; the settings, which may change meanwhile.
Out:   why nothing may start, in words for people; looked for twice a second.
Never: touches a visit under way, or ends the robot: it goes on by itself as soon as it may.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from joro.clock import Clock
from joro.robot.memory import give_back, resident_bytes
from joro.robot.renewal import Renewal
from joro.store.collection import Collection
from joro.store.pause import paused

log = logging.getLogger(__name__)

#: Seconds on the wall between two looks.
LOOK_EVERY_S = 0.5
#: Who stands still for want of room goes on when there is so much more than the reserve: not at every byte.
ENOUGH = 1.1
_MB = 1_000_000


class Reason(NamedTuple):
    """Why a robot stands still."""

    word: str
    remedy: str = ""  # without one there is nothing to tell: it comes and goes


class Standing:
    """Whether one robot stands still. Of several in one collection one `tells` people what holds for all."""

    def __init__(
        self,
        collection: Collection,
        clock: Clock,
        renewal: Renewal,
        drops: Sequence[Callable[[], object]] = (),
        *,
        tells: bool = True,
    ) -> None:
        self._path = collection.path
        self._disks = collection.archive, collection.frontier
        self._clock = clock
        self._renewal = renewal
        self._drops = drops
        self._tells = tells
        self._every_s = LOOK_EVERY_S / clock.real_s(1.0)
        self._reason: Reason | None = None
        self._is_short = False  # of room
        self._has_told = False  # of memory
        self.is_still = False
        self.looks_at = 0.0

    @property
    def word(self) -> str:
        """For people: what keeps us from collecting; nothing when all is well."""
        return self._reason.word if self._reason is not None else ""

    def look(self) -> None:
        """See how things stand, unless that was just done."""
        now = self._clock.now()
        if now < self.looks_at:
            return
        self.looks_at = now + self._every_s
        self._tell(self._renewal.look())
        before, self._reason = self._reason, self._pause() or self._want_of_room() or self._want_of_memory()
        self.is_still = self._reason is not None
        if self._reason is None and before is not None and before.remedy:
            self._tell("going on")
        elif self._reason is not None and self._reason.remedy and self._reason != before:
            self._tell(f"{self._reason.word}; {self._reason.remedy}")

    def _pause(self) -> Reason | None:
        found = paused(self._path)
        return Reason(str(found), f"to go on: joro resume -C {self._path}") if found is not None else None

    def _want_of_room(self) -> Reason | None:
        reserve_mb = self._renewal.machine.disk_reserve_mb
        least = reserve_mb * _MB * (ENOUGH if self._is_short else 1.0)
        self._is_short = reserve_mb > 0 and min(map(_free_bytes, self._disks)) < least
        if not self._is_short:
            return None
        return Reason(
            f"standing still: less than machine.disk_reserve_mb = {reserve_mb} is free on the disk",
            f"make room for {self._path}, or lower it",
        )

    def _want_of_memory(self) -> Reason | None:
        limit_mb = self._renewal.machine.memory_limit_mb
        if not limit_mb or resident_bytes() <= limit_mb * _MB:
            return None
        give_back(self._drops)
        word = f"standing still: more memory taken than machine.memory_limit_mb = {limit_mb}"
        if not self._has_told:  # each robot for itself
            log.warning(
                "%s, until it is less; what can be done without is dropped; if it lasts, raise it", word
            )
        self._has_told = True
        return Reason(word) if resident_bytes() > limit_mb * _MB else None

    def _tell(self, line: str) -> None:
        if line and self._tells:
            log.warning("%s", line)


def _free_bytes(directory: os.PathLike[str]) -> int:
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize
