"""How does one request become bytes?

In:    a URL, the address to connect to, and extra header fields.
Out:   the response exactly as received, or what went wrong.
Never: resolves names, follows redirects, decodes bodies, retries, or decides anything.

libcurl does the work inside our event loop (its "multi socket" interface). Each transfer is told the
very address the guard approved (CONNECT_TO), so there is no second look-up an attacker could bend.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pycurl

from joro.model import Outcome, Response, Truncated


@dataclass(slots=True)
class Exchange:
    """One request and what came of it."""

    outcome: Outcome | None  # None: there is a response, judge by its status
    request: bytes
    response: Response | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a transfer must stop."""

    timeout_s: float
    connect_timeout_s: float
    body_bytes: int
    head_bytes: int


#: libcurl's error numbers that pycurl gives no name.
_WEIRD_SERVER_REPLY, _HTTP2_STREAM, _TOO_LARGE = 8, 92, 100

#: What libcurl's error numbers mean to us; every other one is UNREACHABLE.
_OUTCOMES = {
    pycurl.E_OPERATION_TIMEDOUT: Outcome.TIMEOUT,
    pycurl.E_UNSUPPORTED_PROTOCOL: Outcome.MALFORMED,  # HTTP/0.9 garbage
    _WEIRD_SERVER_REPLY: Outcome.MALFORMED,
    _TOO_LARGE: Outcome.MALFORMED,  # headers beyond libcurl's own limit
    pycurl.E_HTTP2: Outcome.MALFORMED,
    _HTTP2_STREAM: Outcome.MALFORMED,
}


class Client:
    """All transfers of one event loop. Use inside a running loop; `close` when done."""

    def __init__(self, *, user_agent: str, limits: Limits, connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._fields = [f"User-Agent: {user_agent}", "Accept: */*", "Accept-Encoding: gzip, deflate, br"]
        self._limits = limits
        self._spare: list[pycurl.Curl] = []
        self._waiting: dict[pycurl.Curl, _Transfer] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._watched: dict[int, int] = {}
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)

    @property
    def open_transfers(self) -> int:
        """Requests under way."""
        return len(self._waiting)

    async def get(self, url: str, *, address: str, port: int, fields: Sequence[str] = ()) -> Exchange:
        """GET one URL from exactly `address`:`port`."""
        curl = self._spare.pop() if self._spare else self._new_curl()
        transfer = _Transfer(self._limits, self._loop.create_future())
        lines = [*self._fields, *fields]
        curl.setopt(pycurl.URL, url)
        target = f"[{address}]" if ":" in address else address
        curl.setopt(pycurl.CONNECT_TO, [f"::{target}:{port}"])
        curl.setopt(pycurl.HTTPHEADER, lines)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.head_lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.take)
        self._waiting[curl] = transfer
        self._multi.add_handle(curl)
        try:
            code, message = await transfer.done
        finally:
            self._waiting.pop(curl, None)
            self._multi.remove_handle(curl)
            self._spare.append(curl)
        return transfer.exchange(code, message, _request_bytes(url, lines))

    async def close(self) -> None:
        """End every transfer and free all sockets."""
        for transfer in list(self._waiting.values()):
            transfer.done.cancel()
        await asyncio.sleep(0)
        if self._timer is not None:
            self._timer.cancel()
        for curl in self._spare:
            curl.close()
        self._spare.clear()
        self._multi.close()
        for fd in list(self._watched):
            self._watch(pycurl.POLL_REMOVE, fd, None, None)

    def _new_curl(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        limits = self._limits
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP_TRANSFER_DECODING, 0),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.PROXY, ""),  # never the environment's
            (pycurl.PATH_AS_IS, 1),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.BUFFERSIZE, 131_072),
            (pycurl.TIMEOUT_MS, int(limits.timeout_s * 1000)),
            (pycurl.CONNECTTIMEOUT_MS, int(limits.connect_timeout_s * 1000)),
        ):
            curl.setopt(option, value)
        return curl

    def _watch(self, what: int, fd: int, _multi: Any, _extra: Any) -> None:
        """libcurl tells which socket it waits for, and for what."""
        before = self._watched.get(fd, 0)
        wanted = what if what in (pycurl.POLL_IN, pycurl.POLL_OUT, pycurl.POLL_INOUT) else 0
        if wanted & pycurl.POLL_IN and not before & pycurl.POLL_IN:
            self._loop.add_reader(fd, self._act, fd, pycurl.CSELECT_IN)
        if wanted & pycurl.POLL_OUT and not before & pycurl.POLL_OUT:
            self._loop.add_writer(fd, self._act, fd, pycurl.CSELECT_OUT)
        if before & pycurl.POLL_IN and not wanted & pycurl.POLL_IN:
            self._loop.remove_reader(fd)
        if before & pycurl.POLL_OUT and not wanted & pycurl.POLL_OUT:
            self._loop.remove_writer(fd)
        if wanted:
            self._watched[fd] = wanted
        else:
            self._watched.pop(fd, None)

    def _set_timer(self, timeout_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if timeout_ms == 0:
            self._timer = self._loop.call_later(0, self._act, pycurl.SOCKET_TIMEOUT, 0)
        elif timeout_ms > 0:
            self._timer = self._loop.call_later(timeout_ms / 1000, self._act, pycurl.SOCKET_TIMEOUT, 0)

    def _act(self, fd: int, events: int) -> None:
        self._multi.socket_action(fd, events)
        while True:
            left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._finish(curl, 0, "")
            for curl, code, message in failed:
                self._finish(curl, code, message)
            if not left:
                return

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        done = self._waiting[curl].done
        if not done.done():
            done.set_result((code, message))


class _Transfer:
    """What one transfer has received so far."""

    __slots__ = ("body", "done", "full", "head_lines", "limits", "size")

    def __init__(self, limits: Limits, done: asyncio.Future[tuple[int, str]]) -> None:
        self.limits = limits
        self.done = done
        self.head_lines: list[bytes] = []
        self.body: list[bytes] = []
        self.size = 0
        self.full = False

    def take(self, chunk: bytes) -> int | None:
        """Keep body bytes up to the limit; -1 tells libcurl to hang up."""
        room = self.limits.body_bytes - self.size
        if len(chunk) > room:
            self.body.append(chunk[:room])
            self.size += room
            self.full = True
            return -1
        self.body.append(chunk)
        self.size += len(chunk)
        return None

    def exchange(self, code: int, message: str, request: bytes) -> Exchange:
        """The verdict, once libcurl is done."""
        lines = _last_head(self.head_lines)
        if not lines or lines[-1].strip():
            return Exchange(_OUTCOMES.get(code, Outcome.UNREACHABLE), request, None, message)
        head = b"".join(lines)
        status = _status(lines[0])
        if len(head) > self.limits.head_bytes or status is None:
            return Exchange(Outcome.MALFORMED, request, None, message or "malformed response head")
        headers = _headers(lines)
        response = Response(
            status,
            head,
            b"".join(self.body),
            headers,
            self._truncation(code),
            chunked=headers.get("transfer-encoding", "").lower().endswith("chunked"),
        )
        return Exchange(None, request, response, message)

    def _truncation(self, code: int) -> Truncated | None:
        if self.full:
            return Truncated.LENGTH
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return Truncated.TIME
        return Truncated.DISCONNECT if code else None


def _last_head(lines: list[bytes]) -> list[bytes]:
    """The final response's lines: 1xx answers before it and trailers after it do not belong."""
    start = 0
    for number, line in enumerate(lines):
        if line[:5] == b"HTTP/":
            start = number
    for number in range(start, len(lines)):
        if not lines[number].strip():
            return lines[start : number + 1]
    return lines[start:]


def _status(line: bytes) -> int | None:
    parts = line.split(None, 2)
    if len(parts) < 2 or not parts[1].isdigit() or not 100 <= int(parts[1]) <= 999:
        return None
    return int(parts[1])


def _headers(lines: list[bytes]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            key = name.strip().decode("latin-1").lower()
            text = value.strip().decode("latin-1")
            fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return fields


def _request_bytes(url: str, lines: list[str]) -> bytes:
    """The request as libcurl sends it (a test compares this with what a server received)."""
    start = url.index("/", 8)
    host = url[url.index("//") + 2 : start]
    return "\r\n".join([f"GET {url[start:]} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode("latin-1")
