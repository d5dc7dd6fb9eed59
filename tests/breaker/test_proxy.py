from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pycurl
import pytest
import uvloop

from joro.breaker.proxy import Breaker
from joro.clock import FakeClock, RealClock
from joro.config import Breaker as Settings
from joro.errors import ConfigError, PortInUse, UsageError
from tests.breaker.stand import Curl, Got, breaker, request, say, until
from tests.web.scripted import Answer, scripted

T = TypeVar("T")
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello"
CLOSE = "Connection: close"
BIG = b"HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n" + bytes(range(250)) * 80_000


def run(story: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(asyncio.wait_for(story, timeout=30))


async def through(answer: Answer, *, close: bool = False) -> Got:
    """What libcurl gets for this answer."""
    async with scripted(answer, close=close) as web, breaker() as proxy:
        return await Curl(proxy.port).get("http://a.example/x?y=%20", web.port)


async def bare(answer: Answer, *, close: bool = False) -> bytes:
    """What a bare client gets for this answer."""
    async with scripted(answer, close=close) as web, breaker() as proxy:
        return await say(proxy.port, request("http://a.example/", web.port, CLOSE))


def open_sockets() -> int:
    """Of this process; /proc/self/fd itself is a file that vanishes while we look."""
    folder = Path("/proc/self/fd")
    return sum(entry.is_socket() for entry in folder.iterdir() if entry.exists())


async def silent(_writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def reset(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
    await writer.drain()
    sock = writer.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 90_000 + b"\r\nZ: " + b"z" * 90_000 + b"\r\n"
        b"A: " + b"b" * 90_000 + b"\r\nContent-Length: 5\r\n\r\nhello",
    ],
    ids=["bare line ends", "no coding", "a head of 270 KB"],
)  # fmt: skip
def test_no_server_waits_for_another_whose_answer_only_the_client_could_measure(answer: bytes) -> None:
    async def story() -> list[bytes]:
        async with scripted(answer) as odd, scripted(HELLO) as web, breaker() as proxy:
            client = Curl(proxy.port)
            in_time = [(pycurl.TIMEOUT, 3)]
            found = [await client.get("http://odd.example/", odd.port, in_time)]
            found += [await client.get(f"http://{name}.example/", web.port, in_time) for name in "ab"]
            await until(lambda: not proxy.limiter.servers.accounts["http://odd.example"].active)
            return [each.body for each in found]

    assert [body[-5:] for body in run(story())][1:] == [b"hello", b"hello"]


def test_the_server_receives_the_request_as_if_there_were_no_breaker() -> None:
    async def story() -> bytes:
        async with scripted(HELLO) as web, breaker() as proxy:
            await Curl(proxy.port).get("http://a.example/x?y=%20", web.port)
            return web.requests[0]

    wanted = b"GET /x?y=%20 HTTP/1.1\r\nHost: a.example\r\nUser-Agent: joro/test\r\nAccept: */*\r\n\r\n"
    assert run(story()) == wanted


@pytest.mark.parametrize(
    "answer",
    [
        HELLO,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + HELLO,
        b"HTTP/1.0 200 Fine\r\n\r\nold",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 400_000,
        BIG,
    ],
    ids=lambda answer: repr(answer[:40]),
)
def test_an_answer_passes_byte_for_byte(answer: bytes) -> None:
    assert run(bare(answer, close=True)) == answer


def test_libcurl_receives_what_the_server_sent() -> None:
    got = run(through(BIG))
    assert (got.code, got.status, got.head + got.body) == (0, 200, BIG)


def test_what_the_server_cut_is_cut_for_the_client_too() -> None:
    assert run(through(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", close=True)).code == 18
    assert run(through(reset)).code == 56


def test_bytes_beyond_the_promised_length_reach_nobody() -> None:
    async def story() -> tuple[list[bytes], int]:
        async with (
            scripted(HELLO + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", HELLO) as web,
            breaker() as proxy,
        ):
            curl = Curl(proxy.port)
            got = [await curl.get("http://a.example/", web.port) for _ in range(2)]
            return [each.body for each in got], web.connections

    assert run(story()) == ([b"hello", b"hello"], 2)


def test_connections_are_kept_alive_on_both_sides() -> None:
    async def story() -> tuple[int, int]:
        async with scripted(HELLO) as web, breaker() as proxy:
            curl = Curl(proxy.port)
            for _ in range(5):
                await curl.get("http://a.example/", web.port)
            return web.connections, proxy.status()["clients"]

    assert run(story()) == (1, 1)


def test_two_names_on_one_address_never_share_a_connection() -> None:
    async def story() -> int:
        async with scripted(HELLO) as web, breaker() as proxy:
            for host in ("a", "b"):
                await Curl(proxy.port).get(f"http://{host}.example/", web.port)
            return web.connections

    assert run(story()) == 2


def test_a_connection_gone_stale_is_replaced_and_the_repetition_counts() -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def story() -> tuple[int, int]:
        async with scripted(HELLO, hang_up, HELLO) as web, breaker() as proxy:
            curl = Curl(proxy.port)
            await curl.get("http://a.example/", web.port)
            got = await curl.get("http://a.example/", web.port)
            return got.status, proxy.status()["granted"]

    assert run(story()) == (200, 3)


def test_bodies_of_requests_pass_too() -> None:
    async def mirror(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + await reader.readexactly(10))
        writer.close()

    async def story() -> bytes:
        async with await asyncio.start_server(mirror, "127.0.0.1", 0) as server, breaker() as proxy:
            port = server.sockets[0].getsockname()[1]
            head = request("http://a.example/", port, "Content-Length: 10", CLOSE, method="POST")
            return await say(proxy.port, head + b"hel", b"lo, ", b"web")

    assert run(story()).endswith(b"\r\n\r\nhello, web")


def test_requests_sent_ahead_are_answered_in_order() -> None:
    async def story() -> bytes:
        async with scripted(HELLO, HELLO.replace(b"hello", b"world")) as web, breaker() as proxy:
            first, last = (request("http://a.example/", web.port, *more) for more in ((), (CLOSE,)))
            return await say(proxy.port, first + request("/", 1) + last)

    said = run(story())
    assert said.index(b"hello") < said.index(b'"granted"') < said.index(b"world")


def test_no_answer_is_told_apart_from_an_answer() -> None:
    got = run(through(b"", close=True))
    assert (got.status, got.said) == (502, "unreachable; hung up without an answer")


def test_a_closed_port_is_unreachable() -> None:
    async def story() -> Got:
        async with scripted(HELLO) as web:
            pass
        async with breaker() as proxy:
            return await Curl(proxy.port).get("http://a.example/", web.port)

    got = run(story())
    assert (got.status, got.said.split(";")[0]) == (502, "unreachable")


def test_a_name_without_our_field_is_looked_up() -> None:
    async def story() -> bytes:
        async with scripted(HELLO) as web, breaker() as proxy:
            line = f"GET http://localhost:{web.port}/ HTTP/1.1\r\nHost: localhost\r\n{CLOSE}\r\n\r\n"
            return await say(proxy.port, line.encode())

    assert run(story()) == HELLO


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET http://a.example/ HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", b"431"),
        (b"GET http://a.example/ HTTP/1.1\r\nX: " + b"y" * 70_000, b"431"),
    ],
)
@pytest.mark.parametrize("sign", [b"", b"Joro-Sign: 4711\r\n"])
def test_what_cannot_be_passed_on_is_said_so(head: bytes, status: bytes, sign: bytes) -> None:
    """With the client's sign, or it would take that for the word of a server."""

    async def story() -> bytes:
        async with breaker() as proxy:
            return await say(proxy.port, head.replace(b"\r\n", b"\r\n" + sign, 1))

    said = run(story())
    assert said.startswith(b"HTTP/1.1 " + status)
    assert said.endswith(b"\r\nConnection: close\r\n" + sign + b"\r\n")


def test_a_request_that_is_too_long_never_reaches_the_server() -> None:
    async def story() -> int:
        async with scripted(HELLO) as web, breaker() as proxy:
            await say(proxy.port, request("http://a.example/", web.port, "X: " + "y" * 70_000))
            return web.connections

    assert run(story()) == 0


def test_a_client_that_never_reads_is_not_read_for_ever() -> None:
    async def story() -> int:
        async with breaker(per_server_per_minute=1) as proxy:
            _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            sent, piece = 0, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000
            with contextlib.suppress(TimeoutError):
                while sent < 50_000_000:
                    writer.write(piece)
                    async with asyncio.timeout(0.5):
                        await writer.drain()
                    sent += len(piece)
            writer.transport.abort()
            return sent

    assert run(story()) < 50_000_000


def test_a_forbidden_network_is_never_reached() -> None:
    async def story() -> tuple[Got, int]:
        async with scripted(HELLO) as web, breaker(forbid_addresses=("10.0.0.0/8", "127.0.0.0/8")) as proxy:
            return await Curl(proxy.port).get("http://a.example/", web.port), web.connections

    got, connections = run(story())
    assert (got.status, got.said, connections) == (403, "forbidden; 127.0.0.1 is in 127.0.0.0/8", 0)


@pytest.mark.parametrize(
    "address",
    ["64:ff9b::127.0.0.1", "2002:7f00:1::", "::127.0.0.1", "2a00::5efe:127.0.0.1", "::ffff:127.0.0.1"],
)
def test_an_ipv4_network_is_forbidden_inside_of_ipv6_addresses_too(address: str) -> None:
    async def story() -> bytes:
        async with breaker(forbid_addresses=("127.0.0.0/8",)) as proxy:
            head = ("GET http://a.example/ HTTP/1.1", f"Joro-Connect: [{address}]:80", CLOSE, "", "")
            return await say(proxy.port, "\r\n".join(head).encode())

    assert b"403 Forbidden" in run(story())


def test_beyond_the_limit_nothing_reaches_the_server() -> None:
    async def story() -> tuple[list[int], Got, int]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=3, quarantine_s=99.0) as proxy:
            curl = Curl(proxy.port)
            got = [await curl.get("http://a.example/", web.port) for _ in range(5)]
            return [each.status for each in got], got[-1], len(web.requests)

    statuses, last, reached = run(story())
    assert (statuses, reached) == ([200, 200, 200, 429, 429], 3)
    assert last.said == "refused; http://a.example: too many requests, limit 3"
    assert b"Retry-After: 99\r\n" in last.head


def test_the_window_and_the_quarantine_pass() -> None:
    async def story() -> list[int]:
        clock = FakeClock()
        async with (
            scripted(HELLO) as web,
            breaker(clock, per_server_per_minute=1, quarantine_s=90.0) as proxy,
        ):
            curl, got = Curl(proxy.port), []
            for pause_s in (0, 0, 89, 1):
                await clock.advance(pause_s)
                got.append((await curl.get("http://a.example/", web.port)).status)
            return got

    assert run(story()) == [200, 429, 429, 200]


def test_a_client_that_hangs_up_frees_its_place_at_the_server() -> None:
    async def story() -> list[int]:
        async with (
            scripted(silent, HELLO) as web,
            breaker(concurrent_per_server=1, quarantine_s=0.0) as proxy,
        ):
            _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            writer.write(request("http://a.example/", web.port))
            await writer.drain()
            await until(lambda: bool(web.requests))
            during = await Curl(proxy.port).get("http://a.example/", web.port)
            writer.close()
            await until(lambda: not proxy.status()["connections"])
            return [during.status, (await Curl(proxy.port).get("http://a.example/", web.port)).status]

    assert run(story()) == [429, 200]


def test_the_status_page_tells_what_happened() -> None:
    async def story() -> tuple[Any, bytes, bytes]:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=1) as proxy:
            for _ in range(2):
                await Curl(proxy.port).get("http://a.example/", web.port)
            pages = [
                await say(proxy.port, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\nend\r\n\r\n".encode())
                for path in ("/", "/metrics", "/other")
            ]
            return json.loads(pages[0].split(b"\r\n\r\n")[1].split(b"HTTP/")[0]), pages[1], pages[2]

    status, metrics, other = run(story())
    assert (status["granted"], status["refused"], status["alerts"]) == (1, 1, 1)
    assert [each["who"] for each in status["quarantined"]] == ["http://a.example"]
    assert b"\njoro_breaker_refused 1\n" in metrics
    assert other.startswith(b"HTTP/1.1 404")


def test_a_refused_flood_on_one_connection_is_answered_to_the_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def story() -> int:
        async with scripted(HELLO) as web, breaker(per_server_per_minute=1) as proxy:
            flood = request("http://a.example/", web.port) * 5_000
            return (await say(proxy.port, flood, request("http://a.example/", web.port, CLOSE))).count(
                b" 429 "
            )

    assert run(story()) == 5_000
    assert len(capsys.readouterr().err.splitlines()) == 1  # one alert


def test_stopping_lets_an_answer_end_and_leaves_nothing_open() -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO[:-5])
        await asyncio.sleep(0.3)
        writer.write(HELLO[-5:])

    async def story() -> tuple[bytes, int]:
        before = open_sockets()
        async with scripted(slow) as web:
            async with breaker() as proxy:
                idle = await asyncio.open_connection("127.0.0.1", proxy.port)
                asking = asyncio.create_task(say(proxy.port, request("http://a.example/", web.port)))
                await until(lambda: bool(web.requests))
            assert await idle[0].read() == b""
            idle[1].close()
            said = await asking
        await asyncio.sleep(0.05)
        return said, open_sockets() - before

    assert run(story()) == (HELLO, 0)


def test_a_port_that_is_taken_or_no_address_of_ours_is_one_clear_line() -> None:
    async def story(settings: Settings) -> None:
        await Breaker(settings, RealClock()).start()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"127.0.0.1:{port} is in use"):
            run(story(Settings(port=port)))
    for address in ("192.0.2.1", "\udcff"):
        with pytest.raises(UsageError, match="is not an address of this machine"):
            run(story(Settings(address=address)))
    with pytest.raises(ConfigError, match="forbid_addresses"):
        run(story(Settings(port=0, forbid_addresses=("ten",))))
