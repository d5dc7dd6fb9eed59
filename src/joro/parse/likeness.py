"""How like another page is this one?

In:    a parsed page.
Out:   its `Likeness`: a sketch of 64 bits to compare pages by, and its longest pieces of text.
Never: depends on the order of a page's texts, or on numbers: counters, dates and "page 17 of 95" make no
       new page. Only a page that is little but numbers (a table) is told from others by them.

A sketch is a b-bit MinHash over sentences: they fall into bins by their hash, and of each bin's largest hash
4 bits are kept. Where two pages share a part J of their sentences, about that part of the bins is equal.
The robot's sketch has 16 bins, made of the longest pieces, and tells whether two URLs give the same page; for
near copies among all documents see `parse.copies`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from xxhash import xxh3_64_digest, xxh3_64_intdigest

from joro.parse.html import Tree
from joro.parse.text import title_of

BINS = 16
#: A shorter piece of text is a label or a menu entry.
PIECE_BYTES = 16
SHORT_CHARS = 5  # 16 bytes of Japanese
#: So many pieces stand for a page, the longest first: menus are short, what a page says is long.
PIECES = 12
#: Long paragraphs are told apart by their beginning.
PIECE_LIMIT_CHARS = 200
#: A page with more strings is read so far.
STRING_LIMIT = 5_000
#: Fewer digits are dates, prices and counters; more, if they are a third of a page, are what it is about.
TABLE_DIGITS, TABLE_CELLS = 256, 40

_DIGITS = b"0123456789"
_NO_DIGITS = bytes(set(range(256)) - set(_DIGITS))
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
    largest = [b""] * BINS
    for mark in map(xxh3_64_digest, b"\n".join(pieces).split(b"\n")):
        if mark > largest[mark[7] & BINS - 1]:
            largest[mark[7] & BINS - 1] = mark
    return _packed([int.from_bytes(mark[2:], "big") for mark in largest])


def _packed(largest: list[int]) -> int:
    """4 bits of every bin; an empty one speaks with other bits of the next that is full, around the end."""
    full = next((number for number, mark in enumerate(largest) if mark), 0)
    mark, distance = largest[full], full + 1
    halves = [0, 0]  # numbers that a machine word has room for
    for number in range(BINS - 1, -1, -1):
        if largest[number]:
            mark, distance = largest[number], 0
        halves[number >> 3] = halves[number >> 3] << 4 | (mark >> distance + 8 & 15)
        distance += 1
    return halves[1] << 32 | halves[0]
