from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import uvloop

from joro.fetch.http import Client, Exchange, Limits
from joro.model import Outcome
from tests.web.scripted import Scripted, scripted

T = TypeVar("T")
LIMITS = Limits(timeout_s=5.0, connect_timeout_s=5.0, body_bytes=1_000, head_bytes=2_000)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


@asynccontextmanager
async def opened(*, lean: bool = True, limits: Limits = LIMITS, **more: Any) -> AsyncIterator[Client]:
    client = Client(user_agent="joro/test", limits=limits, connections=10, lean=lean, **more)
    try:
        yield client
    finally:
        await client.close()


async def ask(client: Client, web: Scripted, host: str = "a.example", **more: Any) -> Exchange:
    return await client.get(f"http://{host}/", address="127.0.0.1", port=web.port, **more)


def test_a_cancelled_request_closes_its_connection() -> None:
    async def scenario() -> bytes:
        hung_up: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            with pytest.raises(ConnectionResetError):  # what was under way is thrown away
                await reader.read()
            hung_up.set_result(b"reset")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server, opened() as client:
            web = Scripted(port=server.sockets[0].getsockname()[1])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await ask(client, web)
            assert client.open_transfers == 0
            return await hung_up

    assert run(scenario()) == b"reset"


def test_closing_the_client_ends_what_is_under_way_and_frees_all_files() -> None:
    async def silent(_writer: asyncio.StreamWriter) -> None:
        return

    async def scenario() -> tuple[bool, int]:
        async with scripted(HELLO) as web, scripted(silent) as quiet:
            async with opened() as client:
                await asyncio.gather(*(ask(client, web, f"{number}.example") for number in range(5)))
                waiting = asyncio.ensure_future(ask(client, quiet))
                await asyncio.sleep(0.05)
                before = len(os.listdir("/proc/self/fd"))
            await asyncio.wait([waiting])
            return waiting.cancelled(), before - len(os.listdir("/proc/self/fd"))

    cancelled, freed = run(scenario())
    assert cancelled
    assert freed >= 6  # and what the server had open for them


def test_what_a_server_says_unasked_closes_the_connection() -> None:
    async def chatty(writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        await asyncio.sleep(0.05)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

    async def scenario() -> tuple[bytes, int]:
        async with scripted(chatty, HELLO) as web, opened() as client:
            await ask(client, web)
            await asyncio.sleep(0.15)
            second = await ask(client, web)
            assert second.response is not None
            return second.response.body, web.connections

    assert run(scenario()) == (b"hello", 2)


def test_of_too_many_connections_the_longest_idle_one_is_closed() -> None:
    async def scenario() -> int:
        async with scripted(HELLO) as web, opened() as client:  # ten at most
            for number in [*range(11), 10, 1, 0]:
                await ask(client, web, f"{number}.example")
            return web.connections

    assert run(scenario()) == 12


def test_a_request_too_long_to_leave_in_one_go_arrives_whole() -> None:
    async def scenario() -> tuple[int, bool]:
        received = bytearray()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.2)  # until nothing more can be sent
            received.extend(await reader.readuntil(b"\r\n\r\n"))
            writer.write(HELLO)
            writer.close()

        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        server = await asyncio.start_server(slow, sock=listener, limit=10**8)
        async with server, opened() as client:
            url = "http://a.example/" + "x" * 7_000_000
            exchange = await client.get(url, address="127.0.0.1", port=listener.getsockname()[1])
            return len(received) - len(exchange.request), exchange.outcome is None

    assert run(scenario()) == (0, True)


def test_a_large_page_does_not_wait_for_small_ones_that_came_after_it() -> None:
    asked, sent = threading.Event(), threading.Event()

    def serve(listener: socket.socket) -> None:
        with listener.accept()[0] as first, listener.accept()[0] as second:
            asked.wait()
            for line, size in ((first, 100_000), (second, 5)):
                line.recv(10_000)
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
            sent.set()
            second.recv(1)  # until they hang up

    async def scenario(web: Scripted) -> list[int]:
        ended: list[int] = []

        async def fetch(host: str) -> None:
            response = (await ask(client, web, host)).response
            ended.append(len(response.body) if response else 0)

        async with opened(limits=Limits(5.0, 5.0, 200_000, 1_000)) as client:
            calls = []
            for host in ("a.example", "b.example"):
                calls.append(asyncio.ensure_future(fetch(host)))
                await asyncio.sleep(0.05)
            asked.set()
            sent.wait(5.0)  # the loop stands still until both have come
            await asyncio.gather(*calls)
        return ended

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        assert run(scenario(Scripted(port=listener.getsockname()[1]))) == [100_000, 5]
        server.join()


def test_ipv6_and_nobody_there() -> None:
    async def scenario() -> list[tuple[Outcome | None, bool]]:
        async with scripted(HELLO, address="::1") as web, opened() as client:
            there = await client.get("http://a.example/", address="::1", port=web.port)
            nobody = await ask(client, web)  # listens on ::1 only
            return [(each.outcome, each.connected) for each in (there, nobody)]

    assert run(scenario()) == [(None, True), (Outcome.UNREACHABLE, False)]


@pytest.mark.parametrize("lean", [True, False])
def test_a_connection_that_is_not_made_in_time_leaves_another_address_to_try(lean: bool) -> None:
    async def scenario() -> tuple[Outcome | None, bool]:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            crowd = [socket.socket() for _ in range(4)]
            for each in crowd:
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
            limits = Limits(5.0, 0.3, 1_000, 1_000)
            async with opened(lean=lean, limits=limits) as client:
                exchange = await client.get("http://a.example/", address="127.0.0.1", port=port)
            for each in crowd:
                each.close()
            return exchange.outcome, exchange.connected

    assert run(scenario()) == (Outcome.TIMEOUT, False)


@pytest.mark.parametrize(
    "url", ["http://u:p@a.example/", "http://a.example/a b", "http://a.example/\r\nX: y"]
)
def test_odd_urls_are_left_to_libcurl(url: str) -> None:
    async def scenario(lean: bool) -> tuple[Outcome | None, list[bytes]]:
        async with scripted(HELLO) as web, opened(lean=lean) as client:
            exchange = await client.get(url, address="127.0.0.1", port=web.port)
            return exchange.outcome, web.requests

    assert run(scenario(True)) == run(scenario(False))
