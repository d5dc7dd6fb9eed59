from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from joro.parse.copies import is_near_copy, share_in_common, text_mark, text_sketch
from joro.parse.html import Tree
from joro.parse.text import title_of, visible_text
from joro.testweb.plan import make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site

LETTERS = str.maketrans("0123456789", "abcdefghij")


def sentences(key: int, count: int) -> list[str]:
    chance = random.Random(key)
    return [" ".join(str(chance.getrandbits(30)).translate(LETTERS) for _ in range(5)) for _ in range(count)]


def text(lines: list[str]) -> str:
    return "".join(f"{line}. " for line in lines)


def changed(lines: list[str], every: int) -> list[str]:
    return [f"something else {place}" if place % every == 0 else line for place, line in enumerate(lines)]


def test_a_tenth_changed_is_a_near_copy_and_a_half_is_none() -> None:
    for key in range(20):
        lines = sentences(key, 100)
        mark = text_mark("one title", text(lines))
        assert is_near_copy(mark, text_mark("one title", text(changed(lines, 10))))
        assert not is_near_copy(mark, text_mark("one title", text(changed(lines, 2))))


def test_under_another_title_only_what_is_nearly_equal_is_a_copy() -> None:
    lines = sentences(1, 100)
    mark = text_mark("one title", text(lines))
    assert is_near_copy(mark, text_mark("another", text(lines)))
    assert not is_near_copy(mark, text_mark("another", text(changed(lines, 10))))


def test_the_same_sentences_again_and_again_are_no_copy() -> None:
    lines = sentences(1, 100)
    assert not is_near_copy(text_mark("", text(lines)), text_mark("", text(lines * 2)))


def test_menus_are_no_part_of_a_text_with_sentences() -> None:
    lines, menus = sentences(1, 30), ["An entry of a menu", "Another entry of it", "The third one of them"]
    assert text_sketch("\n".join([*menus, text(lines)])) == text_sketch(text(lines))
    assert text_sketch("\n".join(menus)) != text_sketch("\n".join(menus[:2]))


def test_sentences_end_the_same_way_in_every_script() -> None:
    assert text_sketch("今日は良い天気です。明日は雨が降ります。") == text_sketch(
        "明日は雨が降ります！今日は良い天気です。"
    )
    assert text_sketch("It is raining hard. We are staying in!") == text_sketch(
        "We are staying in?It is raining hard."
    )


def test_the_share_in_common_is_estimated() -> None:
    lines = sentences(1, 150)
    half = text_sketch(text(lines[:100])), text_sketch(text(lines[50:]))
    assert 0.2 < share_in_common(*half) < 0.47  # a third
    assert share_in_common(half[0], half[0]) == 1.0
    assert share_in_common(b"", b"") == 0.0


def test_a_short_text_is_a_copy_of_nothing() -> None:
    assert text_mark("a title", "") == text_mark("a title", "A line of a menu.") == b""
    assert text_mark("a title", "-" * 10 + "\n" * 200) == b""


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=60))
def test_every_text_with_a_mark_is_a_near_copy_of_itself(title: str, lines: list[str]) -> None:
    mark = text_mark(title, "\n".join(lines))
    assert len(mark) in (0, 76)
    assert not mark or is_near_copy(mark, mark)


@given(
    st.lists(st.text(min_size=17, max_size=40, alphabet="abcdefgh "), min_size=6, max_size=60), st.randoms()
)
def test_the_order_of_sentences_makes_no_difference(lines: list[str], chance: random.Random) -> None:
    other = list(lines)
    chance.shuffle(other)
    assert text_sketch(text(lines)) == text_sketch(text(other))


@given(st.lists(st.text(min_size=30, max_size=60), min_size=6, max_size=30), st.integers(0, 2**32))
def test_whether_one_is_a_copy_of_the_other_does_not_depend_on_who_is_first(
    lines: list[str], key: int
) -> None:
    one, other = text_mark("t", text(lines)), text_mark("t", text(lines + sentences(key, len(lines) // 2)))
    assert not one or not other or is_near_copy(one, other) == is_near_copy(other, one)


def test_copies_of_the_test_web_are_marked_and_other_pages_are_not() -> None:
    """Near copies of this web share 6 to 98 % of their sentences with the original, most more than 70."""
    site = Site(make(Settings(seed=7, hosts=200, pages=3_000, roles=("copy",))))

    def read(page: int) -> bytes:
        content = site.pages.content(page, site.changes.state(page, EPOCH))
        tree = Tree(content.decode(site.plan.host_of(page).charset, "replace"))
        return text_mark(title_of(tree), visible_text(tree)) or page.to_bytes(76)

    for kind, least in (("exact", 1.0), ("near", 0.75)):
        hosts = [host for host in site.plan.hosts if host.kind == kind]
        pages = [page for host in hosts for page in range(host.first, host.first + host.pages)]
        found = sum(is_near_copy(read(page), read(site.changes.original(page))) for page in pages)
        assert found >= least * len(pages) > 0, (kind, found, len(pages))
    others = [read(page) for page in range(0, 150)]
    assert sum(is_near_copy(a, b) for a in others for b in others if a is not b) == 0
