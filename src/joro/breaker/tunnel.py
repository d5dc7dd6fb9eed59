"""How often does a client ask, when we cannot read what it says?

In:    the bytes that pass through a CONNECT tunnel.
Out:   the same bytes; and a request to the limits for every *flight*: client bytes after server bytes.
Never: looks into TLS; passes on a flight that was refused: the tunnel is cut instead.

The first flight is what CONNECT was granted for. TLS handshake records are no request and not counted;
the small answers HTTP/2 gives on its own (settings, window updates) are, so we err on the safe side.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from joro.breaker.back import Back
from joro.breaker.between import Between
from joro.breaker.limits import Access, Refusal
from joro.breaker.request import CONNECTED, Wish

if TYPE_CHECKING:
    from joro.breaker.front import Front

#: A tunnel whose server spoke last, this long ago, is between two requests.
QUIET_S = 1.0
#: A longer flight may be several requests sent without waiting: one more access for each such piece.
FLIGHT_BYTES = 16_384

_HANDSHAKE = 22
#: TLS records that never hold a request (RFC 8446, 5.1): change of cipher, alert, handshake.
_NO_REQUEST = (20, 21, _HANDSHAKE)


class Flights:
    """Counts the requests of one tunnel."""

    def __init__(self) -> None:
        self._is_tls: bool | None = None
        self._header = b""  # of a TLS record, as far as it has come
        self._kind = 0  # of the current record
        self._left = 0  # bytes of it still to come
        self._answered = True
        self._bytes = 0  # of this flight
        self._seen = 0

    def server_said(self) -> None:
        """Whatever the client says next is another flight."""
        self._answered = True

    def client_said(self, piece: bytes) -> int:
        """How many accesses this piece is worth beyond those granted before."""
        if self._is_tls is None:
            self._is_tls = piece[0] == _HANDSHAKE
        asking = self._application_bytes(piece) if self._is_tls else len(piece)
        if not asking:
            return 0
        before = self._seen
        if self._answered:
            self._answered = False
            self._bytes = 0
            self._seen += 1
        more = (self._bytes + asking - 1) // FLIGHT_BYTES - max(self._bytes - 1, 0) // FLIGHT_BYTES
        self._bytes += asking
        self._seen += more
        return self._seen - max(before, 1)  # the first was granted with CONNECT

    def _application_bytes(self, piece: bytes) -> int:
        """How much of `piece` lies in records that may hold a request."""
        at = found = 0
        while at < len(piece):
            if not self._left:
                want = 5 - len(self._header)
                self._header += piece[at : at + want]
                at += want
                if len(self._header) < 5:
                    break
                self._left = int.from_bytes(self._header[3:5], "big")
                self._kind = self._header[0]
                self._header = b""
            step = min(self._left, len(piece) - at)
            self._left -= step
            at += step
            if self._kind not in _NO_REQUEST:
                found += step
        return found


class Tunnel(Between):
    """One CONNECT and all that follows."""

    def __init__(self, front: Front, wish: Wish, access: Access) -> None:
        super().__init__(front, wish, access)
        self._flights = Flights()
        self._loop = asyncio.get_running_loop()
        self._early = b""
        self._heard_at = 0.0  # the server, by the loop's time; 0: the client spoke last
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_quiet(self) -> bool:
        """True between two requests."""
        return self._access.is_over

    def start(self) -> None:
        """Connect, then tell the client."""
        self._hub.spawn(self._connect())

    def _connected(self, back: Back) -> None:
        self._back = back
        back.owner = self
        if self._front.is_gone:
            back.abort()
            return
        self._front.write(CONNECTED)
        self._watch()
        if self._early:
            self.client_said(b"")

    def client_said(self, piece: bytes) -> bytes:
        """Pass it on, if the limits allow another request."""
        if self._back is None:
            self._early += piece
            if len(self._early) > FLIGHT_BYTES:
                self._front.hold()
            return b""
        if self._early:
            piece, self._early = self._early + piece, b""
            self._front.go_on()
        if self._may_pass(self._flights.client_said(piece)):
            self._back.write(piece)
        return b""

    def _may_pass(self, accesses: int) -> bool:
        for _ in range(accesses):
            self._access.end()
            verdict = self._hub.ask(self._access.server, self._access.address)
            if isinstance(verdict, Refusal):
                self._front.abort()
                return False
            self._access = verdict
        if accesses:
            self._watch()
        self._heard_at = 0.0
        return True

    def _watch(self) -> None:
        """The access is over when the server has answered and fallen silent."""
        if self._timer is None:
            self._timer = self._loop.call_later(QUIET_S, self._listen)

    def _listen(self) -> None:
        self._timer = None
        if self._heard_at and self._loop.time() - self._heard_at >= QUIET_S:
            self._access.end()
            if self._hub.gone is not None:
                self._front.abort()
        else:
            self._watch()

    def server_said(self, piece: bytes) -> None:
        self._heard_at = self._loop.time()
        self._flights.server_said()
        self._front.write(piece)

    def server_gone(self, error: Exception | None) -> None:
        self._back = None
        self._access.end()
        if self._timer is not None:
            self._timer.cancel()
        if not self._front.is_gone:
            self._front.end_as(error)
