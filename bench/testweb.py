"""Is the test web so cheap that a crawler under test is always the bottleneck?

Measured: a web of the bench profile (300 hosts, 3,000 pages of 20 KB with 30 links) in its own process, all
pages ready, asked over 50 keep-alive connections by the barest client we can write: it sends prepared
requests and counts bytes. CPU seconds of both sides, kernel included. Then pages made from nothing.

`over_client` compares serving a page with the least any crawler of ours does with it: receive it by that
client and find its links. Left out: new connections, DNS, changing pages, moods.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import cycle, islice
from typing import cast
from urllib.parse import urlsplit

import psutil
import uvloop

from joro.parse.page import outline
from joro.testweb.paths import url
from joro.testweb.plan import make
from joro.testweb.running import separate
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site

SETTINGS = Settings(hosts=300, pages=3_000, profile="bench", warm=True)
REQUESTS = 60_000
CONNECTIONS = 50
MADE, PARSED = 1_500, 500


def figures() -> dict[str, tuple[float, str]]:
    """Pages served and made per CPU-second, and how many times cheaper serving is than taking."""
    served, received = _served()
    taken = 1 / (1 / received + 1 / _parsed())
    return {
        "testweb.pages_per_cpu_s": (served, "pages/CPU-s"),
        "testweb.over_client": (served / taken, "x"),
        "testweb.made_pages_per_s": (_made("bench"), "pages/CPU-s"),
        "testweb.made_mixed_pages_per_s": (_made("mixed"), "pages/CPU-s"),
    }


def _served() -> tuple[float, float]:
    """Pages per CPU-second of the server and of the client."""
    with separate(SETTINGS) as web:
        requests = [_request(page["url"]) for page in web.oracle.get("/pages")]
        server, client = psutil.Process(web.pid), psutil.Process()
        before = _cpu_s(server), _cpu_s(client)
        uvloop.run(_ask(web.port, islice(cycle(requests), REQUESTS)))
        after = _cpu_s(server), _cpu_s(client)
        assert web.oracle.get("/summary")["requests"] == REQUESTS
    return REQUESTS / (after[0] - before[0]), REQUESTS / (after[1] - before[1])


def _request(address: str) -> bytes:
    parts = urlsplit(address)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\n\r\n".encode()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


class _Client(asyncio.Protocol):
    """Sends the next request when the answer to the last is complete."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._done = done
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        if self._missing == 0:
            head = data.index(b"\r\n\r\n") + 4  # a head always comes in one piece here
            start = data.index(b"Content-Length: ") + 16
            self._missing = head + int(data[start : data.index(b"\r\n", start)])
        self._missing -= len(data)
        if self._missing == 0:
            self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            self._done.set_result(None)
        else:
            self._transport.write(request)


async def _ask(port: int, requests: Iterator[bytes]) -> None:
    loop = asyncio.get_running_loop()
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(CONNECTIONS)]
    for end in ends:
        await loop.create_connection(lambda end=end: _Client(requests, end), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)


def _parsed() -> float:
    """Pages whose links are found per CPU-second."""
    site = Site(make(SETTINGS))
    pages = [
        (site.pages.content(page, site.changes.state(page, EPOCH)), url(site.plan, page))
        for page in range(500)
    ]
    start = time.process_time()
    for content, address in pages:
        outline(content, address, "text/html; charset=utf-8")
    return len(pages) / (time.process_time() - start)


def _made(profile: str) -> float:
    """Pages made per CPU-second, once the pools of sentences are filled."""
    site = Site(make(Settings(hosts=300, pages=3_000, profile=profile)))
    for host in site.plan.hosts:
        site.texts.pool(host)
    start = time.process_time()
    for page in range(MADE):
        site.page(site.plan.host_of(page), page, False, EPOCH)
    return MADE / (time.process_time() - start)


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:34} {value:10.1f} {unit}")
