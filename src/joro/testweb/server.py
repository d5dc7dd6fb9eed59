"""How are requests read and answers sent?

In:    connections from this machine, or on a network of ours.
Out:   answers, in the order of the requests, and a line in the access log for each.
Never: answers anyone beyond loopback or that network; makes an answer itself (that is `site`'s).

Trades some clarity for speed: the crawler under test must be the bottleneck, never this. Requests are cut
by hand, an answer is one ready piece of bytes, and there is no coroutine on the way.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from joro.testweb.answer import Answer, Play, Stop
from joro.testweb.log import AccessLog
from joro.testweb.plan import Host
from joro.testweb.ready import Ready
from joro.testweb.request import absolute, field_value, is_unchanged
from joro.testweb.timeline import Timeline

HEAD_LIMIT_BYTES = 65_536
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NO_SUCH_HOST = b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
WRONG_METHOD = (
    b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


@dataclass(slots=True)
class Booth:
    """A host at work: what happens at it right now."""

    host: Host
    active: int = 0  # requests in progress
    connections: int = 0
    asked: int = 0  # requests so far
    last: float = float("-inf")  # virtual time of the last request that was let through


class Answers(Protocol):
    """Whoever can answer for a host."""

    def answer(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer: ...

    def mood(self, booth: Booth, answer: Answer, now: float) -> Answer:
        """The answer as a moody host gives it this time."""

    def oracle_answer(self, target: str) -> bytes: ...


@dataclass(slots=True)
class Desk:
    """What all connections share."""

    booths: dict[bytes, Booth]
    answers: Answers
    ready: Ready
    log: AccessLog
    timeline: Timeline
    latency_s: float = 0.0
    moody: frozenset[str] = frozenset()  # roles whose answers depend on more than the page
    neighbours: str = "127."  # how addresses begin that are answered
    sharing: dict[str, int] = field(default_factory=dict)  # requests in progress by address
    connections: int = 0  # ever made
    open: set[Connection] = field(default_factory=set)


@dataclass(slots=True)
class Turn:
    """One request on its way through; the last lines are for the log."""

    booth: Booth
    wire: bytes
    play: Play | None
    close: bool
    start: float
    page: int
    target: int
    status: int
    concurrent: int
    sharing: int
    connections: int
    sent: int = 0
    end: float = 0.0  # when the last bytes were handed over; 0: when the turn is logged


class Connection(asyncio.Protocol):
    """One TCP connection."""

    __slots__ = (
        "_address",
        "_address_number",
        "_buffer",
        "_client",
        "_desk",
        "_number",
        "_paused",
        "_port",
        "_serving",
        "_timer",
        "_transport",
        "_turn",
        "booth",
    )

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._buffer = b""
        self._turn: Turn | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False
        self._serving = False
        self.booth: Booth | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if peer is None or not peer[0].startswith(("127.", self._desk.neighbours)):
            self._transport.abort()
            return
        self._client = address_number(peer[0])
        self._port = peer[1]
        self._address = transport.get_extra_info("sockname")[0]
        self._address_number = address_number(self._address)
        self._transport.set_write_buffer_limits(high=0)
        self._desk.connections += 1
        self._number = self._desk.connections
        self._desk.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._desk.open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._turn is not None:
            self._log(self._turn)
        if self.booth is not None:
            self.booth.connections -= 1

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._turn is not None and self._timer is None:
            self._go_on()

    def abort(self) -> None:
        """End it at once."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if self._turn is None:
            self._serve()
        if self._turn is None and len(self._buffer) > HEAD_LIMIT_BYTES:
            self._refuse(BAD_REQUEST)

    def _serve(self) -> None:
        """Answer what the buffer holds, one request after the other."""
        self._serving = True
        while self._turn is None and not self._transport.is_closing():
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                break
            head = self._buffer[:end]
            self._buffer = self._buffer[end + 4 :]
            self._request(head)
        self._serving = False

    def _request(self, head: bytes) -> None:
        low = head.lower()
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or words[2][:5] != b"HTTP/":
            return self._refuse(BAD_REQUEST)
        method, target, version = words
        if method != b"GET" and method != b"HEAD":
            return self._refuse(WRONG_METHOD)
        name = field_value(low, b"host")
        if target[:1] != b"/":
            name, target = absolute(target)
        if name in (b"oracle.testweb", b"127.0.0.1", b"localhost"):
            return self._oracle(target, name)
        booth = self._desk.booths.get(name)
        if booth is None:
            return self._refuse(NO_SUCH_HOST)
        keep = b"\r\nconnection: close" not in low and (version != b"HTTP/1.0" or b"keep-alive" in low)
        self._begin(booth, method, target, low, keep)

    def _begin(self, booth: Booth, method: bytes, target: bytes, low: bytes, keep: bool) -> None:
        desk = self._desk
        start = desk.timeline.read()
        now = desk.timeline.at(start)
        if booth is not self.booth:
            self._move(booth)
        answer = self._find(booth, target, low, now)
        wire, status, play = answer.wire, answer.status, None
        if answer.unchanged and b"\r\nif-" in low and is_unchanged(answer, low):
            wire, status = answer.unchanged, 304
        elif method == b"HEAD":
            wire = wire[: answer.head_bytes]
        elif answer.play is not None:
            wire, play = b"", answer.play  # a play brings its own bytes
        booth.active += 1
        sharing = desk.sharing[self._address] = desk.sharing.get(self._address, 0) + 1
        self._turn = Turn(
            booth=booth,
            wire=wire,
            play=play,
            close=answer.close or not keep,
            start=start,
            page=answer.page,
            target=answer.target,
            status=status,
            concurrent=booth.active,
            sharing=sharing,
            connections=booth.connections,
        )
        if desk.latency_s:
            self._timer = asyncio.get_running_loop().call_later(desk.latency_s, self._send)
        else:
            self._send()

    def _find(self, booth: Booth, target: bytes, low: bytes, now: float) -> Answer:
        """The answer to one request, ready-made if possible."""
        desk, host = self._desk, booth.host
        booth.asked += 1
        gzip = host.transfer == "gzip" and b"gzip" in field_value(low, b"accept-encoding")
        key = (host.number, target, gzip)
        answer = desk.ready.get(key, now)
        if answer is None:
            answer = desk.answers.answer(host, target, gzip, now)
            answer.target = desk.log.target(target.decode("latin-1"))
            if answer.until > now and answer.play is None:
                desk.ready.put(key, answer)
        if host.role in desk.moody:
            number = answer.target
            answer = desk.answers.mood(booth, answer, now)
            answer.target = number
        return answer

    def _move(self, booth: Booth) -> None:
        """This connection now talks to another host."""
        if self.booth is not None:
            self.booth.connections -= 1
        booth.connections += 1
        self.booth = booth

    def _send(self) -> None:
        turn = self._turn
        assert turn is not None
        self._timer = None
        if turn.wire:
            self._write(turn, turn.wire)
        if not self._paused:
            self._go_on()

    def _write(self, turn: Turn, piece: bytes) -> None:
        # Before, not after: a busy machine may stop us here while the visitor reads on.
        turn.end = self._desk.timeline.read()
        self._transport.write(piece)
        turn.sent += len(piece)
        if self._paused:
            turn.end = 0.0

    def _go_on(self) -> None:
        """Everything given so far has left: play the next step, or end the turn."""
        turn = self._turn
        if turn is None or self._transport.is_closing():
            return
        self._timer = None
        if turn.play is not None:
            step = next(turn.play, None)
            if step is not None:
                return self._step(turn, step)
        self._turn = None
        self._log(turn)
        if turn.close:
            self._transport.close()
        elif self._buffer and not self._serving:  # else the loop in `_serve` goes on by itself
            self._serve()

    def _step(self, turn: Turn, step: bytes | float | Stop) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(step, bytes):
            self._write(turn, step)
            if not self._paused:  # others have their turn between two pieces
                self._timer = loop.call_later(0, self._go_on)
        elif isinstance(step, float):
            turn.end = 0.0
            self._timer = loop.call_later(step, self._go_on)
        elif step is Stop.RESET:
            reset(self._transport)

    def _log(self, turn: Turn) -> None:
        desk, booth = self._desk, turn.booth
        booth.active -= 1
        desk.sharing[self._address] -= 1
        desk.log.add(
            turn.start,
            turn.end or desk.timeline.read(),
            booth.host.number,
            turn.page,
            turn.target,
            turn.sent,
            self._address_number,
            self._number,
            turn.status,
            turn.concurrent,
            turn.sharing,
            turn.connections,
            self._port,
            self._client,
        )

    def _oracle(self, target: bytes, name: bytes) -> None:
        path = target.decode("latin-1")
        if name != b"oracle.testweb":
            if not path.startswith("/_oracle/"):
                return self._refuse(NO_SUCH_HOST)
            path = path.removeprefix("/_oracle")
        self._transport.write(self._desk.answers.oracle_answer(path))

    def _refuse(self, wire: bytes) -> None:
        self._buffer = b""
        self._transport.write(wire)
        self._transport.close()


def address_number(address: str) -> int:
    """127.0.0.1 as the number 0x7f000001."""
    return int.from_bytes(socket.inet_aton(address), "big")


def reset(transport: asyncio.Transport) -> None:
    """Tear the connection down so that the other side sees a reset, not an end."""
    raw: Any = transport.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
