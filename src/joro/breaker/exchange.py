"""How does one request pass through, and its answer come back?

In:    a wish that was granted, and what client and server say.
Out:   the request at the server, the answer at the client, both byte for byte.
Never: sends a second request while one is under way; repeats one without asking the limits again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from joro.breaker.back import Back
from joro.breaker.between import Between
from joro.breaker.framing import Response
from joro.breaker.limits import Access, Refusal
from joro.breaker.request import Wish, answer

if TYPE_CHECKING:
    from joro.breaker.front import Front

#: What a client may send ahead before we stop reading it.
AHEAD_BYTES = 262_144


def refused(refusal: Refusal) -> bytes:
    """Our answer when the limits say no."""
    said = f"refused; {refusal.who}: {refusal.why}, limit {refusal.limit}"
    return answer(429, said, f"Retry-After: {max(1, math.ceil(refusal.retry_s))}")


class Exchange(Between):
    """One request and its answer."""

    def __init__(self, front: Front, wish: Wish, access: Access) -> None:
        super().__init__(front, wish, access)
        self._ahead = b""  # said by the client before a connection stood
        self._response = Response(method=wish.method)
        self._has_body = not wish.body.done

    is_quiet = False  # it is always in the middle of something

    def start(self) -> None:
        """On a used connection at once, else on a new one soon."""
        back = self._hub.backroom.take(self._way)
        if back is None:
            self._hub.spawn(self._connect())
        else:
            self._connected(back)

    def _connected(self, back: Back) -> None:
        self._back = back
        back.owner = self
        if self._front.is_gone:
            return back.abort()
        if self._ahead:
            self._front.go_on()
        back.write(self._wish.head + self._ahead)
        self._ahead = b""

    def client_said(self, piece: bytes) -> bytes:
        """Pass on what belongs to the request; the rest is given back."""
        if not self._has_body or self._wish.body.done:
            if self._response.is_doubtful:
                self._leave()
            return piece
        used = self._wish.body.feed(piece)
        if self._back is not None:
            self._back.write(piece[:used])
        else:
            self._ahead += piece[:used]
            if len(self._ahead) > AHEAD_BYTES:
                self._front.hold()
        return piece[used:]

    def server_said(self, piece: bytes) -> None:
        response = self._response
        used = response.feed(piece)
        whole = used == len(piece)
        self._front.write(piece if whole else piece[:used])
        if response.done:
            self._finish(whole)

    def _finish(self, whole: bool) -> None:
        """The answer is over; more than that is nobody's answer, and the connection not to be trusted."""
        back = self._back
        assert back is not None
        back.owner = None
        self._back = None
        self._access.end()
        keep = self._response.keep and self._wish.body.done
        if keep and whole and not self._wish.close:
            back.go_on()
            self._hub.backroom.put(back)
        else:
            back.close()
        self._front.ended(keep=keep and not self._wish.close)

    def _leave(self) -> None:
        """The client asks on: it has seen the end of an answer in which we saw none.

        What it asks for may be of another server, which must not wait until this one hangs up.
        """
        back, self._back = self._back, None
        assert back is not None
        back.owner = None
        back.abort()
        self._access.end()
        self._front.ended(keep=True)

    def server_gone(self, error: Exception | None) -> None:
        """The server hung up before its answer was over, or to end it."""
        back, self._back = self._back, None
        self._access.end()
        if self._front.is_gone:
            return
        if self._response.started:
            self._front.end_as(error)
        elif back is not None and back.used and not self._has_body:
            self._again()
        else:
            self._front.turn_away(self._wish, answer(502, "unreachable; hung up without an answer"))

    def _again(self) -> None:
        """The connection had gone stale while unused; ask the limits, then try a new one, once."""
        verdict = self._hub.ask(self._access.server, self._access.address)
        if isinstance(verdict, Refusal):
            self._front.turn_away(self._wish, refused(verdict))
            return
        self._access = verdict
        self._hub.spawn(self._connect())
