"""Who is out calling, and who may leave next?

In:    a source of servers whose turn it is, and what to do at one of them.
Out:   at most so many callers out at once; who comes back from a server goes on to the next, if there is one.
Never: decides whose turn it is; lets an error in one call go unnoticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Callers:
    """Callers out. `next_server` may give None: then nobody leaves until `send` is called again."""

    def __init__(
        self,
        call: Callable[[str], Coroutine[Any, Any, None]],
        next_server: Callable[[], str | None],
        limit: int,
        real_s: Callable[[float], float] = lambda seconds: seconds,
    ) -> None:
        self._call = call
        self._next_server = next_server
        self._limit = limit
        self._real_s = real_s
        self._out: set[asyncio.Task[None]] = set()
        self._waiting: asyncio.Future[None] | None = None
        self.failure: BaseException | None = None

    def __len__(self) -> int:
        """Calls under way."""
        return len(self._out)

    @property
    def is_full(self) -> bool:
        """Nobody more may leave before someone is back."""
        return len(self._out) >= self._limit

    def send(self) -> None:
        """Send someone to every server whose turn it is, as long as there are callers."""
        while not self.is_full and self.failure is None and (server := self._next_server()) is not None:
            caller = asyncio.create_task(self._go(server))
            self._out.add(caller)
            caller.add_done_callback(self._returned)

    async def _go(self, server: str | None) -> None:
        """From server to server: a caller who is out anyway is cheaper than a new one."""
        while server is not None:
            await self._call(server)
            server = self._next_server() if self.failure is None else None

    def _returned(self, caller: asyncio.Task[None]) -> None:
        self._out.discard(caller)
        if not caller.cancelled() and caller.exception() is not None:
            self.failure = self.failure or caller.exception()
        self.wake()

    def wake(self) -> None:
        """Let `wait` return."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Until a caller is back or `seconds` have passed."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(max(0.0, self._real_s(seconds)), self.wake)
        try:
            await self._waiting
        finally:
            timer.cancel()

    async def come_home(self, grace_s: float | None) -> None:
        """Let the calls under way end, for a while, and break off the others."""
        if self._out:
            await asyncio.wait(set(self._out), timeout=grace_s)
        for caller in set(self._out):
            caller.cancel()
        await asyncio.gather(*self._out, return_exceptions=True)
