"""What libcurl makes of an answer our own plain HTTP makes of it, too, but for the differences named here."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.fetch.answer import Answer
from joro.fetch.http import Client, Exchange, Limits
from joro.model import Outcome, Response, Truncated
from tests.web.scripted import Scripted, scripted

T = TypeVar("T")
LIMITS = Limits(timeout_s=5.0, connect_timeout_s=5.0, body_bytes=1_000, head_bytes=2_000)
IMPATIENT = Limits(timeout_s=0.5, connect_timeout_s=0.5, body_bytes=1_000, head_bytes=2_000)
OK = b"HTTP/1.1 200 OK\r\n"
FIVE = b"Content-Length: 5\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HELLO = OK + FIVE + b"\r\nhello"


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


async def fetched(pieces: Sequence[bytes], *, close: bool, lean: bool) -> tuple[Exchange, int]:
    """The exchange, and how many connections it and another one took."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            if writer.is_closing():  # they have heard enough
                return
            writer.write(piece)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    limits = LIMITS if close else IMPATIENT
    async with scripted(answer, close=close) as web, opened(lean=lean, limits=limits) as client:
        return await ask(client, web), web.connections


async def both(pieces: Sequence[bytes], *, close: bool = True) -> tuple[Exchange, Exchange]:
    ours, theirs = await asyncio.gather(*(fetched(pieces, close=close, lean=each) for each in (True, False)))
    return ours[0], theirs[0]


def told(exchange: Exchange) -> tuple[Any, ...]:
    """All that is not for people only."""
    return exchange.outcome, exchange.connected, exchange.request, exchange.response, exchange.kept_alive


def bodies(head: bytes, *several: bytes) -> list[bytes]:
    return [head + b"\r\n" + body for body in several]


SAME = [
    # how the head ends, and what its lines may look like
    b"HTTP/1.1 200 OK\n\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
    b"HTTP/1.1 200 OK\nContent-Length: 5\r\n\nhello",
    *(
        OK + line + b"\r\n" + FIVE + b"\r\nhello"
        for line in (b"X", b": y", b"X y: z", b"X: \0", b"X: \xff\1", b"X: a\rb")
    ),
    *(
        OK + line + b"\r\n" + FIVE + b"\r\nhello"
        for line in (b"X: a\r", b" X: a", b" X", b"HTTP/: x", b"HTTP/1.1 404 No")
    ),
    *(
        b"HTTP/1.1" + rest + b"\r\n" + FIVE + b"\r\nhello"
        for rest in (b" 200", b" 200 ", b"  200 OK", b"\t200 OK")
    ),
    *(
        b"HTTP/1.1" + rest + b"\r\n" + FIVE + b"\r\nhello"
        for rest in (b" 200OK", b" 20 OK", b" 2000", b" 099 OK", b"")
    ),
    *(
        b"HTTP/1.1 " + code + b" X\r\n" + FIVE + b"\r\nhello"
        for code in (b"205", b"302", b"401", b"417", b"503", b"999")
    ),
    *(
        name + b" 200 OK\r\n" + FIVE + b"\r\nhello"
        for name in (b"HTTP/1.2", b"HTTP/2", b"HTTP/3", b"HTTP/0.9", b"HTTP/1")
    ),
    *(
        name + b" 200 OK\r\n" + FIVE + b"\r\nhello"
        for name in (b"HTTP/1.10", b"HTTP/11", b"http/1.1", b"HTTP", b"ICY")
    ),
    *(start + HELLO for start in (b"\r\n", b"\n", b" ", b"x")),
    *(
        b"",
        b"H",
        b"HTTP/",
        b"HTTP/1.1 200 OK",
        OK,
        OK + b"\r",
        OK + FIVE,
        b"X",
        b"HTTQ",
        b"<html>hi",
        b"\r\n\r\n",
    ),
    # how long the body is
    *bodies(OK, b"hello"),
    *bodies(OK + FIVE, b"", b"hell", b"hello"),
    *bodies(OK + FIVE + FIVE, b"hello"),
    *bodies(OK + FIVE + b"Content-Length: 3\r\n", b"hello"),
    *(
        OK + b"Content-Length:" + value + b"\r\n\r\nhello"
        for value in (b"5", b"\t5", b" 05 ", b" 5, 5", b" 5,3", b" 5;3")
    ),
    *(
        OK + b"Content-Length:" + value + b"\r\n\r\nhello"
        for value in (b"", b" -1", b" abc", b" 5a", b" +5", b" 5 5")
    ),
    *(b"HTTP/1.1 " + code + b" X\r\n" + FIVE + b"\r\n" for code in (b"204", b"304")),
    b"HTTP/1.1 204 X\r\n" + CHUNKED + b"\r\n",
    b"HTTP/1.0 200 OK\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\n" + FIVE + b"\r\nhello",
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + FIVE + b"\r\nhello",
    b"HTTP/1.0 200 OK\r\n" + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\n",
    *(OK + b"Content-Length: %d\r\n\r\n" % size + b"x" * size for size in (0, 1_000, 1_001)),
    *bodies(OK, b"x" * 1_000, b"x" * 1_001),
    # chunks
    *bodies(
        OK + CHUNKED,
        b"5\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\n0\n\n",
        b"000\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
    ),
    *bodies(
        OK + CHUNKED,
        b"5;a=b\r\nhello\r\n0;x\r\n\r\n",
        b"5xyz\r\nhello\r\n0\r\n\r\n",
        b"5;" + b"x" * 600 + b"\r\nhello\r\n0\r\n\r\n",
    ),
    *bodies(
        OK + CHUNKED,
        b"5\r\nhello\r\n0\r\nX: y\r\nZ: w\r\n\r\n",
        b"5\r\nhello\r\n0\r\nA: b\n\n",
        b"5\r\nhello\r\n0\r\nbroken\r\n\r\n",
    ),
    *bodies(
        OK + CHUNKED,
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"\r\nhello",
        b"xyz\r\nhello",
        b"-5\r\nhello",
        b"ffffffffffffffff\r\nhello",
    ),
    *bodies(
        OK + CHUNKED,
        b"5\r\nhelloXX\r\n0\r\n\r\n",
        b"5\r\nhelloX\n0\r\n\r\n",
        b"0" * 16 + b"5\r\nhello\r\n0\r\n\r\n",
        b"0" * 17 + b"5\r\nhello",
    ),
    *bodies(
        OK + CHUNKED,
        b"",
        b"5\r\nhel",
        b"5\r\nhello\r\n",
        b"5\r\nhello\r\n0",
        b"5\r\nhello\r\n0\r\n",
        b"3e8\r\n" + b"x" * 1_000 + b"\r\n0\r\n\r\n",
    ),
    *bodies(OK + CHUNKED + CHUNKED, b"5\r\nhello\r\n0\r\n\r\n"),
    *bodies(OK + CHUNKED + FIVE, b"5\r\nhello\r\n0\r\n\r\n"),
    *bodies(OK + FIVE + CHUNKED, b"5\r\nhello\r\n0\r\n\r\n"),
    *(
        OK + b"Transfer-Encoding:" + value + b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        for value in (b" CHUNKED", b" chunked, gzip")
    ),
    # interim answers
    b"HTTP/1.1 100 C\r\n\r\n" + HELLO,
    b"HTTP/1.1 100 C\r\n" + CHUNKED + b"\r\nHTTP/1.1 103 E\r\nLink: <x>\r\n\r\n" + HELLO,
    b"HTTP/1.1 100 C\r\nX\r\n\r\n" + HELLO,
    b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nhello",
    # whether the connection stays
    *(
        OK + b"Connection: " + word + b"\r\n" + FIVE + b"\r\nhello"
        for word in (b"close", b"upgrade, Close", b"TE")
    ),
]


async def different(answers: Sequence[bytes], *, close: bool) -> list[tuple[bytes, Exchange, Exchange]]:
    """Those of which we say something else than libcurl."""
    found = await asyncio.gather(*(both([answer], close=close) for answer in answers))
    pairs = zip(answers, found, strict=True)
    return [(answer, ours, theirs) for answer, (ours, theirs) in pairs if told(ours) != told(theirs)]


def test_what_libcurl_makes_of_an_answer_is_what_we_make_of_it() -> None:
    async def scenario() -> list[tuple[bytes, Exchange, Exchange]]:
        return [found for answer in SAME for found in await different([answer], close=True)]

    assert run(scenario()) == []


def test_what_libcurl_makes_of_a_server_that_falls_silent_is_what_we_make_of_it() -> None:
    starts = [
        b"",
        b"HTT",
        OK,
        OK + b"\r\nhello",
        OK + FIVE + b"\r\nhell",
        OK + CHUNKED + b"\r\n5\r\nhel",
        HELLO,
    ]
    assert run(different(starts, close=False)) == []


FIVE_CHUNKED = b"5\r\nhello\r\n0\r\n\r\n"
Told = tuple[Outcome | None, bytes, bool]  # outcome, body, is the connection kept

#: Where we differ from libcurl and mean it: why, the answer, what we say, what it says.
DIFFERENT: list[tuple[str, bytes, Told, Told]] = [
    (
        "a coding before the chunks does not hide where they end",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + FIVE_CHUNKED,
        (None, FIVE_CHUNKED, True),
        (None, FIVE_CHUNKED, True),  # when the server closes; else it waits until time is up
    ),
    (
        "what follows the last chunk is no body, and the connection is not used again",
        OK + CHUNKED + b"\r\n" + FIVE_CHUNKED + b"HTTP/1.1 200 OK\r\n",
        (None, FIVE_CHUNKED, False),
        (None, FIVE_CHUNKED + b"HTTP/1.1 200 OK\r\n", True),
    ),
    (
        "a connection that is not used again is not called kept",
        OK + FIVE + b"\r\nhello and more",
        (None, b"hello", False),
        (None, b"hello", True),
    ),
    (
        "the same, where the length is none we can wait for",
        OK + b"Content-Length: 99999999999999999999\r\n\r\nhello",
        (None, b"hello", False),
        (None, b"hello", True),
    ),
    (
        "the same, of a server that says HTTP/2.0 and speaks 1.1",
        b"HTTP/2.0 200 OK\r\n" + FIVE + b"\r\nhello",
        (None, b"hello", False),
        (None, b"hello", True),
    ),
    (
        "the framing is read from the fields we report, and there is a length among them",
        OK + b"Content-Length : 5\r\n\r\nhello!",
        (None, b"hello", False),
        (None, b"hello!", True),
    ),
    (
        "an interim answer alone is no answer",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        (Outcome.UNREACHABLE, b"", False),
        (None, b"", False),
    ),
    (
        "nor with something after it that is none",
        b"HTTP/1.1 100 Continue\r\n\r\nhello",
        (Outcome.MALFORMED, b"", False),
        (None, b"", False),
    ),
    (
        "an empty line with a stray carriage return ends no head",
        OK + FIVE + b"\r\r\nhello",
        (Outcome.MALFORMED, b"", False),
        (Outcome.UNREACHABLE, b"", False),
    ),
]


@pytest.mark.parametrize(
    ("answer", "ours", "theirs"), [each[1:] for each in DIFFERENT], ids=[d[0] for d in DIFFERENT]
)
def test_where_we_differ_from_libcurl_we_mean_it(answer: bytes, ours: Told, theirs: Told) -> None:
    found = run(both([answer]))
    said = [(each.outcome, each.response.body if each.response else b"", each.kept_alive) for each in found]
    assert said == [ours, theirs]


def test_a_folded_field_stays_as_it_was_received() -> None:
    answer = OK + b"X: a\r\n  b\r\n" + FIVE + b"\r\nhello"
    ours, theirs = (each.response for each in run(both([answer])))
    assert ours is not None
    assert theirs is not None
    assert (ours.head + ours.body, ours.headers) == (answer, theirs.headers)
    assert theirs.head == OK + b"X: a b\r\n" + FIVE + b"\r\n"


def test_an_interim_answer_with_bare_line_ends_is_not_taken_for_the_final_one() -> None:
    ours, theirs = (each.response for each in run(both([b"HTTP/1.1 100 Continue\n\n" + HELLO])))
    assert ours is not None
    assert theirs is not None
    assert (ours.status, ours.head + ours.body, theirs.status) == (200, HELLO, 100)


EMPTY_LINE = re.compile(rb"\n\r?\n")
INTERIM = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
END = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n"])
STATUS = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found", b"HTTP/1.0 200", b"HTTP/1.1 304 X", b"HTTP/1.1 204 X"]
    + [b"HTTP/1.1 200 OK"] * 9
    + [b"HTTP/1.3 200 OK", b"HTTP/1.1  200 OK", b"SSH-2.0-x"]
)
FIELD = st.sampled_from(
    [
        b"X: y",
        b"x: z",
        b"Content-Type: text/html",
        b"Connection: close",
        b"Connection: keep-alive",
        b"A:",
        b": b",
    ]
    + [b"Content-Length: 5", b"Content-Length: 30", b"content-length:900", b"Content-Length: 1200"]
    + [b"Transfer-Encoding: chunked"] * 5
    + [b"Content-Length: 5x", b"no colon", b"Nul: \0", b"Bell: \x07\xff"]
)
CHUNK_SIZE = st.sampled_from([b"%x", b"%x", b"%x", b"%X", b"0%x", b"%x;a=b", b"%x ", b"%xy", b" %x", b"-%x"])


@st.composite
def chunked(draw: st.DrawFn) -> bytes:
    pieces = draw(st.lists(st.binary(min_size=1, max_size=300), max_size=5))
    frames = [draw(CHUNK_SIZE) % len(each) + draw(END) + each + draw(END) for each in pieces]
    trailers = draw(st.lists(st.sampled_from([b"T: u", b"V: w", b"none"]), max_size=1))
    return b"".join([*frames, b"0", draw(END), *(each + draw(END) for each in trailers), draw(END)])


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    interim = draw(st.sampled_from([b"", b"", INTERIM]))
    lines = [draw(STATUS), *draw(st.lists(FIELD, max_size=4))]
    head = b"".join(line + draw(END) for line in lines) + draw(END)
    whole = interim + head + draw(chunked() if b"chunked" in head else st.binary(max_size=1_300))
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


@st.composite
def in_pieces(draw: st.DrawFn) -> list[bytes]:
    whole = draw(answers())
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def agree(ours: Response, theirs: Response) -> bool:
    """The same in everything, as far as it does not depend on when what arrived."""
    if ours.truncated is theirs.truncated is Truncated.DISCONNECT and ours.chunked:
        one_is_more = ours.body.startswith(theirs.body) or theirs.body.startswith(ours.body)
        return one_is_more and (ours.head, ours.headers) == (theirs.head, theirs.headers)
    return ours == theirs


@settings(max_examples=100)
@given(in_pieces())
def test_we_agree_with_libcurl_on_whatever_comes_however_it_is_cut(pieces: list[bytes]) -> None:
    ours, theirs = run(both(pieces))
    if theirs.response is not None and theirs.response.status < 200:
        assert ours.response is None  # an interim answer alone is no answer
        return
    assert (ours.connected, ours.request) == (theirs.connected, theirs.request)
    if not EMPTY_LINE.search(
        b"".join(pieces).removeprefix(INTERIM)
    ):  # whether a flaw of a head cut off is seen, depends on the cut
        assert {ours.outcome, theirs.outcome} <= {Outcome.MALFORMED, Outcome.UNREACHABLE}
        return
    assert ours.outcome == theirs.outcome
    assert theirs.kept_alive or not ours.kept_alive
    if ours.response is not None and theirs.response is not None:
        assert agree(ours.response, theirs.response)


def test_a_cancelled_request_closes_its_connection() -> None:
    async def scenario() -> bytes:
        hung_up: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            hung_up.set_result(await reader.read())
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server, opened() as client:
            web = Scripted(port=server.sockets[0].getsockname()[1])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await ask(client, web)
            assert client.open_transfers == 0
            return await hung_up

    assert run(scenario()) == b""


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


@given(in_pieces())
def test_where_an_answer_is_cut_makes_no_difference(pieces: list[bytes]) -> None:
    def read(several: list[bytes]) -> tuple[Any, ...]:
        answer, body = Answer(2_000), b""
        for each in several:
            if not answer.flaw and not (answer.framing and answer.framing.is_done):
                body += bytes(answer.receive(bytearray(each), len(each)))
        answer.end()
        return answer.status, answer.head, answer.fields, bool(answer.flaw), b"" if answer.flaw else body

    assert read(pieces) == read([b"".join(pieces)])
