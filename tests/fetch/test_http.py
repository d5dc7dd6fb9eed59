from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import pytest
import uvloop

from joro.fetch.http import Client, Exchange, Limits
from joro.fetch.route import Route
from joro.model import Outcome, Truncated
from tests.web.scripted import Answer, Scripted, scripted

T = TypeVar("T")
LIMITS = Limits(timeout_s=2.0, connect_timeout_s=1.0, body_bytes=100_000, head_bytes=10_000)
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello"

#: Everything here holds for both ways of fetching.
IS_LEAN = ContextVar("IS_LEAN", default=True)


@pytest.fixture(autouse=True, params=[True, False], ids=["lean", "libcurl"])
def _both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    before = IS_LEAN.set(request.param)
    yield
    IS_LEAN.reset(before)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


@asynccontextmanager
async def open_client(limits: Limits = LIMITS, route: Route | None = None) -> AsyncIterator[Client]:
    client = Client(user_agent="joro/test", limits=limits, connections=10, route=route, lean=IS_LEAN.get())
    try:
        yield client
    finally:
        await client.close()


async def get(web: Scripted, path: str = "/", limits: Limits = LIMITS) -> Exchange:
    async with open_client(limits) as client:
        return await client.get(f"http://a.example{path}", address="127.0.0.1", port=web.port)


async def answered(answer: Answer, *, close: bool = False, limits: Limits = LIMITS) -> Exchange:
    async with scripted(answer, close=close) as web:
        return await get(web, limits=limits)


def test_head_and_body_are_kept_byte_for_byte() -> None:
    response = run(answered(HELLO)).response
    assert response is not None
    assert response.head + response.body == HELLO
    assert (response.status, response.headers["x-a"], response.truncated) == (200, "1, 2", None)


def test_the_request_we_archive_is_the_request_the_server_received() -> None:
    async def scenario() -> tuple[bytes, bytes]:
        async with scripted(HELLO) as web:
            exchange = await get(web, "/a%20b?c=d")
            return exchange.request, web.requests[0]

    ours, theirs = run(scenario())
    assert ours == theirs
    assert theirs.startswith(b"GET /a%20b?c=d HTTP/1.1\r\nHost: a.example\r\n")


def test_consecutive_requests_share_a_connection() -> None:
    async def scenario() -> int:
        async with scripted(HELLO) as web:
            async with open_client() as client:
                for _ in range(5):
                    await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            return web.connections

    assert run(scenario()) == 1


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        (HELLO, True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", False),
    ],
)
def test_what_we_say_about_keep_alive_is_what_the_next_request_finds(answer: bytes, stays: bool) -> None:
    async def scenario() -> tuple[bool, int]:
        async with scripted(answer) as web, open_client() as client:
            first = await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            return first.kept_alive, web.connections

    assert run(scenario()) == (stays, 1 if stays else 2)


def test_a_body_that_only_the_end_of_the_connection_ends_leaves_nothing_alive() -> None:
    exchange = run(answered(b"HTTP/1.1 200 OK\r\n\r\nhello", close=True))
    assert (exchange.outcome, exchange.kept_alive) == (None, False)


@pytest.mark.parametrize(("wait_s", "once"), [(0.0, False), (1.2, True)])  # libcurl looks after a second
def test_a_connection_the_server_closed_meanwhile_is_no_failure(wait_s: float, once: bool) -> None:
    async def scenario() -> tuple[Outcome | None, int]:
        async with scripted(HELLO, close=True) as web, open_client() as client:
            await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            await asyncio.sleep(wait_s)
            second = await client.get("http://a.example/", address="127.0.0.1", port=web.port, once=once)
            return second.outcome, web.connections

    assert run(scenario()) == (None, 2)


@pytest.mark.parametrize("close", [False, True])
def test_who_wants_a_kept_connection_gets_no_new_one(close: bool) -> None:
    async def scenario() -> tuple[list[bool], int]:
        async with scripted(HELLO, close=close) as web, open_client() as client:
            found: list[bool] = []
            for kept in (False, True, False):
                await asyncio.sleep(1.2 if found else 0.0)  # libcurl looks after a second
                one = await client.get("http://a.example/", address="127.0.0.1", port=web.port, kept=kept)
                found.append(one.hung_up)
                assert (one.response is None) == one.hung_up
            return found, web.connections

    assert run(scenario()) == (([False, True, False], 2) if close else ([False, False, False], 1))


def test_who_wants_a_kept_connection_where_none_was_gets_none() -> None:
    async def scenario() -> tuple[bool, int]:
        async with scripted(HELLO) as web, open_client() as client:
            one = await client.get("http://a.example/", address="127.0.0.1", port=web.port, kept=True)
            return one.hung_up, web.connections

    assert run(scenario()) == (True, 0)


def test_a_robots_txt_may_be_longer_than_other_bodies() -> None:
    async def scenario() -> list[Truncated | None]:
        found = []
        limits = Limits(2.0, 1.0, body_bytes=1_000, head_bytes=10_000, rules_bytes=2_000)
        async with scripted(*(sized(size) for size in (1_500, 2_500, 1_500))) as web:
            for path in ("/robots.txt", "/robots.txt", "/robots.html"):
                response = (await get(web, path, limits)).response
                assert response is not None
                found.append(response.truncated)
        return found

    assert run(scenario()) == [None, Truncated.LENGTH, Truncated.LENGTH]


def sized(size: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (size, bytes(size))


@pytest.mark.parametrize("kept", [False, True])
def test_a_request_at_which_the_connection_is_cut_is_not_sent_again(kept: bool) -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def scenario() -> tuple[Outcome | None, bool, int]:
        async with scripted(HELLO, cut, HELLO) as web, open_client() as client:
            await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            second = await client.get("http://a.example/", address="127.0.0.1", port=web.port, kept=kept)
            assert not second.hung_up
            seen = len(web.requests)
            third = await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            assert third.outcome is None
            return second.outcome, second.connected, seen

    assert run(scenario()) == (Outcome.UNREACHABLE, True, 2)


def test_a_connection_idle_for_too_long_is_not_used_again() -> None:
    async def scenario() -> int:
        async with scripted(HELLO) as web, open_client(route=Route(keep_alive_s=1.0)) as client:
            for wait_s in (0.0, 2.2):  # libcurl counts whole seconds
                await asyncio.sleep(wait_s)
                await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            return web.connections

    assert run(scenario()) == 2


def test_two_names_on_one_address_never_share_a_connection() -> None:
    async def scenario() -> int:
        async with scripted(HELLO) as web:
            async with open_client() as client:
                for host in ("a.example", "b.example"):
                    await client.get(f"http://{host}/", address="127.0.0.1", port=web.port)
            return web.connections

    assert run(scenario()) == 2


def test_chunk_frames_and_content_coding_stay_on() -> None:
    body = b"5;x=y\r\nhello\r\n0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    response = run(answered(head + body)).response
    assert response is not None
    assert (response.body, response.chunked, response.truncated) == (body, True, None)


def test_an_interim_response_does_not_count() -> None:
    response = run(answered(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + HELLO)).response
    assert response is not None
    assert (response.status, response.head + response.body) == (200, HELLO)


def test_a_body_over_the_limit_is_cut_exactly_there() -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300_000
    response = run(answered(endless, close=True)).response
    assert response is not None
    assert (len(response.body), response.truncated) == (100_000, Truncated.LENGTH)


def test_a_body_shorter_than_promised_is_marked() -> None:
    response = run(answered(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", close=True)).response
    assert response is not None
    assert (response.body, response.truncated) == (b"hello", Truncated.DISCONNECT)


def test_a_body_that_never_ends_in_time_is_kept_up_to_then() -> None:
    async def dribble(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc")

    limits = Limits(timeout_s=0.3, connect_timeout_s=1.0, body_bytes=100_000, head_bytes=10_000)
    response = run(answered(dribble, limits=limits)).response
    assert response is not None
    assert (response.body, response.truncated) == (b"abc", Truncated.TIME)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n", Outcome.MALFORMED),
        (b"HTTP/1.1 OK fine\r\n\r\n", Outcome.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", Outcome.MALFORMED),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", Outcome.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nContent-Le", Outcome.UNREACHABLE),
        (b"", Outcome.UNREACHABLE),
    ],
)
def test_what_is_not_http_is_an_outcome(answer: bytes, outcome: Outcome) -> None:
    assert run(answered(answer, close=True)).outcome is outcome


def test_a_header_that_comes_drop_by_drop_ends_in_time() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1_000:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.01)

    limits = Limits(timeout_s=0.4, connect_timeout_s=0.2, body_bytes=1000, head_bytes=1000)
    assert run(answered(drip, limits=limits)).outcome is Outcome.TIMEOUT


def test_a_server_that_stalls_is_left_long_before_the_time_is_up() -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")

    limits = Limits(60.0, 1.0, 1000, 1000, stall_s=1.0, stall_bytes_per_s=10)
    response = run(answered(stall, limits=limits)).response
    assert response is not None
    assert (response.body, response.truncated) == (b"abc", Truncated.TIME)


def test_an_endless_header_ends_where_we_say() -> None:
    async def chatter(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(b"Set-Cookie: again=and-again\r\n" * 100)
            await writer.drain()

    assert run(answered(chatter)).outcome is Outcome.MALFORMED


def test_silence_is_a_timeout() -> None:
    async def silent(_writer: asyncio.StreamWriter) -> None:
        return

    limits = Limits(timeout_s=0.3, connect_timeout_s=0.2, body_bytes=1000, head_bytes=1000)
    assert run(answered(silent, limits=limits)).outcome is Outcome.TIMEOUT


def test_a_closed_port_is_unreachable() -> None:
    async def scenario() -> Exchange:
        async with scripted(HELLO) as web:
            pass
        return await get(web)

    assert run(scenario()).outcome is Outcome.UNREACHABLE


def test_a_cancelled_request_leaves_the_client_usable() -> None:
    async def silent(_writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(10)

    async def scenario() -> int:
        async with scripted(silent, HELLO) as web:
            async with open_client() as client:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await client.get("http://a.example/", address="127.0.0.1", port=web.port)
                exchange = await client.get("http://a.example/", address="127.0.0.1", port=web.port)
            return exchange.response.status if exchange.response else 0

    assert run(scenario()) == 200


def test_big_bodies_wait_for_each_other_and_all_arrive() -> None:
    big = b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + b"x" * 90_000
    limits = Limits(5.0, 1.0, body_bytes=100_000, head_bytes=10_000, memory_bytes=40_000)

    async def scenario() -> list[Exchange]:
        async with scripted(big) as web, open_client(limits) as client:
            calls = [
                client.get(f"http://{n}.example/", address="127.0.0.1", port=web.port) for n in range(10)
            ]
            return await asyncio.gather(*calls)

    assert [len(each.response.body) for each in run(scenario()) if each.response] == [90_000] * 10


def test_who_waits_for_room_until_its_time_is_up_is_cut_and_small_pages_pass() -> None:
    stalled = b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + b"x" * 50_000
    limits = Limits(0.7, 0.5, body_bytes=100_000, head_bytes=10_000, memory_bytes=20_000)

    async def scenario() -> tuple[list[Exchange], Exchange, Exchange]:
        async with scripted(stalled) as web, scripted(HELLO) as other, open_client(limits) as client:
            calls = [client.get(f"http://{n}.example/", address="127.0.0.1", port=web.port) for n in range(3)]
            waiting = asyncio.gather(*calls)
            small = await client.get("http://s.example/", address="127.0.0.1", port=other.port)
            cut = await waiting
            return cut, small, await client.get("http://s.example/", address="127.0.0.1", port=other.port)

    cut, small, after = run(scenario())
    assert [each.response.truncated for each in cut if each.response] == [Truncated.TIME] * 3
    assert (small.outcome, after.outcome) == (None, None)
