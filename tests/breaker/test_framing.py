from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.breaker.framing import Body, Response, fields_of, request_body

NEXT = b"HTTP/1.1 200 OK\r\nthe next one"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKS = b"5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + CHUNKS
INTERIM = b"HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"
EMPTY = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"
#: As no server should, but robots read them all the same.
LOOSE = [
    CHUNKED.replace(b"\r\n", b"\n"),
    CHUNKED.replace(b"A\r", b"A and ten\r").replace(b"5;a=b", b"%017x" % 5),
    LENGTH.replace(b"/1.1", b"/2.0"),
]
WHOLE = [LENGTH, CHUNKED, INTERIM + LENGTH, OLD, EMPTY, LENGTH.replace(b"\r\n", b"\n"), *LOOSE]

ENDLESS = [
    b"HTTP/1.1 200 OK\r\n\r\nuntil I hang up",
    b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    b"HTTP/1.1 OK fine\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"0" * 5_000 + b"5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n...",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000,
]


def fed(pieces: Iterable[bytes], method: bytes = b"GET") -> tuple[Response, int]:
    """The response, and how many bytes were its own."""
    response, used = Response(method=method), 0
    for piece in pieces:
        if response.done:
            break
        used += response.feed(piece)
    return response, used


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(whole), *(place % len(whole) for place in places)})
    return [whole[start:end] for start, end in pairwise(edges)]


@given(st.sampled_from(WHOLE), st.lists(st.integers(0, 1_000)))
def test_a_response_ends_at_its_last_byte_however_it_is_cut(whole: bytes, places: list[int]) -> None:
    response, used = fed(cut(whole + NEXT, places))
    assert (response.done, used) == (True, len(whole))


@given(st.sampled_from(ENDLESS), st.lists(st.integers(0, 1_000)))
def test_what_nobody_can_measure_lasts_until_the_connection_ends(whole: bytes, places: list[int]) -> None:
    response, used = fed(cut(whole, places))
    assert (response.done, used) == (False, len(whole))


@given(st.lists(st.binary(min_size=1, max_size=200), max_size=6))
def test_any_bytes_pass(pieces: list[bytes]) -> None:
    response, used = fed(pieces)
    assert used <= sum(map(len, pieces))
    assert response.started == bool(pieces)


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
        (b"HTTP/2.0 200 OK\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", False),
    ],
)
def test_the_connection_stays_when_both_sides_may_think_so(head: bytes, keep: bool) -> None:
    response, _ = fed([head + b"Content-Length: 0\r\n\r\n0\r\n\r\n"])
    assert (response.done, response.keep) == (True, keep)


def test_the_answer_to_head_has_no_body() -> None:
    head = LENGTH[: -len(b"hello")]
    response, used = fed([head, NEXT], method=b"HEAD")
    assert (response.done, used) == (True, len(head))


def test_a_request_without_length_has_no_body() -> None:
    body = request_body(fields_of(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert body is not None
    assert body.done


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: x",
        b"Content-Length: 1\r\nContent-Length: 1",
        b"Content-Length: " + b"0" * 5_000 + b"1",
        b"Transfer-Encoding: gzip",
    ],
    ids=lambda fields: repr(fields[:40]),
)
def test_a_request_nobody_can_measure_is_not_passed_on(fields: bytes) -> None:
    assert request_body(fields_of(b"POST / HTTP/1.1\r\n" + fields + b"\r\n\r\n")) is None


def test_a_chunk_line_that_never_ends_does_not_fill_the_memory() -> None:
    body = Body(chunked=True)
    for _ in range(100):
        assert body.feed(b"1" * 1_000) == 1_000
    assert body.endless
