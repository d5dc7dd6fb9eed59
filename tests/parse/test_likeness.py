from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from joro.parse.html import Tree
from joro.parse.likeness import (
    Likeness,
    bytes_likeness,
    likeness,
    likeness_of,
    sketch,
)


def sentences(key: int, count: int = 60) -> list[str]:
    chance = random.Random(key)
    return [" ".join(str(chance.getrandbits(40)).translate(LETTERS) for _ in range(5)) for _ in range(count)]


LETTERS = str.maketrans("0123456789", "abcdefghij")


def of(lines: list[str]) -> Likeness:
    return likeness(["" + ". ".join(lines[start : start + 5]) for start in range(0, len(lines), 5)])


def equal_bins(a: Likeness, b: Likeness) -> int:
    """Of 16, each a hexadecimal digit."""
    return sum(x == y for x, y in zip(f"{a.sketch:016x}", f"{b.sketch:016x}", strict=True))


def changed(lines: list[str], *places: int) -> list[str]:
    return [f"something else {place}" if place in places else line for place, line in enumerate(lines)]


def plainly(pieces: list[bytes]) -> int:
    """What a sketch is, in as few words as possible."""
    marks = [xxh3_64_intdigest(line) for piece in pieces for line in piece.split(b"\n")]
    bins = [max((mark for mark in marks if mark % 16 == number), default=0) for number in range(16)]
    digits = []
    for number in range(16):
        away = next((away for away in range(16) if bins[(number + away) % 16]), 0)
        digits.append(bins[(number + away) % 16] >> 8 + away & 15)
    return sum(digit << 4 * number for number, digit in enumerate(digits))


@given(pieces=st.lists(st.binary(max_size=8), min_size=1, max_size=30))
def test_a_sketch_has_four_bits_of_the_largest_mark_of_each_bin(pieces: list[bytes]) -> None:
    assert sketch(pieces) == plainly(pieces)


def test_one_sentence_changed_is_still_the_same_page() -> None:
    for key in range(20):
        lines = sentences(key)
        assert equal_bins(of(lines), of(changed(lines, 7))) >= 13


def test_other_texts_are_other_pages() -> None:
    pages = [of(sentences(key)) for key in range(60)]
    assert not any(equal_bins(a, b) >= 13 for a in pages for b in pages if a is not b)


def test_the_order_of_texts_and_all_numbers_make_no_difference() -> None:
    lines = ["the first of three long texts", "page 17 of 95, as always", "and the third of three texts"]
    other = ["page 3 of 95, as always", lines[2], lines[0]]
    assert likeness(lines).sketch == likeness(other).sketch


def test_a_page_without_text_has_the_empty_likeness() -> None:
    assert likeness([]).length == 0


def test_scripts_and_styles_are_no_text() -> None:
    quiet = likeness_of(Tree("<title>One title</title><p>a text that people can read"))
    loud = "<title>One title</title><style>p { color: red; }</style><p>a text that people can read"
    assert likeness_of(Tree(loud + "<script>var text = 'nobody reads this';</script>")) == quiet


def test_the_title_counts_however_long_the_other_texts_are() -> None:
    assert b"Blue shoes" in likeness(sentences(1), "Blue shoes").pieces


def test_files_are_alike_only_if_equal() -> None:
    assert bytes_likeness(b"%PDF-1") == bytes_likeness(b"%PDF-1") != bytes_likeness(b"%PDF-2")


@given(st.lists(st.text(max_size=80), max_size=60))
def test_any_strings_have_a_likeness(strings: list[str]) -> None:
    found = likeness(strings)
    assert 0 <= found.sketch < 2**64
    assert found.sketch == sketch(list(found.pieces))
