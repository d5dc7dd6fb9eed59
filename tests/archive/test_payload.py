import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.archive.payload import (
    FRAMES_LIMIT,
    digest,
    header_fields,
    is_framed,
    mime_of,
    payload_of,
    split,
    status_of,
)
from tests.archive.examples import CHUNKED_HEAD, HEAD


def test_a_digest_is_sha1_in_base_32() -> None:
    assert digest(b"") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


@given(pieces=st.lists(st.binary(min_size=1, max_size=300), max_size=20))
def test_chunk_frames_come_off(pieces: list[bytes]) -> None:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    assert payload_of(CHUNKED_HEAD, framed) == b"".join(pieces)


@given(junk=st.binary(max_size=200))
def test_nonsense_never_raises(junk: bytes) -> None:
    payload_of(CHUNKED_HEAD, junk)
    header_fields(junk)
    assert b"".join(split(junk)) == junk


@pytest.mark.parametrize(
    ("body", "payload"),
    [
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"3 ;name=x\r\nabc\r\n0\r\nTrailer: y\r\n\r\n", b"abc"),
        (b"3\nabc\n0\n\n", b"abc"),
        (b"5\r\nab", b"ab"),
        (b"3\r\nabc\r\nnonsense", b"abc"),
        (b"no frames", b"no frames"),
        (b"", b""),
    ],
)
def test_a_body_framed_badly_counts_as_far_as_it_goes(body: bytes, payload: bytes) -> None:
    assert payload_of(CHUNKED_HEAD, body) == payload


def test_a_head_without_chunked_has_no_frames() -> None:
    assert not is_framed(HEAD, b"3\r\nabc\r\n0\r\n\r\n")
    assert not is_framed(b"HTTP/1.1 200 OK\r\nX-Note: chunked\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n")


def test_millions_of_tiny_frames_are_left_alone() -> None:
    body = b"1\r\nx\r\n" * (FRAMES_LIMIT + 1)
    assert payload_of(CHUNKED_HEAD, body) == body


def test_header_fields_are_joined_and_unfolded() -> None:
    head = b"HTTP/1.1 200 OK\r\nA: 1\r\nb : x\r\n  y\r\na:2\r\nnonsense\r\n\r\n"
    assert header_fields(head) == {"a": "1, 2", "b": "x y"}


def test_lines_of_x_robots_tag_stay_lines() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: a: noindex\r\nB: 1\r\nx-robots-tag: none\r\n\r\n"
    assert header_fields(head)["x-robots-tag"] == "a: noindex\nnone"


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML;charset=x\r\n\r\n", "text/html"),
        (b"HTTP/1.1 200 OK\r\ncontent-type:image/png\r\n\r\n", "image/png"),
        (b"HTTP/1.1 200 OK\r\nContent-Type:\r\nServer: x\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\nX-Content-Type: a/b\r\n\r\n", ""),
    ],
)
def test_a_media_type_comes_without_its_parameters(head: bytes, mime: str) -> None:
    assert mime_of(head) == mime


def test_a_status_line_may_be_old_new_or_missing() -> None:
    assert [status_of(line) for line in (b"HTTP/1.0 404", b"HTTP/2 301 ", b"ICY 200 OK")] == [404, 301, 0]
