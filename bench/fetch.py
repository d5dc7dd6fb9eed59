"""How many pages does a CPU-second fetch, by our own plain HTTP and by libcurl?

Both sides run through `fetch.http.Client`, 64 pages of 20 KB at a time on connections kept open, from one
trivial server in a process of its own; rounds alternate, the best of each counts.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from joro.fetch.http import Client, Limits

ROUNDS, PAGES, AT_ONCE = 5, 8_000, 64
LIMITS = Limits(timeout_s=30.0, connect_timeout_s=10.0, body_bytes=1_000_000, head_bytes=65_536, stall_s=20.0)
_HEAD = (
    "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 16 Nov 2026 09:00:00 GMT\r\n"
    "Content-Type: text/html; charset=utf-8\r\nContent-Length: 20480\r\nConnection: keep-alive\r\n"
    'ETag: "5f3-20480"\r\nCache-Control: max-age=3600\r\n\r\n'
)
PAGE = _HEAD.encode("ascii") + b"x" * 20_480


def figures() -> dict[str, tuple[float, str]]:
    """Pages per CPU-second of both, and how they compare."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        port = ours.recv()
        speeds = [uvloop.run(_measure(port, lean=lean)) for _ in range(ROUNDS) for lean in (True, False)]
    finally:
        server.terminate()
        server.join()
    lean, libcurl = max(speeds[0::2]), max(speeds[1::2])
    return {
        "fetch.lean_per_cpu_s": (lean, "pages/CPU-s"),
        "fetch.libcurl_per_cpu_s": (libcurl, "pages/CPU-s"),
        "fetch.ratio_libcurl": (lean / libcurl, "x"),
    }


async def _measure(port: int, *, lean: bool) -> float:
    client = Client(user_agent="joro/bench", limits=LIMITS, connections=AT_ONCE, lean=lean)

    async def fetch(host: int, pages: int) -> None:
        for number in range(pages):
            url = f"http://{host}.example/some/directory/page-{number}.html"
            exchange = await client.get(url, address="127.0.0.1", port=port)
            assert exchange.response is not None
            assert len(exchange.response.body) == 20_480

    try:
        await asyncio.gather(*(fetch(host, 1) for host in range(AT_ONCE)))
        before = time.process_time()
        await asyncio.gather(*(fetch(host, PAGES // AT_ONCE) for host in range(AT_ONCE)))
        return PAGES / (time.process_time() - before)
    finally:
        await client.close()


class _Server(asyncio.Protocol):
    """Every request is one read, every answer the same page."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is no subclass of it

    def data_received(self, data: bytes) -> None:
        self._transport.write(PAGE)


def _serve(pipe: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())
