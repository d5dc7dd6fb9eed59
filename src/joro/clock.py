"""What time is it, really or in the simulation?

Out:   seconds since 1970 (UTC) as a float, and sleeping until later.
Never: anything else of ours reads the wall clock (ruff's banned API sees to it), so a test or
       a simulator can run a year in a second.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from typing import Final, Protocol

#: What goes on while the machine sleeps: CLOCK_MONOTONIC of Linux stands still, and a robot that woke up
#: would believe in a lease that ran out in its sleep.
_TICKING: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What anyone may ask of time."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""

    async def sleep(self, seconds: float) -> None:
        """Return when `seconds` have passed on this clock."""

    def real_s(self, seconds: float) -> float:
        """How long that takes for somebody who looks at the wall."""


class RealClock:
    """Wall-clock time, made monotonic within the process: an NTP step never turns an interval negative."""

    def __init__(self) -> None:
        self._offset = time.time() - time.clock_gettime(_TICKING)

    def now(self) -> float:
        return time.clock_gettime(_TICKING) + self._offset

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def real_s(self, seconds: float) -> float:
        return seconds


class FastClock:
    """Real time multiplied by `speed` from `epoch` on: a day of web in a minute of test."""

    def __init__(self, *, epoch: float, speed: float) -> None:
        self.epoch = epoch
        self.speed = speed
        self._start = time.monotonic()

    def now(self) -> float:
        return self.epoch + (time.monotonic() - self._start) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(self.real_s(seconds))

    def real_s(self, seconds: float) -> float:
        return seconds / self.speed


class FakeClock:
    """Time that passes only when told to: sleepers wake, in order, inside `advance`."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._now + seconds, self._count, future))
        await future

    def real_s(self, seconds: float) -> float:
        return seconds

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass; everyone whose time has come runs until it sleeps again."""
        end = self._now + seconds
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            wake_at, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, wake_at)
            if not future.done():
                future.set_result(None)
            await _settle()
        self._now = end


async def _settle() -> None:
    """Give every ready coroutine its turn: ten rounds reach through any await chain of ours."""
    for _ in range(10):
        await asyncio.sleep(0)
