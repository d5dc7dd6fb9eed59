"""What does a client of the breaker want, and what does it get?

In:    connections from robots (and people who look at the status page).
Out:   each request, one at a time, as an exchange, a tunnel, a refusal, or a page about the breaker.
Never: lets a request leave without asking the limits; keeps more than a little of what a client sends ahead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

from joro.breaker.back import Backroom, reset
from joro.breaker.between import Stream, failure
from joro.breaker.exchange import AHEAD_BYTES, Exchange, refused
from joro.breaker.limits import Access, Limiter, Refusal
from joro.breaker.request import Malformed, Wish, answer, own_target, sign_of, signed, wish_of
from joro.breaker.tunnel import Tunnel

HEAD_LIMIT_BYTES = 65_536
#: A client that says and hears nothing for so long is cut off; robots give up much sooner.
SILENCE_S = 300.0


@dataclass
class Hub:
    """What all connections share."""

    limiter: Limiter
    backroom: Backroom
    alert: Callable[[Refusal, str, str], None]  # with server and address
    page: Callable[[str], bytes | None]  # at a path of our own
    gone: asyncio.Event | None = None  # while stopping: set whenever a client has left
    fronts: set[Front] = field(default_factory=set)
    under_way: set[asyncio.Task[None]] = field(default_factory=set)

    def ask(self, server: str, address: str) -> Access | Refusal:
        """Ask the limits, and raise the alarm when they say no for the first time."""
        verdict = self.limiter.ask(server, address)
        if isinstance(verdict, Refusal) and verdict.is_news:
            self.alert(verdict, server, address)
        return verdict

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let it run by itself, until it is done or the breaker stops."""
        running = asyncio.get_running_loop().create_task(work)
        self.under_way.add(running)
        running.add_done_callback(self.under_way.discard)


class Front(Stream):
    """One connection from a client."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.is_gone = False
        self.heard_at = 0.0  # by the loop's time
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._talk: Exchange | Tunnel | None = None
        self._busy = False  # with a talk, or looking up a name
        self._serving = False
        self._choked = False

    @property
    def is_idle(self) -> bool:
        """True when ending it now would cut nothing."""
        return self._talk.is_quiet if self._talk is not None else not self._busy

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.heard_at = self._loop.time()
        self.hub.fronts.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_gone = True
        self.hub.fronts.discard(self)
        if self.hub.gone is not None:
            self.hub.gone.set()
        if self._talk is not None:
            self._talk.client_gone()

    def data_received(self, data: bytes) -> None:
        self.heard_at = self._loop.time()
        rest = data if self._talk is None else self._talk.client_said(data)
        if not rest:
            return
        self._buffer += rest
        if not self._busy:
            self._serve()
        elif len(self._buffer) > AHEAD_BYTES:
            self.hold()

    def pause_writing(self) -> None:
        if self._talk is not None:
            self._talk.hold(client=False)
        else:
            self._choked = True  # it asks faster than it reads our answers
            self.hold()

    def resume_writing(self) -> None:
        if self._talk is not None:
            self._talk.go_on(client=False)
        if self._choked:
            self._choked = False
            self.go_on()

    def write(self, piece: bytes) -> None:
        """To the client, if it is still there."""
        if self.is_gone:
            return
        self.heard_at = self._loop.time()
        self._transport.write(piece)

    def end_as(self, error: Exception | None) -> None:
        """The server's connection ended like this, so does the client's: what looked cut must look cut."""
        self._talk = None
        if error is None:
            self._transport.close()
        else:
            reset(self._transport)

    def ended(self, *, keep: bool) -> None:
        """The answer is out; on to the next request."""
        self._talk = None
        self._busy = False
        if not keep or self.hub.gone is not None:
            self._transport.close()
            return
        if not self._choked:
            self.go_on()
        if self._buffer and not self._serving:
            self._serve()

    def turn_away(self, wish: Wish, said: bytes) -> None:
        """Our own answer instead of the server's; a body still to come is not waited for."""
        self.write(signed(said, wish.sign))
        self.ended(keep=wish.body.done and not wish.close)

    def _serve(self) -> None:
        """Begin the requests the buffer holds, one after the other."""
        self._serving = True
        while not self._busy and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if (end if end >= 0 else len(self._buffer)) > HEAD_LIMIT_BYTES:
                self._reject(431, "malformed; the head is too long", self._buffer)
                break
            if end < 0:
                break
            head, self._buffer = self._buffer[: end + 4], self._buffer[end + 4 :]
            self._begin(head)
        self._serving = False

    def _begin(self, head: bytes) -> None:
        path = own_target(head)
        if path is not None:
            self.write(self.hub.page(path) or answer(404, "status; see / and /metrics"))
            return
        try:
            wish = wish_of(head)
        except Malformed as error:
            return self._reject(400, f"malformed; {error}", head)
        self._busy = True
        if wish.place.is_name:
            self.hub.spawn(self._look_up(wish))
        else:
            self._knock(wish, wish.place.host)

    def _reject(self, status: int, said: str, head: bytes) -> None:
        self.write(signed(answer(status, said, "Connection: close"), sign_of(head)))
        self._transport.close()

    async def _look_up(self, wish: Wish) -> None:
        try:
            address = await self.hub.backroom.address(wish.place)
        except (OSError, TimeoutError) as error:
            self.turn_away(wish, failure(error))
        else:
            if not self.is_gone:
                self._knock(wish, address)

    def _knock(self, wish: Wish, address: str) -> None:
        """Everything is known: ask the limits, then go."""
        forbidden = self.hub.backroom.forbidden(address)
        if forbidden is not None:
            return self.turn_away(wish, answer(403, f"forbidden; {forbidden}"))
        verdict = self.hub.ask(wish.server, address)
        if isinstance(verdict, Refusal):
            return self.turn_away(wish, refused(verdict))
        self._talk = (Tunnel if wish.is_tunnel else Exchange)(self, wish, verdict)
        if self._buffer:
            self._buffer = self._talk.client_said(self._buffer)
        self._talk.start()
