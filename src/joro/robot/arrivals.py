"""When is what the callers bring home taken in?

In:    what each of them brings, one by one.
Out:   several at a time, so that each step of the work follows itself and finds its code and tables at hand.
Never: waits for anybody who is not right behind; loses what was brought when callers are called off.
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
    """What was brought and waits for those who come right behind."""

    def __init__(self, take_in: Callable[[list[Arrival]], None]) -> None:
        self._take_in = take_in
        self._here: list[Arrival] = []
        self._waiting: asyncio.Future[None] | None = None

    async def bring(self, one: Arrival) -> None:
        """Returns, or raises, when it has been taken in: at once if the server may have asked for mercy."""
        self._here.append(one)
        if one.visit.outcome in PASSING or len(self._here) >= MOST:
            self.take_in()
            return
        if self._waiting is None:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            loop.call_soon(self._look, self._waiting, 0)
        await self._waiting

    def take_in(self) -> None:
        """Whatever is here, now."""
        here, waiting = self._here, self._waiting
        self._here, self._waiting = [], None
        try:
            self._take_in(here)
        except Exception as error:
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
            raise
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _look(self, waiting: asyncio.Future[None], were_here: int) -> None:
        """Has nobody come since the loop went round? Then nobody is right behind.

        Those who were called off while they waited are left: somebody else asks for what they brought.
        """
        if waiting is not self._waiting or waiting.done():
            return
        if len(self._here) > were_here:
            waiting.get_loop().call_soon(self._look, waiting, len(self._here))
            return
        with suppress(Exception):  # they are told
            self.take_in()
