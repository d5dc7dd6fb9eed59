"""What libcurl makes of an answer our own plain HTTP makes of it, too, but for the differences named here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest
import uvloop
from hypothesis import given, settings

from joro.fetch.http import Client, Exchange, Limits
from joro.model import Outcome, Response, Truncated
from tests.fetch.answers import EMPTY_LINE, INTERIM, in_pieces
from tests.web.scripted import scripted

T = TypeVar("T")
LIMITS = Limits(timeout_s=5.0, connect_timeout_s=5.0, body_bytes=1_000, head_bytes=2_000)
IMPATIENT = Limits(timeout_s=0.5, connect_timeout_s=0.5, body_bytes=1_000, head_bytes=2_000)
OK = b"HTTP/1.1 200 OK\r\n"
FIVE = b"Content-Length: 5\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HELLO = OK + FIVE + b"\r\nhello"


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return uvloop.run(coroutine)


async def fetched(pieces: Sequence[bytes], *, close: bool, lean: bool) -> Exchange:
    """What is said of an answer that comes in these pieces."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            if writer.is_closing():  # they have heard enough
                return
            writer.write(piece)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async with scripted(answer, close=close) as web:
        limits = LIMITS if close else IMPATIENT
        client = Client(user_agent="joro/test", limits=limits, connections=1, lean=lean)
        try:
            return await client.get("http://a.example/", address="127.0.0.1", port=web.port)
        finally:
            await client.close()


async def both(pieces: Sequence[bytes], *, close: bool = True) -> tuple[Exchange, Exchange]:
    ours, theirs = await asyncio.gather(*(fetched(pieces, close=close, lean=each) for each in (True, False)))
    return ours, theirs


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
