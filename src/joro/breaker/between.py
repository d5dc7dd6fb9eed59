"""How does one side of a connection wait for the other?

In:    two streams, a client's and a server's; a wish that was granted.
Out:   `Stream`, a stream that can be held; `Between`, what an exchange and a tunnel have in common.
Never: reads on from one side while the other cannot take it: memory stays bounded by the sockets' buffers.
"""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

from joro.breaker.limits import Access
from joro.breaker.request import Wish, answer

if TYPE_CHECKING:
    from joro.breaker.back import Back, Way
    from joro.breaker.front import Front

_OUT_OF_SOCKETS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)


class Stream(asyncio.Protocol):
    """One end of a connection."""

    __slots__ = ("_transport",)

    _transport: asyncio.Transport

    def hold(self) -> None:
        """Read no more for now."""
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read again."""
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """End it at once, unsent bytes and all."""
        self._transport.abort()


class Between:
    """Stands between a client and a server, from a granted wish on."""

    def __init__(self, front: Front, wish: Wish, access: Access) -> None:
        self._front = front
        self._hub = front.hub
        self._wish = wish
        self._access = access
        self._back: Back | None = None
        self._way: Way = (wish.server, access.address, wish.place.port)

    async def _connect(self) -> None:
        try:
            back = await self._hub.backroom.connect(self._way)
        except (OSError, TimeoutError) as error:
            self._access.end()
            self._front.turn_away(self._wish, failure(error))
            return
        self._connected(back)

    def _connected(self, back: Back) -> None:
        """A connection stands."""
        raise NotImplementedError

    def client_gone(self) -> None:
        """Nobody waits for the answer: hang up. The access ends when the connection has."""
        if self._back is not None:
            self._back.abort()

    def hold(self, *, client: bool) -> None:
        """One side is slow."""
        if client:
            self._front.hold()
        elif self._back is not None:
            self._back.hold()

    def go_on(self, *, client: bool) -> None:
        """It has caught up."""
        if client:
            self._front.go_on()
        elif self._back is not None:
            self._back.go_on()


def failure(error: Exception) -> bytes:
    """Our answer when no connection stands."""
    if isinstance(error, TimeoutError):
        return answer(504, "timeout; no connection in time")
    if isinstance(error, OSError) and error.errno in _OUT_OF_SOCKETS:
        return answer(503, f"refused; the breaker itself: {error.strerror}", "Retry-After: 1")
    detail = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return answer(502, f"unreachable; {' '.join(detail.split())}")
