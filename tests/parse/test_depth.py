"""No table lies where the parser would crash on it, and ordinary pages keep theirs.

What crashes turbohtml runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import turbohtml
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.charset import charset_of
from joro.parse.depth import DEEP, deepest, shallow
from joro.parse.html import Tree

#: Where the parser has lost a row or a cell, it closes <html> and falls over the second link.
BLOW = "<table><tr></tbody><a href=><pre><a href=x>"

CRASHERS = {
    "a table under many blocks": f"'<div>' * 508 + '{BLOW}'",
    "tables in captions": f"'<table><caption>' * 254 + '{BLOW}'",
    "a template without a table": "'<div>' * 507 + '<template><tbody><tr><td></tbody><a><pre><a>'",
    "upper case": f"('<div>' * 508 + '{BLOW}').upper()",
}


@pytest.mark.parametrize("name", CRASHERS)
def test_a_page_that_kills_the_parser_has_a_tree(name: str) -> None:
    program = f"from joro.parse.html import Tree; assert Tree({CRASHERS[name]}).document.root"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-500:]


def test_a_head_that_kills_the_parser_has_a_charset() -> None:
    page = "<div>" * 508 + BLOW + "<meta charset=euc-jp>"
    program = f"from joro.parse.charset import charset_of; charset_of({page.encode()!r})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-500:]


def test_a_late_charset_is_still_found_among_tables() -> None:
    page = b"<head>" + b" " * 1100 + b"<meta charset=euc-jp>" + b"<table><tr><td>\xa4\xa2" * 300
    assert charset_of(page) == "EUC-JP"


def test_links_and_text_survive_without_tables() -> None:
    cells = "<tr><td class=x>one<TD><a href=/two>two</a></td></tr>"
    text = "<div>" * 450 + f"<table id=t><caption>zero</caption>{cells}</table>"
    tree = Tree(text)
    assert not tree.all("table")
    assert not tree.all("td")
    assert [link.attr("href") for link in tree.all("a")] == ["/two"]
    assert tree.select("#t")
    assert tree.select(".x")
    assert [word for word in ("zero", "one", "two") if word in tree.document.text] == ["zero", "one", "two"]


ICON = '<svg viewBox="0 0 1 1"><title>x</title><g><path d="M0 0"/></g></svg>'

ORDINARY = {
    "rows and cells without end tags": "<table>" + "<tr><td>x<td>y" * 1_000,
    "paragraphs without end tags": "<table><tr><td>" + "<p>x" * 1_000 + "</table>" + "<p>x" * 1_000,
    "a paragraph in every cell": "<table>" + "<tr><td><p>x</td></tr>" * 1_000 + "</table>",
    "items without end tags": "<table></table>" + "<ul><li><b>x</b><li>y<ul><li>z</ul></ul>" * 500,
    "definitions without end tags": "<table></table><dl>" + "<dt>x<dd>y<p>z" * 500,
    "choices without end tags": "<table></table>" + ("<select>" + "<option>x" * 500 + "</select>") * 10,
    "icons": "<table>" + f"<tr><td><a href=x>{ICON}</a></td></tr>" * 1_000 + "</table>",
    "forms": "<table></table>" + "<div><form><input><button>x</button></form></div>" * 500,
    "scripts": "<table></table>" + "<div><script><!--\nif (a<b) x('<div>')\n//--></script></div>" * 500,
    "comments": "<table></table>" + "<div><!-- <div> --></div>" * 500,
    "a bracket in an attribute": "<table></table>" + "<p title='<div>'>x</p>" * 500,
    "tables beside each other": "<table><tr><td><p>x</td></tr></table>" * 500,
    "a film in a cell": "<table>" + "<tr><td><object><param><embed></object></td></tr>" * 500,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_page_keeps_its_tables(name: str) -> None:
    assert deepest(ORDINARY[name]) < DEEP / 3
    assert shallow(ORDINARY[name]) is ORDINARY[name]


EVASIONS = {
    "end tags in comments": "<div><!-- </div> -->",
    "in comments that end oddly": "<div><!-- --!x></div>-->",
    "in processing instructions": "<div><? </div>",
    "in attributes": "<div><br title='</div>'>",
    "in attributes of end tags": "<div></x y='</div>'>",
    "in scripts": "<div><script></div></script>",
    "in scripts in scripts": "<div><script><!--<script></script></div>--></script>",
    "in titles": "<div><title></div></title>",
    "behind another name": "<div></divx></di></span></p>",
    "behind letters that only look alike": "<link\u212a></linkk>",
    "out of a cell": "<div><table><tr><td></div>",
    "out of an object": "<div><object></div>",
    "out of a button": "<p><button></p>",
    "of phrases around a block": "<span><div></span>",
    "of a heading around another": "<h1><div><h2></h1>",
    "of a form that was forgotten": "<form><table><td></form></td></tr></table></form>",
    "of a form in a form": "<form><table><td><form></form></td></tr></table></form>",
    "of formatting before a cell": "<table><b><td></b></table>",
    "behind the mark of an object": "<b><table><td><object></td></object></table></b>",
    "in the title of a drawing": "<div><svg><title><p></div></title></svg>",
    "in a drawing that an end tag leaves": "<g><svg></g><path><path></svg></g>",
    "in character data": "<div><svg><![CDATA[</div>]]></svg>",
    "of cells in a drawing": "<svg><td ><td ><td >",
    "in a formula": "<div><math><mi></div></mi></math>",
    "in plain text": "<div>" * 500 + "<plaintext></div>",
    "in templates": "<div><template></div></template>",
}


@pytest.mark.parametrize("name", EVASIONS)
def test_end_tags_that_close_nothing_make_no_page_shallow(name: str) -> None:
    text = "<table></table>" + EVASIONS[name] * 500
    assert deepest(text) >= DEEP
    assert shallow(text) is not text


NAMES = (
    "a b font i nobr p div li ul dl dd dt span ruby rt h1 h2 pre button form select option optgroup object "
    "applet table caption colgroup col tbody thead tr td th template svg g path title desc foreignobject "
    "math mi script style textarea noscript body html frameset x y br input hr center article summary"
).split()
ODD = [
    *("<svg/>", "<p/>", "<svg><path/></svg>", "<!--", "-->", "<a href=x>", "<font size=1>", "<a b='", "'>"),
    *("text", " ", "<![CDATA[", "]]>", "</>", "<?x>", '<b class="<p>">'),
]
PIECES = [f"<{name}>" for name in NAMES] + [f"</{name}>" for name in NAMES] + ODD


def open_after(text: str) -> int:
    """How many elements the parser has open behind a text: so many fewer than 512 fit into one another."""
    inmost: turbohtml.Node | None = turbohtml.parse(text + "<q-q>" * 600, positions=False).find("q-q")
    if inmost is None:
        return 0  # it is in a comment, or the like
    fit = -1  # the last one is made, but not opened
    while inmost is not None:
        inmost = next((child for child in inmost.children if isinstance(child, turbohtml.Element)), None)
        fit += 1
    return 512 - fit


def test_we_can_ask_the_parser_how_deep_it_is() -> None:
    assert open_after("<div><p><b>x</div>") == len(["html", "body", "b"])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=20), st.integers(1, 15))
def test_no_more_is_open_than_the_bound(pieces: list[str], times: int) -> None:
    text = "".join(pieces) * times
    assert open_after(text) <= deepest(text) + len(["html", "body", "script"])


@pytest.mark.parametrize(
    "piece", ["<a ", "<a b='", "<svg><path ", "<script><!--", "<p>", "<a x=y><", "<table><td>"]
)
def test_a_megabyte_of_anything_is_looked_through_once(piece: str) -> None:
    """Looked through anew at each of its tags it would take hours."""
    shallow("<table></table>" + piece * (1_000_000 // len(piece)))
