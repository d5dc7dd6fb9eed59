"""Which answers are meant to hurt?

In:    a hostile host and a target.
Out:   an answer that breaks HTTP, lies about its length, never ends, or explodes when unpacked or parsed.
Never: costs this side much: whatever is big is a small piece sent again and again.

The front page and some pages of a hostile host are honest; `/x/1` … `/x/3` are not.
"""

from __future__ import annotations

import functools
import itertools
import re
import zlib
from collections.abc import Callable

from joro.testweb.answer import Answer, Play, Stop
from joro.testweb.plan import Host

#: What the bomb becomes when unpacked; it travels as a thousandth of that.
BOMB_BYTES = 4_000_000_000
BLOCK = b"<p>There is always one more line on this page.</p>\n" * 1_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LITTLE = b"<html><head><title>x</title></head><body><p>short</p></body></html>\n"


def targets(host: Host) -> tuple[str, ...]:
    """What the front page leads to."""
    return ("/x/1", "/x/2", "/x/3") if host.kind in _KINDS else ()


def answer(host: Host, target: bytes) -> Answer | None:
    """The hostile answer at `target`; None for the honest rest."""
    number = re.fullmatch(rb"/x/([123])", target)
    if number is None or host.kind not in _KINDS:
        return None
    return _KINDS[host.kind](int(number[1]))


def raw(wire: bytes, play: Play | None = None, status: int = 200) -> Answer:
    """Bytes as they are, no matter what they mean; the connection ends after them."""
    head_bytes = wire.find(b"\r\n\r\n") + 4
    return Answer(wire, head_bytes, status, close=True, play=play)


def _after(wire: bytes, more: Play) -> Answer:
    return raw(wire, itertools.chain([wire], more))


def _endless(number: int) -> Answer:
    """A body without end: until the connection closes, in chunks, or far beyond any length."""
    if number == 1:
        return _after(HEAD + b"\r\n", itertools.repeat(BLOCK))
    if number == 2:
        chunk = b"%x\r\n%b\r\n" % (len(BLOCK), BLOCK)
        return _after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", itertools.repeat(chunk))
    return _after(HEAD + b"Content-Length: 1000000000000\r\n\r\n", itertools.repeat(BLOCK))


@functools.cache
def _bomb_block() -> tuple[bytes, bytes, bytes]:
    """Start, repeatable middle and end of a gzip stream; the middle unpacks to ten million blanks."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(b"<html><body>") + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(b" " * 10_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return start, middle, packer.flush()


def _bomb(number: int) -> Answer:
    """Gzip that grows a thousandfold; the second says deflate, the third is packed twice."""
    start, middle, _ = _bomb_block()
    head = HEAD + (
        b"Content-Encoding: gzip, gzip\r\n\r\n" if number == 3 else b"Content-Encoding: gzip\r\n\r\n"
    )
    blocks: Play = itertools.repeat(middle, BOMB_BYTES // 10_000_000)
    if number == 2:
        head = HEAD + b"Content-Encoding: deflate\r\n\r\n"
        packer = zlib.compressobj(9)
        start = packer.compress(b" " * 10_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    if number == 3:
        whole = start + middle * 20
        packer = zlib.compressobj(9, wbits=31)
        start, blocks = packer.compress(whole) + packer.flush(), iter(())
    return _after(head + start, blocks)


def _headers(number: int) -> Answer:
    """Header fields that are none."""
    fields = {
        1: b"No colon at all\r\n: no name\r\nBad Name : x\r\nX-Null: a\0b\r\n",
        2: b"X-Folded: one\r\n two\r\n\tthree\r\nContent-Length: 68\r\nContent-Length: 70\r\n",
        3: b"Content-Type: text/plain\r\nContent-Length: -5\r\nX-Latin: \xe9\xff\r\nX-Bare: a\rb\nX-LF: c\n",
    }
    return raw(HEAD + fields[number] + b"\r\n" + LITTLE)


def _garbage(number: int) -> Answer:
    """No HTTP at all."""
    starts = {1: b"HTP/9.9 abc\r\n\r\n", 2: bytes(range(256)) * 40, 3: b"HTTP/1.1 99999 Much\r\n\r\n"}
    return raw(starts[number] + LITTLE)


def _short(number: int) -> Answer:
    """Fewer bytes than promised, then the end, a reset, or silence."""
    wire = HEAD + b"Content-Length: 100000\r\n\r\n" + LITTLE
    ends: dict[int, Play] = {1: iter(()), 2: iter([0.05, Stop.RESET]), 3: iter([Stop.HANG])}
    return _after(wire, ends[number])


def _long(number: int) -> Answer:
    """More bytes than promised; the rest looks like a second response."""
    smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen"
    length = {1: 20, 2: 0, 3: len(LITTLE)}[number]
    return raw(HEAD + b"Content-Length: %d\r\n\r\n" % length + LITTLE + smuggled)


def _bighead(number: int) -> Answer:
    """Headers without measure: one long field, ten thousand fields, fields without end."""
    if number == 1:
        return raw(HEAD + b"X-Long: " + b"a" * 1_000_000 + b"\r\n\r\n" + LITTLE)
    if number == 2:
        return raw(HEAD + b"".join(b"X-%d: y\r\n" % each for each in range(10_000)) + b"\r\n" + LITTLE)
    return _after(HEAD, itertools.repeat(b"Set-Cookie: again=and-again\r\n" * 100))


def _parserbomb(number: int) -> Answer:
    """59 KB that cost some parsers seconds and gigabytes."""
    pieces = {
        1: b"<b i><i i>x</b>" * 3_900,
        2: b"<table><tr><td><a href=/><table>" * 1_800,
        3: b"<a><p>" * 9_800,
    }
    return raw(HEAD + b"\r\n<html><body>" + pieces[number])


def _nested(number: int) -> Answer:
    """A hundred thousand elements inside each other, and a link at the bottom."""
    tag = {1: b"div", 2: b"span", 3: b"blockquote"}[number]
    return raw(HEAD + b"\r\n<html><body>" + b"<%b>" % tag * 100_000 + b'<a href="/">up</a>')


def _nulls(number: int) -> Answer:
    """Null bytes and broken encodings in the middle of markup."""
    pieces = {
        1: b'<html><bo\0dy><a hr\0ef="/\0">nu\0ll</a></body></html>',
        2: b"\0" * 100_000,
        3: b'<meta charset="utf-16"><html><body>\xff\xfe\xed\xa0\x80\xc0\x80<a href="/\xff">x</a>',
    }
    return raw(HEAD + b"\r\n" + pieces[number])


def _badchunk(number: int) -> Answer:
    """Chunks that are none."""
    bodies = {
        1: b"zz\r\nhello\r\n0\r\n\r\n",
        2: b"fffffffffffffffff\r\nhello\r\n",
        3: b"5\r\nhello and more than five\r\n0\r\n\r\n",
    }
    return raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + bodies[number])


def _notgzip(number: int) -> Answer:
    """A content coding that is not what is said."""
    coding = {1: b"gzip", 2: b"br", 3: b"x-unheard-of"}[number]
    return raw(HEAD + b"Content-Encoding: %b\r\n\r\n" % coding + LITTLE)


def _drip(number: int) -> Answer:
    """One byte of the header (or of the body) a second."""
    wire = HEAD + b"\r\n" if number == 3 else b""
    rest = LITTLE * 100 if number == 3 else HEAD + b"X-Slow: " + b"a" * 1_000_000
    drops: Play = (step for byte in rest for step in (bytes([byte]), 1.0))
    return raw(HEAD + b"\r\n", itertools.chain([wire] if wire else [], drops))


_KINDS: dict[str, Callable[[int], Answer]] = {
    "endless": _endless,
    "bomb": _bomb,
    "headers": _headers,
    "garbage": _garbage,
    "short": _short,
    "long": _long,
    "bighead": _bighead,
    "parserbomb": _parserbomb,
    "nested": _nested,
    "nulls": _nulls,
    "badchunk": _badchunk,
    "notgzip": _notgzip,
    "drip": _drip,
}
