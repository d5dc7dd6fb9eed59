"""Does a text say nearly the same as another?

In:    the title and the visible text of a page, one block per line.
Out:   its mark: some bytes by which two texts are compared without either.
Never: depends on the order of the sentences; calls a page a copy because it stands in the same frame.

A sketch is a b-bit MinHash over sentences: they fall into 64 bins by their hash, and of each bin's largest
hash 8 bits are kept. Where two texts share a part J of their sentences, about that part of the bins is equal,
give or take 6 %. Menus and lists of links, which differ from copy to copy, are not made of sentences.
"""

from __future__ import annotations

import struct
from operator import eq

from xxhash import xxh3_64_intdigest

BINS = 64
#: Texts of one title that share this part of their sentences are near copies of each other; those of
#: different titles must share nearly all.
NEAR_SHARE, SURE_SHARE = 0.55, 0.93
#: Near copies are about as long: pages put together from the same sentences need not be.
LENGTH_RATIO = 1.4
#: In a shorter text the frame around it, which all pages of a site have, is most of it.
JUDGED_CHARS = 200
#: What stands behind is not looked at: so much tells texts apart, and a long page must not cost more.
TEXT_LIMIT_CHARS = 10_000
#: A text with so many whole sentences is told by them alone, one with fewer by all of its lines.
WHOLE_SENTENCES = 6
#: Less is a label, or a number.
SENTENCE_BYTES = 16

_WIDE_ENDS = "。！？"
_ENDS = bytes.maketrans(b".!?", b"\0\0\0")
_MARK = struct.Struct(f">{BINS}sIQ")


def text_sketch(text: str) -> bytes:
    """A byte for each of 64 bins, from the beginning of a text; nothing for a text without sentences."""
    text = text[:TEXT_LIMIT_CHARS]
    for end in _WIDE_ENDS:
        text = text.replace(end, "\0")
    ended = text.encode(errors="replace").translate(_ENDS)
    whole = [piece[piece.rfind(b"\n") + 1 :] for piece in ended.split(b"\0")[:-1]]
    long = _long(whole)
    return _sketch(long if len(long) >= WHOLE_SENTENCES else _long(ended.replace(b"\0", b"\n").split(b"\n")))


def text_mark(title: str, text: str) -> bytes:
    """What near copies are told by: the sketch of a text, its length, its title; nothing for a short one."""
    found = text_sketch(text) if len(text) >= JUDGED_CHARS else b""
    return _MARK.pack(found, len(text), xxh3_64_intdigest(title.encode(errors="replace"))) if found else b""


def share_in_common(a: bytes, b: bytes) -> float:
    """The part of their sentences that two texts share, estimated from their sketches."""
    equal: float = sum(map(eq, a, b)) / BINS
    return max(0.0, (256.0 * equal - 1.0) / 255.0)  # of unrelated bins one in 256 is equal by chance


def is_near_copy(a: bytes, b: bytes) -> bool:
    """Are the texts of two `text_mark`s near copies of each other?"""
    (a_sketch, a_chars, a_title), (b_sketch, b_chars, b_title) = _MARK.unpack(a), _MARK.unpack(b)
    if max(a_chars, b_chars) > LENGTH_RATIO * min(a_chars, b_chars):
        return False
    return share_in_common(a_sketch, b_sketch) >= (NEAR_SHARE if a_title == b_title else SURE_SHARE)


def _long(sentences: list[bytes]) -> list[bytes]:
    return [one for one in map(bytes.strip, sentences) if len(one) >= SENTENCE_BYTES]


def _sketch(sentences: list[bytes]) -> bytes:
    """8 bits of the largest hash in each bin; an empty one has other bits of the next that is full."""
    largest = [0] * BINS
    for mark in map(xxh3_64_intdigest, sentences):
        if mark > largest[mark & BINS - 1]:
            largest[mark & BINS - 1] = mark
    mark = distance = 0
    found = bytearray()
    for bin_mark in (*reversed(largest), *reversed(largest)):
        if bin_mark:
            mark, distance = bin_mark, 0
        found.append(mark >> distance + 8 & 255)
        distance = distance + 1 & 31
    return bytes(found[BINS:]) if mark else b""
