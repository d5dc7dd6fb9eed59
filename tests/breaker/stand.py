"""A breaker in the test's own event loop, and the two clients that talk to it: libcurl and bare sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pycurl

from joro.breaker.proxy import Breaker
from joro.breaker.request import CONNECT_FIELD
from joro.clock import Clock, RealClock
from joro.config import Breaker as Settings

LOOSE: dict[str, Any] = {
    "port": 0,
    "per_server_per_minute": 1_000_000,
    "per_address_per_minute": 1_000_000,
    "global_per_second": 1_000_000,
    "concurrent_per_server": 1_000,
    "concurrent_per_address": 1_000,
}


@asynccontextmanager
async def breaker(clock: Clock | None = None, **settings: Any) -> AsyncIterator[Breaker]:
    """One that limits nothing but what `settings` say."""
    proxy = Breaker(Settings(**LOOSE | settings), clock or RealClock())
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()


@dataclass
class Got:
    """What libcurl received."""

    code: int = 0  # its error number
    status: int = 0
    connect_status: int = 0
    head: bytes = b""
    body: bytes = b""

    @property
    def said(self) -> str:
        """What the breaker says of itself in the last head."""
        lines = self.head.decode("latin-1").split("\r\n")
        return next((line.partition(": ")[2] for line in lines if line.startswith("Joro-Breaker: ")), "")


@dataclass
class Curl:
    """One libcurl handle that goes through a breaker as the robot does."""

    proxy: int
    curl: pycurl.Curl = field(default_factory=pycurl.Curl)

    async def get(self, url: str, port: int, options: Sequence[tuple[int, Any]] = ()) -> Got:
        """GET through the breaker from 127.0.0.1:`port`; libcurl blocks, so in a thread."""
        return await asyncio.to_thread(self.fetch, url, f"127.0.0.1:{port}", options)

    def fetch(self, url: str, place: str, options: Sequence[tuple[int, Any]] = ()) -> Got:
        """The same from any address:port, in this thread."""
        got, curl = Got(), self.curl
        heads: list[bytes] = []
        body: list[bytes] = []
        for option, value in (
            (pycurl.URL, url),
            (pycurl.PROXY, f"http://127.0.0.1:{self.proxy}"),
            (pycurl.PROXYHEADER, [f"{CONNECT_FIELD}: {place}"]),
            (pycurl.HEADEROPT, pycurl.HEADER_SEPARATE),
            (pycurl.HTTPHEADER, ["User-Agent: joro/test", "Accept: */*"]),
            (pycurl.HTTP_TRANSFER_DECODING, 0),
            (pycurl.NOSIGNAL, 1),
            (pycurl.TIMEOUT, 20),
            (pycurl.SSL_VERIFYPEER, 0),
            (pycurl.SSL_VERIFYHOST, 0),
            (pycurl.HEADERFUNCTION, heads.append),
            (pycurl.WRITEFUNCTION, body.append),
            *options,
        ):
            curl.setopt(option, value)
        try:
            curl.perform()
        except pycurl.error as error:
            got.code = error.args[0]
        got.status = curl.getinfo(pycurl.RESPONSE_CODE)
        got.connect_status = curl.getinfo(pycurl.HTTP_CONNECTCODE)
        start = max((number for number, line in enumerate(heads) if line.startswith(b"HTTP/")), default=0)
        got.head, got.body = b"".join(heads[start:]), b"".join(body)
        return got


async def say(proxy: int, *pieces: bytes) -> bytes:
    """Send bytes over one connection, then read until the other end closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


def request(url: str, port: int, *fields: str, method: str = "GET") -> bytes:
    """The head of a request as a client sends it to the breaker."""
    lines = [f"{method} {url} HTTP/1.1", "Host: a.example", f"{CONNECT_FIELD}: 127.0.0.1:{port}", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen soon."""
    for _ in range(1_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")
