"""Answers of all kinds, whole and broken, in pieces: random, for laws that hold for any."""

from __future__ import annotations

import re

from hypothesis import strategies as st

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
