"""The wrappings come off: whatever was sent, however broken, never more than the limit."""

import gzip
import random
import sys
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.model import Response
from joro.parse.payload import Payload, is_html, mime_of, payload, unwrap, without_frames

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"the same words again and again, " * 200


def response(body: bytes, encoding: str = "", *, chunked: bool = False) -> Response:
    headers = {"content-encoding": encoding} if encoding else {}
    return Response(200, b"", body, headers, chunked=chunked)


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def chunks(content: bytes, size: int) -> bytes:
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def quick_brotli(content: bytes) -> bytes:
    packed: bytes = brotli.compress(content, quality=5)
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "DEFLATE": raw_deflate,
    "br": quick_brotli,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
def test_each_encoding_comes_off(encoding: str) -> None:
    assert payload(response(PACKERS[encoding](TEXT), encoding)) == TEXT


@settings(deadline=None)
@given(st.binary(), st.lists(st.sampled_from(sorted(PACKERS)), max_size=4), st.integers(1, 50))
def test_unwrapping_undoes_any_encodings_and_chunks(content: bytes, encodings: list[str], size: int) -> None:
    body = content
    for encoding in encodings:
        body = PACKERS[encoding](body)
    assert payload(response(chunks(body, size), ", ".join(encodings), chunked=True)) == content


@settings(deadline=None)
@given(st.binary(), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "rot13"]), st.booleans())
def test_no_body_makes_it_raise(body: bytes, encoding: str, chunked: bool) -> None:
    assert len(payload(response(body, encoding, chunked=chunked), 100)) <= 100


def test_two_gzip_members_are_one_stream() -> None:
    assert payload(response(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip")) == b"one two"


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_stream_cut_off_gives_what_came_before(encoding: str) -> None:
    content = b"".join(b"%d " % number for number in range(100_000))  # zstd gives 128 KB at a time
    body = PACKERS[encoding](content)
    found = payload(response(body[: len(body) // 2], encoding))
    assert 50_000 < len(found) < len(content)
    assert content.startswith(found)


def test_a_stream_damaged_in_the_middle_gives_what_came_before() -> None:
    content = b"".join(b"%d " % number for number in range(50_000))
    body = bytearray(gzip.compress(content))
    body[60_000:60_100] = b"\xff" * 100
    assert payload(response(bytes(body), "gzip"))[:100_000] == content[:100_000]


def test_a_damaged_checksum_costs_nothing() -> None:
    assert payload(response(gzip.compress(TEXT)[:-8] + b"12345678", "gzip")) == TEXT


@pytest.mark.parametrize("encoding", PACKERS)
def test_it_is_said_when_an_encoding_breaks_off(encoding: str) -> None:
    packed = PACKERS[encoding](TEXT)
    assert unwrap(response(packed, encoding)) == Payload(TEXT)
    for length in range(1, len(packed)):
        found = unwrap(response(packed[:length], encoding))
        assert found.cut or found.undecoded


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_bomb_stops_at_the_limit(encoding: str) -> None:
    bomb = PACKERS[encoding](bytes(20_000_000))
    assert payload(response(bomb, encoding), 1_000) == bytes(1_000)


def test_a_bomb_in_a_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)))
    assert len(payload(response(bomb, "gzip, gzip"), 5_000)) == 5_000


def test_an_encoding_that_is_not_there_stays_on_and_is_named() -> None:
    assert unwrap(response(b"<html>", "gzip")) == Payload(b"<html>", undecoded="gzip")


def test_an_encoding_nobody_knows_stays_on_and_is_named() -> None:
    assert unwrap(response(b"<html>", "rot13")) == Payload(b"<html>", undecoded="rot13")


def test_an_empty_page_may_be_compressed() -> None:
    assert unwrap(response(gzip.compress(b""), "gzip")) == Payload(b"")


def test_more_encodings_in_a_row_than_anyone_needs_are_left() -> None:
    assert unwrap(response(b"x", "gzip, " * 5 + "identity")).undecoded == "gzip"


def test_zstd_frames_in_a_row_are_one_stream_and_a_broken_one_gives_what_came_before() -> None:
    frame = zstd.compress(TEXT)
    assert payload(response(frame + frame, "zstd")) == TEXT + TEXT
    assert payload(response(frame + b"junk", "zstd")) == TEXT
    assert payload(response(TEXT, "zstd")) == TEXT


def test_a_zstd_bomb_and_a_zstd_window_too_large_stay_small() -> None:
    assert len(payload(response(zstd.compress(bytes(50_000_000)), "zstd"), 1_000)) == 1_000
    greedy = zstd.compress(bytes(1_000), options={zstd.CompressionParameter.window_log: 27})
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    endless = stream.compress(bytes(1_000), zstd.ZstdCompressor.FLUSH_BLOCK)
    assert payload(response(greedy, "zstd")) == bytes(1_000)  # a frame of known size needs no more than that
    assert unwrap(response(endless, "zstd")).undecoded == "zstd"


def test_chunk_extensions_trailers_and_bare_line_feeds_are_understood() -> None:
    assert without_frames(b"5;a=b\r\nhello\r\n6 \n world\n0\r\nTrailer: x\r\n\r\n") == b"hello world"


def test_chunks_cut_off_give_what_came_before() -> None:
    assert without_frames(b"5\r\nhello\r\nff\r\n world") == b"hello world"


def test_a_body_that_only_claims_to_be_chunked_stays_as_it_is() -> None:
    assert without_frames(b"<html>not chunked") == b"<html>not chunked"


def test_a_million_frames_of_one_byte_are_not_taken_apart() -> None:
    assert len(without_frames(b"1\r\na\r\n" * 1_000_000)) == 20_000


def test_what_lies_behind_more_chunks_or_members_than_we_take_apart_counts_as_cut_off() -> None:
    def is_cut(body: bytes, coding: str = "", *, chunked: bool = False) -> bool:
        return unwrap(response(body, coding, chunked=chunked)).cut

    assert is_cut(b"1\r\na\r\n" * 20_001 + b"0\r\n\r\n", chunked=True)
    assert not is_cut(b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n", chunked=True)
    assert is_cut(b"1\r\na\r\nno frame\r\n", chunked=True)
    assert not is_cut(b"no frame at all", chunked=True)
    for pack, coding in ((gzip.compress, "gzip"), (zstd.compress, "zstd")):
        assert is_cut(pack(b"a") * 65, coding)
        assert not is_cut(pack(b"a") * 64, coding)


def test_frames_are_taken_off_no_further_than_the_limit() -> None:
    assert without_frames(chunks(bytes(10_000), 400), 1_000) == bytes(1_000)
    assert without_frames(chunks(bytes(10_000), 10_000), 1_000) == bytes(1_000)


def test_a_packed_body_in_chunks_fills_the_limit() -> None:
    content = random.Random(7).randbytes(20_000)  # packs to more than itself
    assert (
        payload(response(chunks(gzip.compress(content), 900), "gzip", chunked=True), 9_000) == content[:9_000]
    )


@pytest.mark.parametrize(
    ("content_type", "mime"),
    [
        ("text/html", "text/html"),
        ("Text/HTML; charset=utf-8", "text/html"),
        (" application/xhtml+xml ;q=1, text/html", "application/xhtml+xml"),
        ("", ""),
    ],
)
def test_the_media_type_is_read_without_its_parameters(content_type: str, mime: str) -> None:
    assert mime_of({"content-type": content_type}) == mime


@pytest.mark.parametrize(
    "head", [b"<!DOCTYPE html>", b"\n <HTML>", b"\xef\xbb\xbf<p>", b"<!-- c", b"<a href=x>"]
)
def test_without_a_media_type_the_first_bytes_decide(head: bytes) -> None:
    assert is_html("", head)
    assert not is_html("text/plain", head)


@pytest.mark.parametrize("head", [b"", b"%PDF-1.7", b"<?xml version", b"hello <html>", b"<abbr>"])
def test_what_does_not_begin_like_a_page_is_none(head: bytes) -> None:
    assert not is_html("", head)
    assert is_html("text/html", head)
