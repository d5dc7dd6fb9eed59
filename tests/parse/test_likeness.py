from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from joro.parse.html import Tree
from joro.parse.likeness import (
    Likeness,
    bytes_likeness,
    equal_bins,
    is_near_copy,
    is_same_page,
    likeness,
    likeness_of,
    share_in_common,
    sketch,
    text_sketch,
)
from joro.parse.text import main_text
from joro.testweb.plan import make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site


def sentences(key: int, count: int = 60) -> list[str]:
    chance = random.Random(key)
    return [" ".join(str(chance.getrandbits(40)).translate(LETTERS) for _ in range(5)) for _ in range(count)]


LETTERS = str.maketrans("0123456789", "abcdefghij")


def of(lines: list[str]) -> Likeness:
    return likeness(["" + ". ".join(lines[start : start + 5]) for start in range(0, len(lines), 5)])


def changed(lines: list[str], *places: int) -> list[str]:
    return [f"something else {place}" if place in places else line for place, line in enumerate(lines)]


def test_one_sentence_changed_is_still_the_same_page() -> None:
    for key in range(20):
        lines = sentences(key)
        assert is_same_page(of(lines), of(changed(lines, 7)))


def test_other_texts_are_other_pages() -> None:
    pages = [of(sentences(key)) for key in range(60)]
    assert not any(is_same_page(a, b) for a in pages for b in pages if a is not b)


def test_a_tenth_changed_is_a_near_copy_and_a_half_is_none() -> None:
    for key in range(20):
        lines = sentences(key, 100)
        text = text_sketch("\n".join(lines))
        assert is_near_copy(text, text_sketch(". ".join(changed(lines, *range(0, 100, 10)))))
        assert not is_near_copy(text, text_sketch(". ".join(changed(lines, *range(0, 100, 2)))))


def test_the_share_in_common_is_estimated() -> None:
    lines = sentences(1, 1_000)
    half = text_sketch("\n".join(lines[:500])), text_sketch("\n".join(lines[250:750]))
    assert 0.15 < share_in_common(*half) < 0.5
    assert share_in_common(half[0], half[0]) == 1.0
    assert share_in_common(0, 0) == 0.0


def test_the_order_of_texts_and_all_numbers_make_no_difference() -> None:
    lines = ["the first of three long texts", "page 17 of 95, as always", "and the third of three texts"]
    other = ["page 3 of 95, as always", lines[2], lines[0]]
    assert likeness(lines).sketch == likeness(other).sketch


def test_a_page_without_text_is_a_copy_of_nothing() -> None:
    assert not is_same_page(likeness([]), likeness([]))
    assert not is_near_copy(text_sketch(""), text_sketch(""))


def test_scripts_and_styles_are_no_text() -> None:
    quiet = likeness_of(Tree("<title>One title</title><p>a text that people can read"))
    loud = "<title>One title</title><style>p { color: red; }</style><p>a text that people can read"
    assert likeness_of(Tree(loud + "<script>var text = 'nobody reads this';</script>")) == quiet


def test_the_title_counts_however_long_the_other_texts_are() -> None:
    assert b"Blue shoes" in likeness(sentences(1), "Blue shoes").pieces


def test_files_are_alike_only_if_equal() -> None:
    assert bytes_likeness(b"%PDF-1") == bytes_likeness(b"%PDF-1") != bytes_likeness(b"%PDF-2")


def test_equal_bins_counts_groups_of_four_bits() -> None:
    assert equal_bins(0x1234, 0x1234) == 16
    assert equal_bins(0x1234, 0x1FF4) == 14


@given(st.lists(st.text(max_size=80), max_size=60))
def test_any_strings_have_a_likeness(strings: list[str]) -> None:
    found = likeness(strings)
    assert 0 <= found.sketch < 2**64
    assert found.sketch == sketch(list(found.pieces))


def test_copies_of_the_test_web_are_found_and_other_pages_are_not() -> None:
    site = Site(make(Settings(seed=7, hosts=200, pages=3_000, roles=("copy",))))

    def read(page: int) -> int:
        content = site.pages.content(page, site.changes.state(page, EPOCH))
        return text_sketch(main_text(Tree(content.decode(site.plan.host_of(page).charset, "replace"))))

    for kind, least in (("exact", 1.0), ("near", 0.6)):
        hosts = [host for host in site.plan.hosts if host.kind == kind]
        pages = [page for host in hosts for page in range(host.first, host.first + host.pages)]
        found = sum(is_near_copy(read(page), read(site.changes.original(page))) for page in pages)
        assert found >= least * len(pages) > 0, kind
    others = [read(page) for page in range(0, 150)]
    assert sum(is_near_copy(a, b) for a in others for b in others if a is not b) == 0
