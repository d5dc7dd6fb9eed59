"""What was transferred when, to and from whom; and has a party had its share for today?

In:    transfers, refusals, bytes as they are sent.
Out:   one log file a week, a JSON object a line; what a party may still have today.
Never: forgets today's counts over a restart; lets those who are refused fill the disk.
Paper: S1, 5.4.1: start, end, rate, bytes and number of every transfer, a file each week.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from joro.archive.times import warc_date
from joro.model import DAY_S
from joro.redistribute.parties import Party
from joro.store.durable import write_whole

#: Refusals written down in an hour; whoever knocks more often is not heard.
REFUSALS_PER_HOUR = 1_000
USAGE = "usage.json"


@dataclass
class Transferred:
    """What a transfer moved."""

    packages: int = 0
    captures: int = 0
    bytes: int = 0

    def add(self, captures: int, size: int) -> None:
        """One package more."""
        self.packages += 1
        self.captures += captures
        self.bytes += size


class Journal:
    """The weekly logs of transfers."""

    def __init__(self, directory: Path, now: Callable[[], float]) -> None:
        self._directory = directory
        self._now = now
        self._hour = self._refused = 0

    def path(self, time: float) -> Path:
        """The log of the week in which a moment lies (ISO weeks, UTC)."""
        year, week, _ = datetime.fromtimestamp(time, UTC).isocalendar()
        return self._directory / f"redistribution-{year}-W{week:02}.jsonl"

    def transferred(
        self, act: str, who: str, start: float, size: int, captures: int, *, ended: bool = True, **more: Any
    ) -> None:
        """A transfer is over: whole, or (`ended` false) broken off."""
        now = self._now()
        rate = round(size / (now - start)) if now > start else 0
        self._write(
            {
                "act": act,
                "who": who,
                "start": warc_date(start),
                "end": warc_date(now),
                "bytes": size,
                "captures": captures,
                "bytes_per_s": rate,
                "whole": ended,
                **more,
            }
        )

    @contextmanager
    def transfer(self, act: str, who: str) -> Iterator[Transferred]:
        """A transfer in several packages: written down when it is over, also if it breaks off."""
        moved, start, ended = Transferred(), self._now(), False
        try:
            yield moved
            ended = True
        finally:
            self.transferred(
                act, who, start, moved.bytes, moved.captures, ended=ended, packages=moved.packages
            )

    def refused(self, who: str, address: str, status: int, reason: str, path: str) -> None:
        """Somebody was turned away."""
        hour = int(self._now() // 3600)
        if hour != self._hour:
            self._hour, self._refused = hour, 0
        self._refused += 1
        if self._refused > REFUSALS_PER_HOUR:
            return
        if self._refused == REFUSALS_PER_HOUR:
            reason += "; further refusals of this hour are not listed"
        self._write(
            {
                "act": "refused",
                "who": who,
                "address": address,
                "time": warc_date(self._now()),
                "status": status,
                "reason": reason,
                "path": path[:200],
            }
        )

    def _write(self, entry: dict[str, Any]) -> None:
        self._directory.mkdir(exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        file = os.open(self.path(self._now()), flags, 0o644)
        try:
            os.write(file, msgspec.json.encode(entry) + b"\n")
        finally:
            os.close(file)


class Usage:
    """What each party has had today."""

    def __init__(self, directory: Path, now: Callable[[], float]) -> None:
        self._path = directory / USAGE
        self._now = now
        self._day, self._used = self._today(), dict[str, list[int]]()
        if self._path.exists():
            day, used = msgspec.json.decode(self._path.read_bytes(), type=tuple[int, dict[str, list[int]]])
            if day == self._day:
                self._used = used

    def ask(self, party: Party) -> str:
        """Count a request; why it comes too often, or ""."""
        used = self._of(party)
        if party.requests_per_day and used[0] >= party.requests_per_day:
            return f"{party.name} may send {party.requests_per_day:,} requests a day"
        used[0] += 1
        return ""

    def left_bytes(self, party: Party) -> int | None:
        """What may still be had today; None: no limit."""
        return max(0, party.bytes_per_day - self._of(party)[1]) if party.bytes_per_day else None

    def add(self, party: Party, size: int) -> None:
        self._of(party)[1] += size

    def until_tomorrow_s(self) -> int:
        return int(DAY_S - self._now() % DAY_S) + 1

    def save(self) -> None:
        write_whole(self._path, msgspec.json.encode((self._day, self._used)))

    def _of(self, party: Party) -> list[int]:
        if self._today() != self._day:
            self._day, self._used = self._today(), {}
        return self._used.setdefault(party.name, [0, 0])

    def _today(self) -> int:
        return int(self._now() // DAY_S)
