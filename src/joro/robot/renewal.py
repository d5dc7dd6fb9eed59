"""Which settings of a running robot have changed, and can it go by the new ones at once?

In:    `joro.toml`, as it stands now.
Out:   politeness, scope and the guards of the machine taken over; a line for people that says so, and what
       has to wait for the next start.
Never: goes by a file that is being written, or by a part of one that is wrong: then all stays as it was.
       Makes a pause shorter that a server was promised.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joro.config import FILE_NAME, Config, Machine, load, settings
from joro.discover.scope import Boundary
from joro.discover.wanted import Wanted
from joro.errors import ConfigError
from joro.fetch.address import AddressLimits
from joro.fetch.politeness import Manners
from joro.robot.gate import Gate
from joro.robot.reading import Reading
from joro.store.collection import Collection

#: Sections, and single settings, that a running robot takes over.
LIVE = frozenset({"politeness", "scope", "machine.disk_reserve_mb", "machine.memory_limit_mb"})
#: A longer value is not told.
TOLD_CHARS = 60


@dataclass(frozen=True)
class Rules:
    """Whoever goes by settings that may change."""

    manners: Manners
    limits: AddressLimits
    boundary: Boundary
    reading: Reading
    gate: Gate

    def take_over(self, wished: Config) -> None:
        """Go by these from now on. What is wrong with them is noticed before anything is changed."""
        Manners(wished.politeness)
        Boundary(wished.scope)
        Wanted(wished.scope)
        self.manners.renew(wished.politeness)
        self.limits.renew(wished.politeness.per_address)
        self.gate.renew()
        self.boundary.renew(wished.scope)
        self.reading.renew(wished.scope)


class Renewal:
    """The settings file of one robot; `machine` is its section of that name, as it stands."""

    def __init__(self, collection: Collection, take_over: Callable[[Config], None]) -> None:
        self._file = collection.path / FILE_NAME
        self._take_over = take_over
        self._known = self._seen = _stamp(self._file)
        # The collection's own may have been changed by the command line, which goes on to win.
        self._settings = load(self._file) if self._known is not None else collection.config

    @property
    def machine(self) -> Machine:
        return self._settings.machine

    def look(self) -> str:
        """What there is to tell about new settings; nothing when there are none.

        They count at the second look: by then whoever wrote the file has finished.
        """
        before, self._seen = self._seen, _stamp(self._file)
        if self._seen == self._known or self._seen != before:
            return ""
        self._known = self._seen
        try:
            wished = load(self._file)
            self._take_over(wished)
        except ConfigError as error:
            return f"{error}; the settings from before stay in force"
        changed = list(_changed(self._settings, wished))
        self._settings = wished
        return _told(changed)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _changed(before: Config, after: Config) -> Iterator[tuple[str, str, Any]]:
    for (section, key, old, _), (_, _, new, _) in zip(settings(before), settings(after), strict=True):
        if old != new:
            yield section, f"{section}.{key}", new


def _told(changed: list[tuple[str, str, Any]]) -> str:
    now = [_with_value(name, value) for section, name, value in changed if LIVE & {section, name}]
    later = [name for section, name, _ in changed if not LIVE & {section, name}]
    parts = [f"taken over: {', '.join(now)}"] if now else []
    parts += [f"takes effect at the next start: {', '.join(later)}"] if later else []
    return f"{FILE_NAME} has changed; {'; '.join(parts)}" if parts else ""


def _with_value(name: str, value: Any) -> str:
    told = f"{name} = {list(value) if isinstance(value, tuple) else value!r}"
    return told if len(told) <= TOLD_CHARS else name
