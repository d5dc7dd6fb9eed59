"""Who is out calling, and who may leave next?

In:    a source of servers whose turn it is, and what to do at one of them.
Out:   at most so many calls under way at once, a new one as soon as another ends.
Never: decides whose turn it is; lets an error in one call go unnoticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Callers:
    """Calls under way. `next_server` may give None: then nobody leaves until `send` is called again."""

    def __init__(
        self,
        call: Callable[[str], Coroutine[Any, Any, None]],
        next_server: Callable[[], str | None],
        limit: int,
    ) -> None:
        self._call = call
        self._next_server = next_server
        self._limit = limit
        self._calls: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self.failure: BaseException | None = None

    def __len__(self) -> int:
        """Calls under way."""
        return len(self._calls)

    @property
    def is_full(self) -> bool:
        """Nobody more may leave before someone is back."""
        return len(self._calls) >= self._limit

    def send(self) -> None:
        """Send someone to every server whose turn it is, as long as there are callers."""
        while not self.is_full and self.failure is None and (server := self._next_server()) is not None:
            call = asyncio.create_task(self._call(server))
            self._calls.add(call)
            call.add_done_callback(self._returned)

    def _returned(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        if not call.cancelled() and call.exception() is not None:
            self.failure = self.failure or call.exception()
        self.send()
        self.wake()

    def wake(self) -> None:
        """Let `wait` return."""
        self._wake.set()

    async def wait(self, seconds: float) -> None:
        """Until a call has ended or `seconds` have passed."""
        self._wake.clear()
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def come_home(self, grace_s: float | None) -> None:
        """Let the calls under way end, for a while, and break off the others."""
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=grace_s)
        for call in set(self._calls):
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
