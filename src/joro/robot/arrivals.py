"""When is what the callers bring home taken in?

In:    what each of them brings, one by one.
Out:   several at a time, so that each step of the work follows itself and finds its code and tables at hand.
Never: lets anybody wait for most of the others, or for long; loses what was brought when callers are called
       off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from joro.discover.wanted import Verdict
from joro.fetch.exclusion import Errand
from joro.model import PASSING, Page, Visit
from joro.parse.outline import Outline
from joro.store.records import PageRecord

#: Taken in together at most: more gain nothing, and hold the loop up longer.
MOST = 16
#: And at most one in so many of those who are out: answers to the others are on their way in the meantime.
#: Where sixteen of twenty waited for each other, a core had nothing to do for a sixth of the time.
SHARE = 4
#: Nobody waits longer for others than this.
PATIENCE_S = 0.01


@dataclass(slots=True)
class Arrival:
    """A visit that ended, and what becomes known of it from step to step."""

    visit: Visit
    before: PageRecord | None  # what the frontier knew of the page, if it was visited before
    errand: Errand | None = None  # a robots.txt
    digest: str = ""  # of what was archived
    outline: Outline | None = None
    verdict: Verdict = field(init=False)
    page: Page = field(init=False)


class Arrivals:
    """What was brought and waits; `out` tells how many callers there are, those who wait here among them."""

    def __init__(
        self,
        take_in: Callable[[list[Arrival]], None],
        out: Callable[[], int],
        real_s: Callable[[float], float] = lambda seconds: seconds,
    ) -> None:
        self._take_in = take_in
        self._out = out
        self._patience_s = real_s(PATIENCE_S)
        self._here: list[Arrival] = []
        self._waiting: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def bring(self, one: Arrival) -> None:
        """Returns, or raises, when it has been taken in: at once if the server may have asked for mercy."""
        self._here.append(one)
        is_urgent = one.visit.outcome in PASSING
        if is_urgent or len(self._here) >= min(MOST, self._out() / SHARE):
            self.take_in()
            return
        if self._waiting is None:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            self._timer = loop.call_later(self._patience_s, self._lose_patience)
        await self._waiting

    def take_in(self) -> None:
        """Whatever is here, now."""
        here, waiting = self._here, self._waiting
        self._here, self._waiting = [], None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self._take_in(here)
        except Exception as error:
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
            raise
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _lose_patience(self) -> None:
        """Unless those who wait were called off: then somebody else asks."""
        if self._waiting is not None and not self._waiting.done():
            with suppress(Exception):  # they are told
                self.take_in()
