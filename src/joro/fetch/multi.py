"""How does libcurl work inside our event loop?

In:    prepared easy handles.
Out:   libcurl's verdict on each, when it has one.
Never: blocks; knows what a transfer means.

libcurl tells which sockets it waits for (its "multi socket" interface). They are watched by an epoll of our
own, which the event loop sees as one file: its readers cost twice as much, and with an epoll a connection
that falls idle can simply stay registered. The kernel forgets a socket when libcurl closes it.
"""

from __future__ import annotations

import asyncio
import math
import select
from typing import Any

import pycurl

#: What libcurl waits for, in epoll's words.
_MASKS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
#: The sockets we look at before the event loop has its turn again.
_BATCH = 256

Verdict = tuple[int, str]  # libcurl's error number (0: done) and what it says about it


class Multi:
    """All transfers of one event loop. Use inside a running loop; `close` when done."""

    def __init__(self, *, connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_ready)
        self._waiting: dict[pycurl.Curl, asyncio.Future[Verdict]] = {}
        self._wanted: dict[int, int] = {}  # socket: epoll mask
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._due_at = math.inf
        self._is_kicked = False
        self._is_closed = False
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)

    @property
    def under_way(self) -> int:
        """Transfers that have not ended."""
        return len(self._waiting)

    async def perform(self, curl: pycurl.Curl) -> Verdict:
        """Run one transfer to its end."""
        done: asyncio.Future[Verdict] = self._loop.create_future()
        self._waiting[curl] = done
        self._multi.add_handle(curl)
        try:
            return await done
        finally:
            del self._waiting[curl]
            self._multi.remove_handle(curl)

    async def close(self) -> None:
        """End every transfer and free all sockets."""
        for done in self._waiting.values():
            done.cancel()
        await asyncio.sleep(0)  # they take back their handles
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        self._is_closed = True
        self._multi.close()

    def _watch(self, what: int, fd: int, _multi: Any, _extra: Any) -> None:
        mask = _MASKS.get(what)
        if mask is None:
            self._wanted.pop(fd, None)
            return
        if self._is_closed:  # connections say goodbye
            return
        self._wanted[fd] = mask
        try:
            self._epoll.modify(fd, mask)
        except FileNotFoundError:  # a new socket, perhaps with the number of one that was closed
            self._epoll.register(fd, mask)

    def _on_ready(self) -> None:
        act = self._multi.socket_action
        for fd, mask in self._epoll.poll(0, _BATCH):
            if fd in self._wanted:
                act(fd, _events(mask))
            else:
                self._forget(fd)
        self._collect()

    def _forget(self, fd: int) -> None:
        """An idle connection speaks up or was closed by its server: libcurl finds out when it wants it."""
        try:
            self._epoll.unregister(fd)
        except OSError:  # libcurl closed it while we were on our way
            return

    def _set_timer(self, timeout_ms: int) -> None:
        """libcurl wants to be called then; -1: not at all. A timer that goes off too early is harmless."""
        if timeout_ms == 0:
            if not self._is_kicked:
                self._is_kicked = True
                self._loop.call_soon(self._kick)
            return
        self._due_at = self._loop.time() + timeout_ms / 1000 if timeout_ms > 0 else math.inf
        if self._due_at < self._timer_at:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._due_at
        self._timer = self._loop.call_at(self._due_at, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._timer_at = math.inf
        if self._due_at <= self._loop.time():
            self._act_on_time()
        elif self._due_at < math.inf:
            self._start_timer()

    def _kick(self) -> None:
        self._is_kicked = False
        if not self._is_closed:
            self._act_on_time()

    def _act_on_time(self) -> None:
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _collect(self) -> None:
        """Hand every verdict to the one who waits for it."""
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._settle(curl, (0, ""))
            for curl, code, message in failed:
                self._settle(curl, (code, message))

    def _settle(self, curl: pycurl.Curl, verdict: Verdict) -> None:
        done = self._waiting.get(curl)
        if done is not None and not done.done():
            done.set_result(verdict)


def _events(mask: int) -> int:
    """epoll's words in libcurl's; errors and hang-ups are found by reading."""
    events: int = pycurl.CSELECT_OUT if mask & select.EPOLLOUT else 0
    return events if mask == select.EPOLLOUT else events | pycurl.CSELECT_IN
