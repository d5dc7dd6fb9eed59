"""How like another page is this one?

In:    a parsed page.
Out:   its `Likeness`: a sketch of 64 bits to compare pages by, and its longest pieces of text.
Never: depends on the order of a page's texts, or on numbers: counters, dates and "page 17 of 95" make no
       new page. Only a page that is little but numbers (a table) is told from others by them.

A sketch is a b-bit MinHash over sentences: they fall into bins by their hash, and of each bin's largest hash
4 bits are kept. Where two pages share a part J of their sentences, about that part of the bins is equal.
The robot's sketch has 16 bins, made of the longest pieces, and tells whether two URLs give the same page;
`text_sketch` has 64, made of a whole text, and finds near copies among all documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from xxhash import xxh3_64_intdigest

from joro.parse.html import Tree
from joro.parse.text import title_of

BINS, TEXT_BINS = 16, 64
#: Pages with so many of 16 bins equal are the same but for an advertisement or a date.
SAME_BINS = 13
#: Texts that share this part of their sentences are near copies of each other.
NEAR_SHARE = 0.6
#: A shorter piece of text is a label or a menu entry.
PIECE_BYTES = 16
SHORT_CHARS = 5  # 16 bytes of Japanese
#: So many pieces stand for a page, the longest first: menus are short, what a page says is long.
PIECES = 12
#: Long paragraphs are told apart by their beginning.
PIECE_LIMIT_CHARS = 200
SENTENCE_CHARS = 8
#: A page with more strings is read so far.
STRING_LIMIT = 5_000
#: Fewer digits are dates, prices and counters; more, if they are a third of a page, are what it is about.
TABLE_DIGITS, TABLE_CELLS = 256, 40

_DIGITS = b"0123456789"
_NO_DIGITS = bytes(set(range(256)) - set(_DIGITS))
_ENDS = re.compile(r"[.!?。！？\n]+ *")
_LOWEST = int("1" * TEXT_BINS, 16)  # the lowest bit of every bin
_STOPS = bytes.maketrans(b".", b"\n")


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is compared of a page. The empty one belongs to a page without text."""

    sketch: int = 0
    length: int = 0  # bytes in all pieces
    pieces: tuple[bytes, ...] = ()  # the longest texts, without digits


def likeness_of(tree: Tree) -> Likeness:
    """The likeness of a parsed page."""
    body = tree.first("body")
    strings = list(islice(body.strings, STRING_LIMIT)) if body is not None else []
    return likeness(
        strings, title_of(tree), {element.text for tag in ("script", "style") for element in tree.all(tag)}
    )


def likeness(strings: list[str], title: str = "", hidden: Collection[str] = ()) -> Likeness:
    """The likeness of a page with this title and these texts, of which nobody sees the hidden ones."""
    long = [one for one in strings if len(one) > SHORT_CHARS]
    if len(long) > PIECES:
        long = sorted(long, key=len, reverse=True)[: PIECES + len(hidden)]
    shown = [one[:PIECE_LIMIT_CHARS] for one in long if one not in hidden][:PIECES]
    text = "\0".join([title, *shown]).replace("。", "\n").encode(errors="replace")
    folded = text.translate(_STOPS, _DIGITS).split(b"\0")
    pieces = [piece for piece in map(bytes.strip, folded) if len(piece) >= PIECE_BYTES]
    if title and (not pieces or pieces[0] != folded[0]):
        pieces.insert(0, folded[0])
    if len(strings) > TABLE_CELLS and len(pieces) < PIECES and (numbers := _table(strings)):
        pieces.append(numbers)
    return Likeness(sketch(pieces), sum(map(len, pieces)), tuple(pieces))


def bytes_likeness(content: bytes) -> Likeness:
    """The likeness of what is no page: equal to its copies, unlike everything else."""
    if not content:
        return Likeness()
    mark = xxh3_64_intdigest(content)
    return Likeness(mark, len(content), (mark.to_bytes(8) * 10,))


def _table(strings: list[str]) -> bytes:
    """The numbers of a page that is little but numbers."""
    short = "".join([one for one in strings if len(one) < PIECE_BYTES]).encode(errors="replace")
    numbers = short.translate(None, _NO_DIGITS)
    return numbers if len(numbers) >= TABLE_DIGITS and 2 * len(numbers) > len(short) else b""


def sketch(pieces: list[bytes]) -> int:
    """64 bits of which nearly all are equal for pages with nearly the same sentences."""
    return _sketch(b"\n".join(pieces).split(b"\n"), BINS)


def text_sketch(text: str) -> int:
    """256 bits for a whole text, one block per line; 0 for none."""
    sentences = _ENDS.split(text)
    return _sketch(
        [one.encode(errors="replace") for one in sentences if len(one) >= SENTENCE_CHARS], TEXT_BINS
    )


def share_in_common(a: int, b: int) -> float:
    """The part of their sentences that two texts share, estimated from their sketches."""
    equal = equal_bins(a, b, TEXT_BINS) / TEXT_BINS
    return max(0.0, (16.0 * equal - 1.0) / 15.0) if a and b else 0.0


def _sketch(sentences: list[bytes], bins: int) -> int:
    largest = [0] * bins
    last = bins - 1
    for mark in map(xxh3_64_intdigest, sentences):
        if mark > largest[mark & last]:
            largest[mark & last] = mark
    return _packed(largest)


def _packed(largest: list[int]) -> int:
    """4 bits of every bin; an empty one speaks with other bits of the next that is full."""
    bits = mark = distance = 0
    for bin_mark in (*reversed(largest), *reversed(largest)):
        if bin_mark:
            mark, distance = bin_mark, 0
        bits = bits << 4 | (mark >> distance + 8 & 15)
        distance = distance + 1 & 31
    return bits & (1 << 4 * len(largest)) - 1


def equal_bins(a: int, b: int, bins: int = BINS) -> int:
    """How many bins two sketches have in common; of unrelated pages one in 16 is equal by chance."""
    different = a ^ b
    different |= different >> 1
    different |= different >> 2
    return bins - (different & _LOWEST).bit_count()


def is_same_page(a: Likeness, b: Likeness) -> bool:
    """Do two visits give the same page?"""
    return bool(a.length and b.length) and equal_bins(a.sketch, b.sketch) >= SAME_BINS


def is_near_copy(a: int, b: int) -> bool:
    """Are the texts of two `text_sketch`es near copies of each other?"""
    return share_in_common(a, b) >= NEAR_SHARE
