"""When is a transfer attempted, and when again after it has failed?

In:    a schedule, something to attempt, a clock.
Out:   attempts at the times of the schedule.
Never: attempts two at once.
Paper: S1, 5.4.1: after a failure again in an hour; after another, at the next time of the schedule.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from joro.clock import Clock
from joro.redistribute.cron import Cron

RETRY_S = 3_600.0

#: Did it succeed?
Attempt = Callable[[], Awaitable[bool]]


async def keep(cron: Cron, attempt: Attempt, clock: Clock) -> None:
    """Attempt it at every time of the schedule, for ever."""
    while True:
        await clock.sleep(cron.next(clock.now()) - clock.now())
        if await attempt():
            continue
        if cron.next(clock.now()) - clock.now() > RETRY_S:
            await clock.sleep(RETRY_S)
            await attempt()
