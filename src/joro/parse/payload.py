"""What did the server mean to send, under all its wrappings?

In:    a response, its body byte for byte as received.
Out:   the payload: without chunk frames and content encodings, cut at a limit.
Never: raises because of what a server sent; holds more than the limit and one step of a decoder.

A stream that breaks or ends too early gives what came before. An encoding we do not know, or that was
announced and is not there, stays on and is named: many servers announce what they do not do.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import brotli
from isal import isal_zlib

from joro.model import Response

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: Payloads are cut here: 200 pages of 20 KB, and nobody reads more characters of a page
#: (`html.TEXT_LIMIT_CHARS`). Four times as much took 10 to 25 MB more memory for one endless body.
LIMIT_BYTES = 4_000_000

#: What is more is not taken apart: each member or frame costs a step, and nobody honest needs so many.
_MEMBERS = 64
_FRAMES = 20_000
_CODINGS = 4

#: A broken stream is read again in pieces this small, so that little is lost before the break.
_PIECE_BYTES = 64

#: EOFError: zstd's word for what follows the end of its frame.
_BROKEN: tuple[type[Exception], ...] = (isal_zlib.error, brotli.error, zstd.ZstdError, EOFError)  # type: ignore[assignment]  # isal's stub

_FRAME = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 31, 15, -15
_ZSTD_WINDOW_LOG = 23  # RFC 9659: no more may be asked of a decoder in HTTP

#: Takes bytes and the room that is left, gives at most that many bytes.
Step = Callable[[bytes, int], bytes]
#: Content, and whether it broke off before its end.
Decoded = tuple[bytes, bool]
#: Takes a body and a limit, gives its content, or None when the encoding is not there.
Decoder = Callable[[bytes, int], Decoded | None]


class Payload(NamedTuple):
    """A body with its wrappings off."""

    content: bytes
    undecoded: str = ""  # the content encoding that is still on
    cut: bool = False  # an encoding or the chunks broke off before their end, or were more than we take apart


def payload(response: Response, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """The payload of a response; `unwrap` also says whether an encoding is still on."""
    return unwrap(response, limit_bytes).content


def unwrap(response: Response, limit_bytes: int = LIMIT_BYTES) -> Payload:
    """Take off chunk frames, then the content encodings, the last one first."""
    # Packed, a payload may be a little longer: headers and tables of encodings, of which there are few.
    packed_bytes = limit_bytes + limit_bytes // 8 + 10_000
    content, cut = _unframed(response.body, packed_bytes) if response.chunked else (response.body, False)
    codings = [word.strip().lower() for word in response.headers.get("content-encoding", "").split(",")]
    for done, coding in enumerate(reversed(codings)):
        if coding in ("", "identity") or not content:
            continue
        decoder = _decoder(coding) if done < _CODINGS else None
        plain = decoder(content, limit_bytes) if decoder else None
        if plain is None:
            return Payload(content[:limit_bytes], coding, cut)
        content, is_cut = plain
        cut = cut or is_cut
    return Payload(content if len(content) <= limit_bytes else content[:limit_bytes], "", cut)


def without_frames(body: bytes, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """A body without chunk frames, up to the frame that reaches the limit.

    A body that has none, against its announcement, stays as it is.
    """
    return _unframed(body, limit_bytes)[0]


def _unframed(body: bytes, limit_bytes: int) -> Decoded:
    pieces: list[memoryview] = []
    whole = memoryview(body)  # pieces are copied once, when they are joined
    position = length = 0
    while length < limit_bytes:
        frame = _FRAME.match(body, position)
        if frame is None:
            return (b"".join(pieces), True) if pieces else (body, False)
        size = int(frame[1], 16)
        if size == 0 or len(pieces) == _FRAMES:
            return b"".join(pieces), size > 0
        size = min(size, limit_bytes - length)
        pieces.append(whole[frame.end() : frame.end() + size])
        length += len(pieces[-1])
        position = frame.end() + size
        position += 2 if body.startswith(b"\r\n", position) else body.startswith(b"\n", position)
    return b"".join(pieces), False


def _decoder(coding: str) -> Decoder | None:
    if coding in ("gzip", "x-gzip"):
        return _gunzip
    if coding == "deflate":
        return _inflate
    if coding == "br":
        return _brotli
    return _zstd if coding == "zstd" else None


def _gunzip(body: bytes, limit: int) -> Decoded | None:
    return _zipped(body, _GZIP_WINDOW, limit) if body.startswith(_GZIP_MAGIC) else None


def _inflate(body: bytes, limit: int) -> Decoded | None:
    """HTTP means the zlib format; some servers send bare deflate instead."""
    first, second = (body + b"\0\0")[:2]
    looks_zlib = first & 15 == 8 and (first << 8 | second) % 31 == 0
    content = _zipped(body, _ZLIB_WINDOW, limit) if looks_zlib else None
    return _zipped(body, _RAW_WINDOW, limit) if content is None else content


def _zipped(body: bytes, window: int, limit: int) -> Decoded | None:
    try:
        return _members(body, window, limit)
    except _BROKEN:
        return _salvage(isal_zlib.decompressobj(window).decompress, body, limit)


def _members(body: bytes, window: int, limit: int) -> Decoded | None:
    """Gzip members may follow one another; together they are one stream."""
    whole: bytes = b""
    for _ in range(_MEMBERS):
        decoder = isal_zlib.decompressobj(window)
        whole += decoder.decompress(body, limit - len(whole))
        body = decoder.unused_data
        if not decoder.eof:
            return (whole, len(whole) < limit) if whole else None
        if len(whole) >= limit or not body.startswith(_GZIP_MAGIC):
            return whole, False
    return whole, True


def _brotli(body: bytes, limit: int) -> Decoded | None:
    decoder = brotli.Decompressor()
    try:
        content = _brotli_step(decoder, body, limit)
    except _BROKEN:
        return _salvage(functools.partial(_brotli_step, brotli.Decompressor()), body, limit)
    is_cut = not decoder.is_finished()
    return (content, is_cut and len(content) < limit) if content or not is_cut else None


def _brotli_step(decoder: Any, piece: bytes, room: int) -> bytes:
    """All that a piece gives: where input ends too early, the decoder hands it over in portions."""
    portions: list[bytes] = [decoder.process(piece, output_buffer_limit=room)]
    room -= len(portions[0])
    while room > 0 and (more := decoder.process(b"", output_buffer_limit=room)):
        portions.append(more)
        room -= len(more)
    content = b"".join(portions)
    return content if room >= 0 else content[:room]


def _salvage(step: Step, body: bytes, limit: int) -> Decoded | None:
    """What a broken stream gives before it breaks."""
    whole = bytearray()
    try:
        for piece in _pieces(body):
            whole += step(piece, limit - len(whole))
            if len(whole) >= limit:
                break
    except _BROKEN:
        pass
    return (bytes(whole), len(whole) < limit) if whole else None


def _pieces(body: bytes) -> Iterator[bytes]:
    """Small pieces, the last of them byte by byte: often all is well but a checksum, or junk follows."""
    end = max(0, len(body) - _PIECE_BYTES)
    for start in range(0, end, _PIECE_BYTES):
        yield body[start : min(start + _PIECE_BYTES, end)]
    for position in range(end, len(body)):
        yield body[position : position + 1]


def _zstd(body: bytes, limit: int) -> Decoded | None:
    try:
        return _zstd_frames(body, limit)
    except _BROKEN:
        return _salvage(_zstd_decoder().decompress, body, limit)


def _zstd_frames(body: bytes, limit: int) -> Decoded | None:
    """Frames may follow one another, as gzip members do."""
    whole = b""
    for _ in range(_MEMBERS):
        decoder = _zstd_decoder()
        whole += decoder.decompress(body, limit - len(whole))
        body = decoder.unused_data
        if not decoder.eof:
            return (whole, len(whole) < limit) if whole else None
        if len(whole) >= limit or not body:
            return whole, False
    return whole, True


def _zstd_decoder() -> zstd.ZstdDecompressor:
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})


def mime_of(headers: Mapping[str, str]) -> str:
    """The media type without parameters, in lower case, "" where none is given."""
    return _essence(headers.get("content-type", ""))


@functools.lru_cache(maxsize=512)
def _essence(content_type: str) -> str:
    return content_type.split(",", 1)[0].split(";", 1)[0].strip().lower()


#: Media types that say "I do not know": then the first bytes decide, by the MIME Sniffing Standard.
_UNKNOWN = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_LOOKS_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:(?:!doctype html|html|head|script|iframe|h1|div|font|table"
    rb"|a|style|title|b|body|br|p)[ >]|!--)",
    re.IGNORECASE,
)


def is_html(mime: str, head: bytes = b"") -> bool:
    """Is this a page? A missing media type is made up for by the first bytes, a wrong one is believed."""
    return mime in _HTML_TYPES or (mime in _UNKNOWN and _LOOKS_HTML.match(head) is not None)
