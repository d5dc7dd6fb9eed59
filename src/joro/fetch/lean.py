"""How are plain http:// pages fetched for as little as can be?

In:    the bytes of a request and the address that was approved for it.
Out:   the same `Exchange` libcurl would give (`tests/fetch` holds both to it).
Never: resolves names, speaks TLS or HTTP/2, uses a proxy: there libcurl works; asks twice without leave.

Less happens here than in libcurl and its binding: one read for most pages, one future per exchange, one timer
for all. As in `multi` the sockets are watched by an epoll of our own, which the event loop sees as one file.
"""

from __future__ import annotations

import asyncio
import select

from joro.fetch.exchange import Exchange, Limits
from joro.fetch.line import Line, Place
from joro.fetch.room import Room
from joro.model import Outcome

#: The sockets we look at before the event loop has its turn again.
_BATCH = 256
#: A connection idle for longer may have been closed without our having heard of it yet.
_FRESH_S = 0.1


class Lean:
    """All plain transfers of one event loop. Use inside a running loop; `close` when done."""

    def __init__(self, limits: Limits, room: Room, *, connections: int, keep_alive_s: float) -> None:
        self._limits = limits
        self._room = room
        self._connections = connections
        self._keep_alive_s = keep_alive_s
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_ready)
        self._lines: dict[int, Line] = {}  # open connections, by file number
        self._busy: dict[Line, None] = {}
        self._idle: dict[Place, Line] = {}  # the longest idle first
        times = (limits.timeout_s, limits.connect_timeout_s, limits.stall_s or limits.timeout_s, keep_alive_s)
        self._sweep_s = max(0.02, min(1.0, min(times) / 8))
        self._timer: asyncio.TimerHandle | None = None

    @property
    def under_way(self) -> int:
        """Transfers that have not ended."""
        return len(self._busy)

    async def get(
        self, place: Place, request: bytes, *, body_bytes: int, once: bool, kept: bool = False
    ) -> Exchange:
        """Send `request` and read what comes back, so much of a body at most; see `http.Client.get`."""
        line = self._idle_line(place, must_live=kept)
        if line is not None:
            exchange = await self._ask(line, request, body_bytes)
            if once or kept or not line.was_cut_at_once:
                return exchange
        if kept:
            return Exchange(Outcome.UNREACHABLE, request, detail="the server hung up", hung_up=True)
        return await self._ask(self._new_line(place), request, body_bytes)

    async def close(self) -> None:
        """End every transfer and free all sockets."""
        for line in list(self._lines.values()):
            line.hang_up()
        self._idle.clear()
        await asyncio.sleep(0)  # those who waited take notice
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    async def _ask(self, line: Line, request: bytes, body_bytes: int) -> Exchange:
        done: asyncio.Future[Exchange] = self._loop.create_future()
        self._busy[line] = None
        if self._timer is None:
            self._timer = self._loop.call_later(self._sweep_s, self._sweep)
        line.ask(request, done, self._loop.time(), body_bytes)
        try:
            return await done
        finally:
            del self._busy[line]
            if done.cancelled():
                line.hang_up()
            elif line.is_open:
                self._keep(line)

    def _new_line(self, place: Place) -> Line:
        while len(self._lines) >= self._connections and self._idle:
            self._idle.pop(next(iter(self._idle))).hang_up()
        return Line(place, epoll=self._epoll, lines=self._lines, limits=self._limits, room=self._room)

    def _idle_line(self, place: Place, *, must_live: bool) -> Line | None:
        line = self._idle.pop(place, None)
        if line is None or not line.is_open:
            return None
        idle_s = self._loop.time() - line.since
        if idle_s > self._keep_alive_s or ((must_live or idle_s > _FRESH_S) and line.is_stale()):
            line.hang_up()
            return None
        return line

    def _keep(self, line: Line) -> None:
        """Leave the connection open for the next request to the same server."""
        before = self._idle.pop(line.place, None)
        if before is not None:
            before.hang_up()
        line.since = self._loop.time()
        self._idle[line.place] = line

    def _on_ready(self) -> None:
        for number, mask in self._epoll.poll(0, _BATCH):
            line = self._lines.get(number)
            if line is None:
                continue
            line.on_ready(mask)
            if not line.is_open and self._idle.get(line.place) is line:
                del self._idle[line.place]

    def _sweep(self) -> None:
        """One look at all clocks; what came while the loop was busy elsewhere came in time."""
        self._on_ready()
        now = self._loop.time()
        for line in self._busy:
            line.look_at_clock(now)
        while self._idle and now - (oldest := next(iter(self._idle.values()))).since > self._keep_alive_s:
            self._idle.pop(oldest.place).hang_up()
        self._timer = self._loop.call_later(self._sweep_s, self._sweep) if self._lines else None
