"""A page that is only looked over says what its tree says, or nothing: hostile pages are asked both ways."""

import importlib.util
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from joro.parse import quick
from joro.parse.outline import Outline
from joro.parse.page import outline
from joro.testweb.plan import make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.url import Joiner
from scripts.core import why_not

SERVER = "http://www.example.jp"
URL = f"{SERVER}/dir/page.html?q=1"

Scan = Callable[..., Any]


@pytest.fixture(scope="session")
def scan(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Scan:
    """The scanner, compiled from this source with all warnings on."""
    if reason := why_not():
        pytest.skip(reason)
    library = tmp_path_factory.mktemp("scan") / "scan.so"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    source = root / "src" / "joro" / "parse" / "scan.c"
    subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
    spec = importlib.util.spec_from_file_location("scan", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Scan = module.scan
    return found


def read(scanner: Scan | None, payload: bytes, url: str, content_type: str) -> Outline:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick, "_scan", scanner)
        return outline(payload, url, content_type, feeds=True)


def looked_over(
    scan: Scan, payload: bytes, url: str = URL, content_type: str = "text/html; charset=utf-8"
) -> Outline | None:
    """What the scanner says, having asked the tree too; None: unsure."""
    answers = []

    def watched(*args: object) -> object:
        answers.append(scan(*args))
        return answers[-1]

    said = read(watched, payload, url, content_type)
    assert said == read(None, payload, url, content_type)
    return said if answers and answers[0] is not None else None


def paths(scan: Scan, page: str | bytes) -> list[str]:
    """Where the links of a page lead that the scanner is sure of."""
    said = looked_over(scan, page.encode() if isinstance(page, str) else page)
    assert said is not None, "unsure"
    return [url.removeprefix(SERVER) for url in said.links]


def is_unsure(scan: Scan, page: str | bytes) -> bool:
    return looked_over(scan, page.encode() if isinstance(page, str) else page) is None


@pytest.mark.parametrize(
    "comment",
    ["<!-- <a href=/no> -->", "<!--<!-->", "<!-->", "<!--->", "<!--x--!>", "<!-- -- > -- -->", "<!---!>-->"],
)
def test_a_comment_ends_where_the_standard_says(scan: Scan, comment: str) -> None:
    assert paths(scan, f"{comment}<a href=/1>") == ["/1"]


@pytest.mark.parametrize("comment", ["<!--", "<!-- ->", "<!--x--!", "<!--x--", "<!--- >"])
def test_a_comment_left_open_hides_the_rest(scan: Scan, comment: str) -> None:
    assert paths(scan, f"<a href=/1>{comment}<a href=/no>") == ["/1"]


@pytest.mark.parametrize("comment", ["<?php echo >", "</ a>", "</>", "<![CDATA[>", "<!->", "<!DOCTYPE 'x>"])
def test_what_only_looks_like_a_tag_ends_at_the_first_bracket(scan: Scan, comment: str) -> None:
    assert paths(scan, f"{comment}<a href=/1>") == ["/1"]


@pytest.mark.parametrize("text", ["<", "1 < 2", "<1", "<<", "< a href=/no>", "<=", "a > b"])
def test_a_bracket_before_no_letter_is_text(scan: Scan, text: str) -> None:
    assert paths(scan, f"{text}<a href=/1>") == ["/1"]


@pytest.mark.parametrize("name", ["script", "style", "xmp", "textarea", "noframes", "noembed", "iframe"])
def test_what_is_in_a_text_element_is_no_tag(scan: Scan, name: str) -> None:
    text = f"<{name}><a href=/no></a></{name}x></ {name}><!--</{name.upper()}\n><a href=/1>"
    assert paths(scan, text) == ["/1"]


def test_a_text_element_left_open_hides_the_rest(scan: Scan) -> None:
    assert paths(scan, "<a href=/1><style><a href=/no></style") == ["/1"]
    assert paths(scan, "<a href=/1><script/><a href=/no></script x=") == ["/1"]


def test_what_a_page_shows_without_scripts_counts(scan: Scan) -> None:
    assert paths(scan, "<noscript><a href=/1></noscript>") == ["/1"]


def test_a_script_in_a_comment_in_a_script_is_for_the_tree(scan: Scan) -> None:
    assert is_unsure(scan, "<script><!--<script></script><a href=/no></script><a href=/1>")
    assert paths(scan, "<script><!-- 1 --></script><a href=/1>") == ["/1"]


@pytest.mark.parametrize(
    "tag",
    [
        "<a href=/x>",
        "<a href='/x'>",
        '<A\nHREF\t=\f"/x">',
        "<a/href=/x>",
        "<a title=a>b href=/no><a href=/x>",
        "<a title='a>b'href=/x>",
        "<a href=/x href=/no>",
        "<a =href=/no href=/x>",
        "<a hidden href=/x rel>",
        "<a <b> <a href=/x>",
        '<a"href=/no><a href=/x>',
        "<a title=/ href = /x >",
        "<a href=/x\r\n>",
        "</a href='>'><a href=/x>",
    ],
)
def test_attributes_are_read_as_browsers_read_them(scan: Scan, tag: str) -> None:
    assert paths(scan, tag) == ["/x"]


def test_an_unquoted_value_keeps_its_slash_and_quotes(scan: Scan) -> None:
    assert paths(scan, "<a href=/1/><a href=/2'\">") == ["/1/", "/2'%22"]


@pytest.mark.parametrize(
    "tag", ["<a href>", "<a href=>", "<a href= >", '<a href="">', "<a href/>", "<a href=#x>"]
)
def test_a_link_without_a_value_leads_to_the_page_itself(scan: Scan, tag: str) -> None:
    assert paths(scan, tag) == ["/dir/page.html?q=1"]


@pytest.mark.parametrize(
    "tag", ["<a", "<a href=/no", "<a href='/no>", '<a href="/no> x=', "<a href=/no /", "</a "]
)
def test_a_tag_cut_off_is_no_tag(scan: Scan, tag: str) -> None:
    assert paths(scan, f"<a href=/1>{tag}") == ["/1"]


def test_an_escaped_ampersand_is_one(scan: Scan) -> None:
    assert paths(scan, '<a href="/?a&amp;b=1&amp;amp;c&">') == ["/?a&b=1&amp;c&"]
    assert paths(scan, '<a href="/?a=1&copy=2&b=3&&=">') == ["/?a=1&copy=2&b=3&&="]


@pytest.mark.parametrize(
    "value", ["&copy;", "&copy", "&#38;", "&AMP;", "&amp", "&b", "&notit;", "x\ry", "&quot;'"]
)
def test_references_and_ends_of_line_in_values_are_resolved_as_the_tree_does(scan: Scan, value: str) -> None:
    assert not is_unsure(scan, f'<a href="/?{value}">')
    assert not is_unsure(scan, f"<a href=/?{value.strip()}>")
    assert not is_unsure(scan, f'<link rel=next href="/?{value}">')
    assert not is_unsure(scan, f'<meta http-equiv=refresh content="0;url=/?{value}">')


def test_a_relation_with_a_reference_is_for_the_tree(scan: Scan) -> None:
    assert is_unsure(scan, "<a href=/1 rel='n&#111;follow'>")


def test_a_link_may_be_followed_when_one_of_its_anchors_allows_it(scan: Scan) -> None:
    said = looked_over(
        scan, b"<a href=/1 rel=nofollow><a href=/2 REL='ugc NoFollow'><a href=/2><a href=/3 rel=nofollow x>"
    )
    assert said is not None
    assert said.nofollow == {f"{SERVER}/1", f"{SERVER}/3"}


def test_other_elements_than_anchors_are_handed_over(scan: Scan) -> None:
    said = looked_over(
        scan,
        b"<meta name=Robots content='noindex'><meta http-equiv=refresh content='1; /5'>"
        b"<link rel=canonical href=/4><link rel=alternate type=application/rss+xml href=/feed>"
        b"<a href=/1><area href=/2 rel=nofollow><IFRAME src=/3><a href=/no></iframe>",
    )
    assert said is not None
    assert [url.removeprefix(SERVER) for url in said.links] == ["/1", "/2", "/3", "/4", "/feed", "/5"]
    assert said.canonical == f"{SERVER}/4"
    assert said.nofollow == {f"{SERVER}/2"}
    assert said.directives == {"noindex"}
    assert said.feeds == [f"{SERVER}/feed"]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title> One\r\nand <b>two</b>\n</title><title>no</title>", "One and <b>two</b>"),
        ("<title>a &amp; b &copy c &#39;&#x1F600;&#150;</TITLE x>", "a & b © c '😀–"),
        ("<title></title><title>no</title>", ""),
        ("<title>cut off</titl", "cut off</titl"),
        ("<title>cut off</title ", "cut off"),
        ("no title", ""),
    ],
)
def test_the_first_title_counts(scan: Scan, source: str, title: str) -> None:
    said = looked_over(scan, source.encode())
    assert said is not None
    assert said.title == title


@pytest.mark.parametrize(
    "reference", ["&#1;", "&#x1f", "&#0;", "&#127;", "&#xFDD0;", "&#xfffe", "&#1114111;", "&amp;", "&copy"]
)
def test_references_in_a_title_are_resolved_as_the_tree_does(scan: Scan, reference: str) -> None:
    assert not is_unsure(scan, f"<title>a{reference} b</title>")


def test_a_title_that_may_be_nested_too_deep_is_for_the_tree(scan: Scan) -> None:
    assert not is_unsure(scan, "<b>" * 100 + "<title>a</title>")
    assert is_unsure(scan, "<b>" * 600 + "<title>a</title>")


@pytest.mark.parametrize(
    "tag",
    [
        "<base>",
        "<svg>",
        "<math>",
        "<select>",
        "<template>",
        "<frameset>",
        "<frame src=/x>",
        "<PLAINTEXT>",
        "<svg/>",
    ],
)
def test_elements_that_change_what_others_are_leave_the_page_to_the_tree(scan: Scan, tag: str) -> None:
    assert is_unsure(scan, f"<a href=/1>{tag}<a href=/2>")


@pytest.mark.parametrize(
    "inside",
    [
        "<path d='M0'/>",
        "<title>Menu</title><G><use href='#i'/></G>",
        " <text>x</text> ",
        "<defs><stop></defs>",
    ],
)
def test_plain_drawings_are_stepped_over(scan: Scan, inside: str) -> None:
    assert paths(
        scan, f"<a href=/1><svg viewBox='0 0 1 1'>{inside}</svg></a><title>t</title><a href=/2>"
    ) == ["/1", "/2"]


@pytest.mark.parametrize(
    "inside",
    ["<a href=/no>", "<p>", "<title><a href=/2></title>", "<![CDATA[", "<foreignObject>", "<svg>", "<title>"],
)
def test_drawings_that_may_hold_more_are_for_the_tree(scan: Scan, inside: str) -> None:
    assert is_unsure(scan, f"<svg>{inside}</svg><a href=/1>")


def test_plain_choices_are_stepped_over(scan: Scan) -> None:
    choice = (
        "<select name=x><optgroup label=y><option value=/no selected>A &amp; B<option>C</option></select>"
    )
    assert paths(scan, f"<a href=/1>{choice}<a href=/2>") == ["/1", "/2"]
    assert is_unsure(scan, "<select><option><a href=/1></select>")


def test_links_in_the_cells_of_tables_keep_their_order(scan: Scan) -> None:
    inner = "<table><caption><a href=/2></caption><tr><th><a href=/3><td><a href=/4></table><a href=/5>"
    assert paths(scan, f"<a href=/1><table><tbody><tr><td>{inner}</td></tr></table><a href=/6>") == [
        f"/{number}" for number in range(1, 7)
    ]


@pytest.mark.parametrize("part", ["</td>", "<tr>", "<tbody>", "<col>", "</caption>", "</tr></thead>"])
@pytest.mark.parametrize("tag", ["<a href=/2>", "<title>", "<iframe>", "<link>", "<table>"])
def test_what_a_table_would_move_before_itself_is_for_the_tree(scan: Scan, part: str, tag: str) -> None:
    assert is_unsure(scan, f"<table><tr><td><a href=/1>{part}{tag}")


@pytest.mark.parametrize("name", ["object", "applet", "marquee"])
def test_a_link_may_outlive_its_cell_behind_an_object_so_the_tree_is_asked(scan: Scan, name: str) -> None:
    assert is_unsure(scan, f"<table><td><a href=/1></a><a href=/2><{name}><tr>x")
    assert paths(scan, f"<a href=/1><{name}><a href=/2></{name}><table><td>") == ["/1", "/2"]


def test_outside_of_tables_their_parts_mean_nothing(scan: Scan) -> None:
    assert paths(scan, "</table><tr><a href=/1></td><td><a href=/2></tr><table></table><a href=/3>") == [
        "/1",
        "/2",
        "/3",
    ]


def test_bytes_that_are_no_character_are_one_replacement_each(scan: Scan) -> None:
    assert paths(scan, b'<a href="/\xff\xe3\x81"><a href=/\xe3\x81\x82>') == [
        "/%EF%BF%BD%EF%BF%BD",
        "/%E3%81%82",
    ]


def test_a_page_with_a_nul_is_for_the_tree(scan: Scan) -> None:
    assert is_unsure(scan, "<a href=/1>\0")


def test_a_byte_order_mark_is_no_part_of_the_page(scan: Scan) -> None:
    assert paths(scan, b"\xef\xbb\xbf<a href=/1>\xef\xbb\xbf<a href='/\xef\xbb\xbf'>") == ["/1", "/%EF%BB%BF"]


def test_other_character_sets_are_looked_over_only_in_ascii(scan: Scan) -> None:
    assert looked_over(scan, b"<a href=/1>", content_type="text/html") is not None
    assert looked_over(scan, b"<a href=/\xe9>", content_type="text/html; charset=latin1") is None
    assert looked_over(scan, b"<a href=/1>", content_type="text/html; charset=euc-jp") is None


PAGE = """<!DOCTYPE html><html lang=ja><head><meta charset="utf-8"><title>A &amp; B 日本</title>
<link rel="canonical" href="/c"><meta name='robots' content="noarchive"><style>a > b { }</style></head>
<body><!-- a comment --><table><tr><td><a href="/1?a=1&amp;b=2" rel="nofollow">1</a></td></tr></table>
<iframe src=/2></iframe><script>if (1 < 2) "<a>"</script><p><a href='../3'>3</a><br/></body></html>"""


def test_a_page_cut_off_at_any_byte_is_read_as_its_tree(scan: Scan) -> None:
    page = PAGE.encode()
    for size in range(len(page) + 1):
        assert looked_over(scan, page[:size]) is not None, page[:size]


@pytest.fixture(scope="session")
def ordinary() -> list[bytes]:
    """Pages of the bundled test web."""
    site = Site(make(Settings(seed=7, hosts=40, pages=200)))
    hosts = [host for host in site.plan.hosts if host.charset == "utf-8" and not host.base]
    pages = [page for host in hosts for page in range(host.first, host.first + host.pages)][:200]
    return [site.pages.content(page, site.changes.state(page, EPOCH)) for page in pages]


def test_the_scanner_is_sure_of_ordinary_pages(scan: Scan, ordinary: list[bytes]) -> None:
    sure = [looked_over(scan, content, content_type="text/html") is not None for content in ordinary]
    assert len(sure) > 100
    assert all(sure)


def test_ordinary_pages_have_the_likeness_of_their_tree(
    scan: Scan, ordinary: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = [outline(content, URL, "text/html", likeness=True) for content in ordinary]
    monkeypatch.setattr(quick, "_scan", scan)
    assert [outline(content, URL, "text/html", likeness=True) for content in ordinary] == slow


def test_texts_are_those_of_the_body_that_anybody_sees(scan: Scan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "_scan", scan)
    page = b"<head> <style>s</style> </head><p>a &lt; b<b>c</b>\r\n<script>d</script>1 < 2<!-- e -->"
    found = quick.quick(page, "UTF-8", Joiner(URL), texts=True)
    assert found is not None
    assert found.texts == ["a < b", "c", "\n", "1 < 2"]


ANCHORS = b"""<a href=/1>|<A HREF='/2' rel=nofollow>|<a href="/2">|<a href=/3 rel='x NoFollow'>|<a href>
    |<a href='?a&amp;b=1&c=2'>|<a href=/4/>|<a/href=/5/rel=nofollow>|<a href="/6"rel='nofollow'>|<a =href=x>
    |<a href='http://B.example:80'>|</a>""".split(b"|")
OTHERS = b"""<area href=/11>|<area href=/12 rel=nofollow>|<iframe src=/13>|<iframe src=14>|</iframe>
    |<link rel=canonical href=/15>|<link rel=next href=/16>
    |<link rel=alternate type=application/rss+xml href=/17>
    |<meta name=robots content=noindex>|<meta name=ROBOTS content='none,noarchive'>
    |<meta http-equiv=refresh content='0;url=/18'>|<meta http-equiv=Refresh content='5;/19'>""".split(b"|")
BLOCKS = b"""<title> </title> <script> </script> <style> </style/> <textarea> </textarea> <xmp> </xmp>
    <noscript> </noscript> <noframes> </noframes> <table> </table> <tr> </tr> <td> </td> <th> </th>
    <tbody> </tbody> <thead> <caption> </caption> <col> <colgroup> </colgroup> <html> <head> </head> <body>
    </body> <div> </div> <p> </p> <b> </b> <font> </font> <nobr> <li> <ul> </ul> <form> </form> <button>
    <object> </object> <h1> <input> <br> <option> <pre> <marquee> <image> <dd>""".split()
BLOCKS += b"""<svg><path/></svg> <svg><title>x</title></svg> <select> </select> <select><option>x</select>
    <svg> </svg> <g> <path/> </g> <title/> </option> <svg/> <svg><g><text>x</svg>""".split()
RARE = [b"<select>", b"<svg>", b"<template>", b"<base href=/b/>", b"<plaintext>", b"<frameset>", b"\0", b"\r"]
PIECES = b"""< > / = " ' ! - ? & ; # . : </ <! <? <!-- --> --!> <!--> <![CDATA[ ]]> <a <A/ <script <title
    </title </script </style href href= href=' HREF=" rel= rel="nofollow" src= &amp; &amp &copy; &#38; &x= //
    http: <!DOCTYPE""".split()
PIECES += [b" ", b"\n", b"\t", b"\f", b"x", b"\xc3\xa9", b"\xff", b"\xe3\x81", b"\xef\xbb\xbf"]

TAGS = st.lists(st.sampled_from(ANCHORS + OTHERS + BLOCKS), max_size=30)
SOUPS = st.lists(st.sampled_from(ANCHORS + OTHERS + BLOCKS + RARE + PIECES * 2), max_size=30)


@pytest.mark.slow
@given((TAGS | SOUPS).map(b"".join))
@example(b"<table><td><a href=/1><tr><a href=/2>")
@example(b"<title>&#x8<</title>")
@settings(max_examples=3_000)
def test_scanner_and_tree_say_the_same_of_any_soup_of_tags(scan: Scan, soup: bytes) -> None:
    looked_over(scan, soup)


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.sampled_from(["<a ", "<link rel=next "])
)
@settings(max_examples=1_000)
def test_scanner_and_tree_say_the_same_of_any_tag(scan: Scan, inside: bytes, start: str) -> None:
    looked_over(scan, b"%shref=/0 %s><a href=/1>'\"><a href=/2>" % (start.encode(), inside))
    looked_over(scan, b"%s%s><a href=/1>'\"><a href=/2>" % (start.encode(), inside))


BASES = [
    "http://www.example.jp/",
    "http://www.example.jp/a/b.html?c=/d",
    "https://example.com:8080/a//b/",
    "http://[::1]/x",
    "http://xn--fsq.example/~/;p?x",
]
REFS = st.lists(
    st.sampled_from(
        [*"abZ09_~!$&()*+,;=:./-?#%@[]\\^ é", "//", "..", "/./", "http", "https", "://", "?x", "%41"]
    )
    | st.sampled_from(
        ["http://a.example", "http://Host.example/", "https://h.example:443/", "mailto:", "xn--"]
    ),
    max_size=8,
).map("".join)


@pytest.mark.slow
@given(REFS, st.sampled_from(BASES))
@settings(max_examples=2_000)
def test_the_scanner_joins_any_reference_as_the_joiner_does(scan: Scan, ref: str, base: str) -> None:
    said = looked_over(scan, f"<a href='{ref.replace('&', '&amp;')}'>".encode(), base)
    assert said is not None
    assert said.links == [url for url in [Joiner(base)(ref)] if url is not None]
