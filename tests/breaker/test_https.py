from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pycurl
import pytest
import trustme
import uvloop

from tests.breaker.stand import Curl, Got, breaker, request, say, until
from tests.web.scripted import scripted

T = TypeVar("T")
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
URL = "https://a.example/"


def run(story: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(asyncio.wait_for(story, timeout=30))


@pytest.fixture(scope="module")
def context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("a.example").configure_cert(made)
    return made


class Secure:
    """What an https server saw."""

    port = 0
    requests = 0


@asynccontextmanager
async def secure(context: ssl.SSLContext, body: bytes = HELLO) -> AsyncIterator[Secure]:
    """A server that says the same to everyone, inside TLS."""
    web = Secure()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                web.requests += 1
                writer.write(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        web.port = server.sockets[0].getsockname()[1]
        yield web


@pytest.mark.parametrize("version", [pycurl.SSLVERSION_MAX_TLSv1_2, pycurl.SSLVERSION_MAX_TLSv1_3])
def test_requests_in_a_tunnel_are_counted(context: ssl.SSLContext, version: int) -> None:
    async def story() -> tuple[list[bytes], int, int]:
        async with secure(context) as web, breaker() as proxy:
            curl = Curl(proxy.port)
            got = [await curl.get(URL, web.port, [(pycurl.SSLVERSION, version)]) for _ in range(5)]
            curl.curl.close()
            return [each.body for each in got], web.requests, proxy.status()["granted"]

    bodies, requests, granted = run(story())
    assert (bodies, requests) == ([b"hello"] * 5, 5)
    assert 5 <= granted <= 6  # TLS 1.3: a ticket between handshake and request makes one flight two


def test_a_big_body_comes_whole(context: ssl.SSLContext) -> None:
    big = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n" + bytes(range(250)) * 20_000

    async def story() -> tuple[Got, int]:
        async with secure(context, big) as web, breaker() as proxy:
            return await Curl(proxy.port).get(URL, web.port), proxy.status()["granted"]

    got, granted = run(story())
    assert got.head + got.body == big
    assert granted <= 2


def test_a_flight_too_many_cuts_the_tunnel_before_it_reaches_the_server(context: ssl.SSLContext) -> None:
    async def story() -> tuple[list[int], list[Got], int]:
        async with secure(context) as web, breaker(per_server_per_minute=4) as proxy:
            curl = Curl(proxy.port)
            got = [await curl.get(URL, web.port) for _ in range(8)]
            return [each.status for each in got], got, web.requests

    statuses, got, requests = run(story())
    assert 3 <= requests <= 4
    assert statuses == [200] * requests + [0] * (8 - requests)
    assert (got[-1].connect_status, got[-1].said.split(";")[0]) == (429, "refused")


def test_a_tunnel_says_that_it_stands_and_nothing_more() -> None:
    async def story() -> bytes:
        async with scripted(b"", close=True) as web, breaker() as proxy:
            head = request("a.example:443", web.port, method="CONNECT")
            return await say(proxy.port, head + b"anything\r\n\r\n")

    said = run(story())
    assert said.startswith(b"HTTP/1.1 200 ")
    assert said.endswith(b"\r\nJoro-Breaker: connected\r\n\r\n")


def test_plain_requests_in_a_tunnel_are_counted_like_others() -> None:
    async def story() -> tuple[bytes, int]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=2) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(request("a.example:80", web.port, method="CONNECT"))
            await reader.readuntil(b"\r\n\r\n")
            said = b""
            try:
                for _ in range(5):
                    writer.write(b"GET / HTTP/1.1\r\n\r\n")
                    said += await reader.readexactly(len(HELLO))
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
            return said, len(web.requests)

    assert run(story()) == (HELLO * 2, 2)


def test_an_unused_tunnel_takes_no_place_at_the_server() -> None:
    async def story() -> tuple[bytes, bytes]:
        async with scripted(HELLO) as web, breaker(concurrent_per_server=1, quarantine_s=0.0) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(request("a.example:80", web.port, method="CONNECT"))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await reader.readexactly(len(HELLO))
            ask = request("http://a.example/", web.port, "Connection: close")
            during = await say(proxy.port, ask)
            servers = proxy.limiter.servers.accounts
            await until(lambda: servers["http://a.example"].active == 0)
            after = await say(proxy.port, ask)
            writer.close()
            return during[:12], after[:12]

    assert run(story()) == (b"HTTP/1.1 429", b"HTTP/1.1 200")
