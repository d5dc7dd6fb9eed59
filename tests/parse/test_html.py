"""The tree survives whatever is thrown at it, in bounded time and memory.

Each bomb runs in a process of its own that may use 10 CPU seconds and a gigabyte of addresses.
"""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.html import SAFE_CHARS, TEXT_LIMIT_CHARS, Tree, safe

FUSE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
from joro.parse.page import document, outline
bomb = ({bomb})
assert len(outline(b"<a href=/found>x</a>" + bomb.encode(), "http://a.example/", "text/html").links) >= 1
found = document(b"<a href=/found>x</a>" + bomb.encode(), "http://a.example/", "text/html")
assert found.links[0].url == "http://a.example/found"
"""

BOMBS = {
    "formatting closed in the wrong order": "'<b i><i i>x</b>' * 4_000",
    "100,000 nested blocks": "'<div>' * 100_000",
    "formatting left open in every paragraph": "''.join(f'<font a{n}><p>' for n in range(30_000))",
    "the same with end tags before it": (
        "'</font>' * 30_000 + ''.join(f'<font a{n}><p>' for n in range(30_000))"
    ),
    "an open element with many attributes": (
        "'<p>' + ('<font ' + ' '.join(f'a{n}' for n in range(10_000)) + '>') * 3 + '<p>x' * 50_000"
    ),
    "a body that grows attribute by attribute": "''.join(f'<body a{n}=1>' for n in range(100_000))",
    "links around links through tables": "'<table><td><a href=x>y' * 20_000",
    "nested lists, quotes and preformatted text": "'<ol><li><blockquote><pre>x' * 8_000",
    "nothing but less-than signs": "'<' * 1_000_000",
    "a quote that is never closed": "'<a b=\"' + '<b c=' * 200_000",
    "hidden elements in one another": "'<p hidden><svg><noscript>x' * 20_000",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_survived(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FUSE.format(bomb=BOMBS[name])], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-500:]


def test_a_short_text_is_taken_whole() -> None:
    text = "".join(f"<font a{n}><p>" for n in range(1_000))
    assert safe(text) is text


def test_an_honest_long_page_is_taken_whole() -> None:
    block = (
        "<p>A <b>bold</b> <i class='icon'>x</i> <a href='/one' title='t'>link</a> in a line of text.</p>\n"
    )
    assert len(safe(block * 5_000)) == len(block) * 5_000 > 10 * SAFE_CHARS


def test_a_page_that_asks_for_millions_of_copies_is_cut() -> None:
    assert len(safe("".join(f"<font a{n}><p>" for n in range(10_000)))) == SAFE_CHARS


def test_attributes_hidden_behind_a_quoted_bracket_are_counted() -> None:
    tag = "<font a='>' " + " ".join(f"a{n}" for n in range(2_000)) + ">"
    assert len(safe(tag + "<p>x" * 20_000)) == SAFE_CHARS


def test_a_page_without_end_is_read_to_the_limit() -> None:
    assert len(safe("x" * (TEXT_LIMIT_CHARS + 1))) == TEXT_LIMIT_CHARS


def test_what_is_in_a_template_is_not_in_the_page() -> None:
    assert Tree("<template><a href=x></template><a href=y>").all("a")[0].attr("href") == "y"


def test_the_title_of_a_drawing_is_not_the_title_of_the_page() -> None:
    found = Tree("<body><svg><title>drawing</title></svg><title>page</title>").first("title")
    assert found is not None
    assert found.text == "page"


@settings(deadline=None)
@given(st.text())
def test_any_text_has_a_tree(text: str) -> None:
    assert isinstance(Tree(text).language, str)
