import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.parse.html import Tree
from joro.portal import rewrite
from joro.portal.rewrite import leads_on, rewritten_srcset

STAMP = "20260101000000"
REPLAY, ARCHIVE = f"/replay/{STAMP}/http://a.jp/", f"/archive/{STAMP}/http://a.jp/"


def rewritten_page(text: str, url: str, charset: str, stamp: str) -> str:
    return rewrite.rewritten_page(text, url, charset, stamp)[0]


def rewritten(source: str, charset: str = "UTF-8") -> str:
    """What becomes of a body at http://a.jp/d/p."""
    page = rewritten_page(f"<!doctype html><body>{source}", "http://a.jp/d/p", charset, STAMP)
    found = re.search("<body>(.*)</body>", page, re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<img src=x.png>", f'<img src="{REPLAY}d/x.png">'),
        ("<img src=//b.jp/x>", f'<img src="/replay/{STAMP}/http://b.jp/x">'),
        ("<img srcset='x 1x, y 2x'>", f'<img srcset="{REPLAY}d/x 1x, {REPLAY}d/y 2x">'),
        ("<img src=data:image/gif,x>", '<img src="data:image/gif,x">'),
        ("<video poster=x></video>", f'<video poster="{REPLAY}d/x"></video>'),
        ("<iframe src=/x></iframe>", f'<iframe src="{REPLAY}x"></iframe>'),
        ("<a href=x#y>z</a>", f'<a href="{ARCHIVE}d/x#y" target="_top">z</a>'),
        ("<a href=#y target=_blank>z</a>", '<a href="#y">z</a>'),
        ("<a href=x ping=http://e/ onclick=f()>z</a>", f'<a href="{ARCHIVE}d/x" target="_top">z</a>'),
        ("<a href='ja\tvascript:f()'>z</a>", '<a target="_top">z</a>'),
        ("<a href=mailto:x@a.jp>z</a>", '<a target="_top">z</a>'),
        ("<form action=/q></form>", f'<form action="{ARCHIVE}q" target="_top"></form>'),
        ("<form></form>", f'<form action="{ARCHIVE}d/p" target="_top"></form>'),
        ("<input formaction=//e/>", f'<input formaction="/archive/{STAMP}/http://e/">'),
        ("<p style='b:url(x)'>", f'<p style="b:url(&quot;{REPLAY}d/x&quot;)"></p>'),
        ("<style>b{c:url(x)}</style>", f'<style>b{{c:url("{REPLAY}d/x")}}</style>'),
        ("<script>f()</script><script src=x></script>", ""),
        ("<link rel='DNS-prefetch' href=//e/>", ""),
        ("<link rel=stylesheet href=x integrity=y>", f'<link rel="stylesheet" href="{REPLAY}d/x">'),
        ("<meta http-equiv=content-security-policy content=x>", ""),
        ("<meta http-equiv=set-cookie content=a=b>", ""),
        ("<meta name=referrer content=unsafe-url>", ""),
        (
            "<meta http-equiv=refresh content='5;url=/x'>",
            f'<meta http-equiv="refresh" content="0; url={REPLAY}x">',
        ),
        ("<meta http-equiv=refresh content='0;url=javascript:f()'>", ""),
        ("<svg><image xlink:href=x /></svg>", f'<svg><image xlink:href="{REPLAY}d/x"></image></svg>'),
        (
            "<svg><a href=x><set attributeName=href to=//e/ /></a></svg>",
            f'<svg><a href="{ARCHIVE}d/x" target="_top"></a></svg>',
        ),
        ("<svg><rect fill='url(#g)'/></svg>", '<svg><rect fill="url(&quot;#g&quot;)"></rect></svg>'),
    ],
)
def test_every_address_leads_to_the_archive(source: str, expected: str) -> None:
    assert rewritten(source) == expected


def test_images_that_wait_for_a_script_are_shown_at_once() -> None:
    assert rewritten("<img data-src=x>").startswith(f'<img data-src="x" src="{REPLAY}d/x"')
    assert f'src="{REPLAY}d/x"' in rewritten("<img src=data:,y data-original=x>")
    assert f' src="{REPLAY}d/y"' in rewritten("<img src=y data-src=x>")
    assert f'srcset="{REPLAY}d/x 2x"' in rewritten("<img data-srcset='x 2x'>")


def test_the_base_of_a_page_counts_and_is_gone() -> None:
    text = rewritten_page("<base href=/b/ target=_blank><img src=x>", "http://a.jp/d/p", "UTF-8", STAMP)
    assert f'<img src="{REPLAY}b/x">' in text
    assert "<base" not in text


def test_a_page_inside_an_attribute_is_rewritten_too_but_not_without_end() -> None:
    inner = rewritten("<iframe srcdoc='<script>1</script><a href=x>y</a>'></iframe>")
    assert f"&lt;a href=&quot;{ARCHIVE}d/x&quot; target=&quot;_top&quot;&gt;" in inner
    assert "script" not in inner
    nested = "x"
    for _ in range(6):
        nested = '<iframe srcdoc="' + nested.replace("&", "&amp;").replace('"', "&quot;") + '"></iframe>'
    assert rewritten(nested).count("srcdoc") == 3


def test_a_page_cannot_blow_itself_up() -> None:
    bomb = f"<base href=/{'x' * 100_000}/>" + "<a href=y>" * 10_000 + "<style>" + "a{b:url(c)}" * 10_000
    page, is_whole = rewrite.rewritten_page(bomb, "http://a.jp/", "UTF-8", STAMP)
    assert len(page) <= 1_000_000
    assert not is_whole


def test_a_long_page_is_shown_as_far_as_it_can_be_read_again() -> None:
    page, is_whole = rewrite.rewritten_page("<a href=x>y</a>" * 30_000, "http://a.jp/", "UTF-8", STAMP)
    assert not is_whole
    assert 500_000 < len(page) <= 1_000_000
    assert rewrite.rewritten_page("<p>words</p>" * 30_000, "http://a.jp/", "UTF-8", STAMP)[1]


@pytest.mark.parametrize(
    "source",
    [
        "<form><math><mtext></form><form><mglyph><style></math>{}",
        '<svg></p><style><a id="</style>{}">',
        '<math><mtext><table><mglyph><style><math><a title="</style>{}">',
        '<noscript><p title="</noscript>{}">',
        "<svg><style><![CDATA[</style>{}]]>",
    ],
)
def test_what_turns_up_only_on_second_reading_is_gone(source: str) -> None:
    page = rewritten_page(
        source.format("<a href=http://evil.example/ target=_top>"), "http://a.jp/", "UTF-8", STAMP
    )
    for _ in range(2):
        tree = Tree(page)
        assert all((each.attr("href") or ARCHIVE).startswith("/archive/") for each in tree.all("a"))
        page = tree.document.serialize()


def test_a_form_in_a_shift_jis_page_sends_shift_jis() -> None:
    assert 'accept-charset="Shift_JIS"' in rewritten("<form></form>", "Shift_JIS")
    assert "accept-charset" not in rewritten("<form></form>")


def test_the_document_type_stays_as_it_decides_how_a_page_looks() -> None:
    assert rewritten_page("<!doctype html>x", "http://a.jp/", "UTF-8", STAMP).startswith("<!DOCTYPE html>")
    assert rewritten_page("x", "http://a.jp/", "UTF-8", STAMP).startswith("<html>")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a", "/a"),
        ("a, b", "/a, /b"),
        ("a 1x,b 2x", "/a 1x, /b 2x"),
        (",,a 100w,", "/a 100w"),
        ("data:,a,b 1x, c", "/data:,a,b 1x, /c"),
        ("a (x, y) , b", "/a (x, y), /b"),
        ("a,b 1x", "/a,b 1x"),
        (" , ", None),
    ],
)
def test_a_list_of_images_is_read_as_the_standard_says(written: str, expected: str | None) -> None:
    assert rewritten_srcset(written, lambda ref: f"/{ref}") == expected


def test_a_page_that_sends_its_readers_on_is_known() -> None:
    assert (
        leads_on(Tree("<meta http-equiv=refresh content='0;url=x'>"), "http://a.jp/d/p") == "http://a.jp/d/x"
    )
    assert leads_on(Tree("<meta http-equiv=refresh content=30>"), "http://a.jp/d/p") is None
    assert leads_on(Tree("<p>"), "http://a.jp/d/p") is None


class Addresses(HTMLParser):
    """An independent reader: everything in a page that a browser could take for an address."""

    NAMES = frozenset(
        "href src action formaction data poster background cite xlink:href longdesc icon".split()
    )

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.names.add(name)
            if name in self.NAMES:
                self.found.append(value or "")


TAGS = st.sampled_from(
    "a area img iframe frame form input button link script object embed video source svg image use base meta "
    "table td body math set animate track portal style".split()
)
NAMES = st.sampled_from(
    "href src action formaction data poster background xlink:href srcset style http-equiv content rel target "
    "onclick onload srcdoc ping manifest cite attributeName to values".split()
)
VALUES = st.sampled_from(
    [
        "http://evil.example/",
        "//evil.example/",
        "\\\\evil.example/",
        " http:evil.example",
        "javascript:alert(1)",
        "JaVa\nScript:alert(1)",
        "vbscript:x",
        "data:text/html,<script>1</script>",
        "https:/\\evil.example",
        "url(http://evil.example/)",
        "refresh",
        "0;url=http://evil.example/",
        "preconnect",
        "href",
        "<a href=http://evil.example/>",
        "blob:x",
        "ftp://evil.example/",
        "/ok",
        "#x",
        "",
    ]
)


@st.composite
def pages(draw: st.DrawFn) -> str:
    elements = draw(st.lists(st.tuples(TAGS, st.dictionaries(NAMES, VALUES, max_size=4)), max_size=8))
    written = []
    for tag, attributes in elements:
        spelled = "".join(
            f' {name}="{value.replace("&", "&amp;").replace(chr(34), "&quot;")}"'
            for name, value in attributes.items()
        )
        written.append(f"<{tag}{spelled}>")
    return "".join(written)


@given(pages())
def test_no_page_keeps_an_address_of_the_live_web_or_a_script(source: str) -> None:
    found = Addresses(rewritten_page(source, "http://a.jp/d/p", "UTF-8", STAMP))
    assert all(re.match(r"/(?:replay|archive)/\d{14}/https?://|#|data:|$", each) for each in found.found)
    assert not found.tags & {"script", "base", "portal"}
    assert not any(name.startswith("on") or name == "ping" for name in found.names)


@given(st.text(alphabet="<>/='\" \nabhrefsc&;#!-", max_size=80))
def test_any_text_at_all_becomes_a_page(source: str) -> None:
    assert "<body>" in rewritten_page(source, "http://a.jp/", "UTF-8", STAMP) or "<frameset" in source
