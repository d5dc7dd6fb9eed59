"""What a page asks of robots is heard, from whichever place it is said."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.directives import directives
from joro.parse.html import Tree


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("<meta name=robots content='noindex, nofollow'>", {"noindex", "nofollow"}),
        ("<META NAME=' Robots ' CONTENT=NoIndex>", {"noindex"}),
        ("<meta name=robots content='noindex nofollow'>", {"noindex", "nofollow"}),
        ("<meta name=robots content=none>", {"none", "noindex", "nofollow"}),
        ("<meta name=robots content=noindex><meta name=JORO content=nofollow>", {"noindex", "nofollow"}),
        ("<meta name=otherbot content=noindex>", set()),
        ("<meta name=robots content='max-snippet: 20, noarchive'>", {"max-snippet:20", "noarchive"}),
        (
            "<meta name=robots content='unavailable_after: Tue, 25 Jun 2030 15:00:00 GMT, noindex'>",
            {"unavailable_after:tue 25 jun 2030 15:00:00 gmt", "noindex"},
        ),
        ("<meta name=robots>", set()),
        ("<meta http-equiv=robots content=noindex>", set()),
    ],
)
def test_meta_elements_are_heard(source: str, words: set[str]) -> None:
    assert directives(Tree(source)) == words


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("noindex", {"noindex"}),
        ("NoIndex,nofollow", {"noindex", "nofollow"}),
        ("none", {"none", "noindex", "nofollow"}),
        ("joro: noindex, nofollow", {"noindex", "nofollow"}),
        ("otherbot: noindex, nofollow", set()),
        ("noarchive, otherbot: noindex, Joro: nofollow", {"noarchive", "nofollow"}),
        ("otherbot: noindex\nnofollow", {"nofollow"}),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST", {"unavailable_after:25 jun 2030 15:00:00 pst"}),
        (
            "unavailable_after: Wednesday, 25-Jun-30 15:00:00 GMT, noindex",
            {"unavailable_after:wednesday 25-jun-30 15:00:00 gmt", "noindex"},
        ),
        (
            "joro: unavailable_after: Tue, 25 Jun 2030 15:00:00 GMT, nofollow\notherbot: none",
            {"unavailable_after:tue 25 jun 2030 15:00:00 gmt", "nofollow"},
        ),
        ("otherbot: unavailable_after: Tue, 25 Jun 2030 15:00:00 GMT, noindex", set()),
        ("otherbot: unavailable_after: 25 Jun 2030, joro: max-snippet:0", {"max-snippet:0"}),
        ("", set()),
    ],
)
def test_the_header_is_heard(header: str, words: set[str]) -> None:
    assert directives(Tree(""), header) == words


def test_page_and_header_add_up() -> None:
    assert directives(Tree("<meta name=robots content=noindex>"), "nofollow") == {"noindex", "nofollow"}


def test_another_robot_hears_its_own_name() -> None:
    assert directives(Tree("<meta name=otherbot content=noindex>"), "joro: nofollow", "OtherBot") == {
        "noindex"
    }


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_words_make_it_raise(content: str, header: str) -> None:
    assert isinstance(directives(Tree(f'<meta name=robots content="{content}">'), header), frozenset)
