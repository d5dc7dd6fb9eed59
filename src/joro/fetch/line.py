"""How does one connection carry one request after another?

In:    the address that was approved, requests, and what the epoll says of the socket.
Out:   an `Exchange` for each request.
Never: waits, sends a request twice, keeps more than the limits and the room allow; lets the kernel go on
       sending a request that was given up.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import struct
from io import BytesIO

from joro.fetch.answer import Answer
from joro.fetch.exchange import Exchange, Limits
from joro.fetch.framing import Piece
from joro.fetch.room import Room
from joro.model import Outcome, Response, Truncated

_STREAM = socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
#: Every line reads into this one and keeps nothing there: a page of 20 KB comes in one piece, and a body that
#: has to wait for room holds back no more than this.
_BUFFER = bytearray(65_536)
#: Where the buffer was filled there is more: to leave it until all others have had their turn would make
#: large pages look slow, and politeness goes by that. So many reads, and then the others have theirs.
_READS = 8

#: What `close` does with what was not yet received: throw it away, or go on sending it for minutes. A request
#: that a server gets after all, when the line is whole again, comes when others may be asking it already.
_FORGET, _DELIVER = struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)

Place = tuple[str, int, str]  # address, port, and the server's name there
Done = asyncio.Future[Exchange]


class Line:
    """One connection, and the transfer on it."""

    def __init__(
        self, place: Place, *, epoll: select.epoll, lines: dict[int, Line], limits: Limits, room: Room
    ) -> None:
        self.place = place
        self.size = 0  # of the body kept so far
        self.since = 0.0  # when the last transfer began, or ended
        self.was_cut_at_once = False  # at our request, and before the server had said anything
        self._epoll = epoll
        self._lines = lines  # those open, by file number: to be found when the epoll reports
        self._limits, self._body_bytes = limits, limits.body_bytes
        self._room = room
        self._socket: socket.socket | None = None
        self._number = -1
        self._is_connected = False
        self._is_answered = False  # the last request was received for certain
        self._done: Done | None = None  # None: idle
        self._request = self._unsent = b""
        self._answer = Answer(limits.head_bytes)
        self._body = BytesIO()  # grows in place and gives its content away without a copy
        self._held: bytes | None = None  # a piece there was no room for
        self._received = 0
        self._slow_since, self._received_then = 0.0, 0

    @property
    def is_open(self) -> bool:
        """There is a connection."""
        return self._socket is not None

    def is_stale(self) -> bool:
        """Whether an idle connection was closed by the server, or it said something unasked."""
        assert self._socket is not None
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def ask(self, request: bytes, done: Done, now: float, body_bytes: int) -> None:
        """Send `request`; `done` will have what came of it, with so much of a body at most."""
        self._done, self._body_bytes = done, body_bytes
        self._request = self._unsent = request
        self._received = self._received_then = 0
        self._is_answered = False
        self.since = self._slow_since = now
        if self._is_connected:
            self._send()
        else:
            self._connect()

    def on_ready(self, mask: int) -> None:
        """The epoll has seen something."""
        if not self._is_connected:
            self._connected()
            return
        if self._unsent and mask & select.EPOLLOUT:
            self._send()
        if mask != select.EPOLLOUT and self._socket is not None:
            for _ in range(_READS):
                if not self._read(self._socket) or self._done is None or self._held is not None:
                    break

    def look_at_clock(self, now: float) -> None:
        """End what takes too long."""
        if self._done is None:
            return
        limits = self._limits
        elapsed_s = now - self.since
        if elapsed_s > limits.timeout_s:
            self._time_is_up(f"not done after {limits.timeout_s:g} s")
        elif not self._is_connected:
            if elapsed_s > limits.connect_timeout_s:
                self._time_is_up(f"no connection after {limits.connect_timeout_s:g} s")
        elif limits.stall_s and (self._held is not None or now - self._slow_since >= limits.stall_s):
            too_few = limits.stall_s * limits.stall_bytes_per_s
            if self._held is None and self._received - self._received_then < too_few:
                self._time_is_up(f"less than {too_few:g} bytes in {limits.stall_s:g} s")
            self._slow_since, self._received_then = now, self._received

    def resume(self) -> None:
        """There is room again."""
        if self._held is not None:
            held, self._held = self._held, None
            self._epoll.register(self._number, select.EPOLLIN)
            self._keep(held)

    def hang_up(self) -> None:
        """Close the connection, whatever is under way."""
        if self._done is not None:
            self._done.cancel()
            self._reset()
        if self._socket is not None:
            del self._lines[self._number]
            if self._is_answered:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DELIVER)
            self._socket.close()  # the kernel takes it out of the epoll
            self._socket = None

    def _connect(self) -> None:
        address, port, _ = self.place
        try:
            self._socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, _STREAM)
            self._number = self._socket.fileno()
            self._lines[self._number] = self
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _FORGET)  # also when we are killed
            code = self._socket.connect_ex((address, port))
            self._epoll.register(self._number, select.EPOLLOUT)
        except OSError as error:
            self._fail(Outcome.UNREACHABLE, error.strerror or str(error), connected=False)
            return
        if code not in (0, errno.EINPROGRESS):
            self._fail(Outcome.UNREACHABLE, os.strerror(code), connected=False)

    def _connected(self) -> None:
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._fail(Outcome.UNREACHABLE, os.strerror(code), connected=False)
            return
        self._is_connected = True
        self._epoll.modify(self._number, select.EPOLLIN)
        self._send()

    def _send(self) -> None:
        """Most requests leave in one go; else the epoll tells when there is more to send."""
        assert self._socket is not None
        was_stuck = self._unsent is not self._request
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._cut(error.strerror or str(error))
            return
        self._unsent = self._unsent[sent:]
        if self._unsent or was_stuck:
            wanted = select.EPOLLIN | (select.EPOLLOUT if self._unsent else 0)
            self._epoll.modify(self._number, wanted)

    def _read(self, connection: socket.socket) -> bool:
        """Take in what has come; whether there was more than the buffer holds."""
        try:
            size = connection.recv_into(_BUFFER)
        except BlockingIOError:
            return False
        except OSError as error:
            self._cut(error.strerror or str(error))
            return False
        if self._done is None:
            self.hang_up()  # nobody asked for it, or the server has had enough of us
            return False
        if not size:
            self._cut("")
            return False
        self._received += size
        self._is_answered = True
        self._keep(self._answer.receive(_BUFFER, size))
        return size == len(_BUFFER)

    def _keep(self, piece: Piece) -> None:
        """Keep what belongs to the body, as far as limit and room allow, and see whether it is complete."""
        answer = self._answer
        if answer.framing is None:
            if answer.flaw:
                self._fail(Outcome.MALFORMED, answer.flaw)
            return
        left = self._body_bytes - self.size
        kept = piece if len(piece) <= left else piece[:left]
        if not self._room.admits(self, len(kept)):
            self._held = bytes(piece)
            self._epoll.unregister(self._number)
            return
        self._body.write(kept)
        self.size += len(kept)
        if kept is not piece:
            self._finish(Truncated.LENGTH, f"longer than {self._body_bytes} bytes")
        elif answer.flaw:
            self._finish(Truncated.DISCONNECT, answer.flaw)
        elif answer.framing.is_done:
            self._finish(None, "")

    def _cut(self, reason: str) -> None:
        """The connection is gone, or only the server's half of it: then `reason` is empty."""
        if self._done is None:
            self.hang_up()
            return
        framing = self._answer.framing
        if framing is None:
            self.was_cut_at_once = not self._received
            self._answer.end()
            outcome = Outcome.MALFORMED if self._answer.flaw else Outcome.UNREACHABLE
            self._fail(outcome, self._answer.flaw or reason or "connection closed before the answer")
        elif framing.ends_with_connection and not reason:
            self._finish(None, "")
        else:
            self._finish(Truncated.DISCONNECT, reason or "connection closed within the body")

    def _time_is_up(self, detail: str) -> None:
        if self._answer.framing is not None:
            self._finish(Truncated.TIME, detail)
            return
        self._answer.end()
        if self._answer.flaw:
            self._fail(Outcome.MALFORMED, self._answer.flaw)
        else:
            self._fail(Outcome.TIMEOUT, detail, connected=self._is_connected)

    def _fail(self, outcome: Outcome, detail: str, *, connected: bool = True) -> None:
        self._settle(Exchange(outcome, self._request, None, detail, connected), stays=False)

    def _finish(self, truncated: Truncated | None, detail: str) -> None:
        answer = self._answer
        stays = truncated is None and not self._unsent and answer.leaves_open
        body = self._body.getvalue()
        response = Response(answer.status, answer.head, body, answer.fields, truncated, answer.is_chunked)
        self._settle(Exchange(None, self._request, response, detail, True, stays), stays=stays)

    def _settle(self, exchange: Exchange, *, stays: bool) -> None:
        done = self._done
        self._reset()
        if not stays:
            self.hang_up()
        if done is not None and not done.done():
            done.set_result(exchange)

    def _reset(self) -> None:
        """Forget the transfer."""
        self._done = None
        self._room.leave(self)
        self.size = 0
        self._held = None
        self._answer = Answer(self._limits.head_bytes)
        self._body = BytesIO()
