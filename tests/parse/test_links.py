"""Links are found where browsers find them, and lead where browsers go."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.model import Link
from joro.parse.html import Tree
from joro.parse.links import ANCHOR_LIMIT_CHARS, base_of, link_urls, links, refresh_target

URL = "http://www.example.jp/dir/page.html"


def found(source: str, charset: str = "UTF-8") -> list[Link]:
    return links(Tree(source, charset), URL)


def urls(source: str, charset: str = "UTF-8") -> list[str]:
    return [link.url.removeprefix("http://www.example.jp") for link in found(source, charset)]


def test_a_link_has_url_anchor_rel_and_kind() -> None:
    assert found('<a href="../x" rel="NoFollow UGC"> The\n<b>other</b>  page </a>') == [
        Link("http://www.example.jp/x", "The other page", "nofollow ugc", "a")
    ]


@pytest.mark.parametrize(
    ("source", "kind", "anchor"),
    [
        ("<a href=/x>t</a>", "a", "t"),
        ("<map><area href=/x alt=' t '></map>", "area", "t"),
        ("<iframe src=/x title=t></iframe>", "frame", "t"),
        ("<frameset><frame src=/x title=t></frameset>", "frame", "t"),
        ("<link rel=next href=/x title=t>", "link", "t"),
        ("<link rel='ALTERNATE' hreflang=de href=/x title=t>", "link", "t"),
        ("<link rel=canonical href=/x>", "canonical", ""),
        ("<meta http-equiv=Refresh content='5; URL=/x'>", "refresh", ""),
        ("<noscript><a href=/x>t</a></noscript>", "a", "t"),
        ("<a href='/x'><img src=i alt='t'></a>", "a", "t"),
    ],
)
def test_every_kind_of_link_is_found(source: str, kind: str, anchor: str) -> None:
    assert [(link.url, link.kind, link.anchor) for link in found(source)] == [
        ("http://www.example.jp/x", kind, anchor)
    ]


@pytest.mark.parametrize(
    "source",
    [
        "<a>no href</a>",
        "<a href='javascript:x()'>x</a>",
        "<a href='mailto:a@b.example'>x</a>",
        "<a href='http://[bad'>x</a>",
        "<link rel=stylesheet href=/x>",
        "<link rel='alternate stylesheet' href=/x>",
        "<link rel=icon href=/x>",
        "<link rel=next>",
        "<template><a href=/x>x</a></template>",
        "<script>'<a href=/x>x</a>'</script>",
        "<!-- <a href=/x>x</a> -->",
        "<textarea><a href=/x>x</a></textarea>",
        "<iframe>x</iframe>",
        "<meta http-equiv=refresh content=5>",
        "<img src=/x srcset='/y 2x'>",
    ],
)
def test_what_leads_to_no_page_is_no_link(source: str) -> None:
    assert found(source) == []


def test_what_is_linked_twice_in_the_same_words_is_kept_once() -> None:
    assert [link.anchor for link in found("<a href=/x>t</a><a href='x/../../x'> t </a><a href=/x>u</a>")] == [
        "t",
        "u",
    ]


def test_broken_markup_keeps_its_links() -> None:
    assert urls("<a href=/1><p><a href='/2'<b>x<a/href=/3>y<A HREF = /4 >") == ["/1", "/2", "/3", "/4"]


def test_character_references_in_links_are_resolved() -> None:
    assert urls("<a href='/x?a=1&amp;b=2&copy=3'>") == ["/x?a=1&b=2&copy=3"]


def test_line_ends_and_spaces_around_a_link_do_not_count() -> None:
    assert urls("<a href=' \n/a\n/b \t'>") == ["/a/b"]


def test_a_link_to_a_part_leads_to_the_page() -> None:
    assert urls("<a href='#top'><a href=''>") == ["/dir/page.html"]


@pytest.mark.parametrize(
    ("source", "base"),
    [
        ("<base href=/b/>", "http://www.example.jp/b/"),
        ("<base target=_top><base href=/b/><base href=/c/>", "http://www.example.jp/b/"),
        ("<base href='http://[bad'><base href=/c/>", URL),
        ("<base href='javascript:x'>", URL),
        ("<base href=//other.example/b>", "http://other.example/b"),
        ("<body><p><base href=/b/>", "http://www.example.jp/b/"),
        ("", URL),
    ],
)
def test_the_first_base_with_an_href_counts(source: str, base: str) -> None:
    assert base_of(Tree(source), URL) == base


def test_a_base_holds_for_the_links_before_it_too() -> None:
    assert urls("<a href=x>1</a><base href=/b/><a href=y>2</a>") == ["/b/x", "/b/y"]


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=x", "x"),
        ("0,url=x", "x"),
        ("0 url=x", "x"),
        ("  7.5.. ;  URL  =  x", "x"),
        (".5;x", "x"),
        ("3;x", "x"),
        ("3 x;url=y", "x;url=y"),
        ("3;;url=x", ";url=x"),
        ("3; url='x'y", "x"),
        ("3; url=\"x'y", "x'y"),
        ('3; "x"y', "x"),
        ("3; url x", "url x"),
        ("3; urlx", "urlx"),
        ("3; ur=x", "ur=x"),
        ("3; url=", ""),
        ("3", ""),
        ("3;", ""),
        ("3 ", ""),
        ("", None),
        ("x", None),
        ("; url=x", None),
        ("+3; url=x", None),
        ("-3; url=x", None),
        ("3x; url=x", None),
        ("3url=x", None),
        ("1e1; url=x", None),
    ],
)
def test_a_refresh_is_read_as_browsers_read_it(content: str, target: str | None) -> None:
    assert refresh_target(content) == target


def test_only_the_first_refresh_that_can_be_read_counts() -> None:
    metas = [f"<meta http-equiv=refresh content='{content}'>" for content in ("x", "1;url=/1", "1;url=/2")]
    assert urls("".join(metas)) == ["/1"]


def test_a_refresh_of_the_page_itself_hides_later_ones() -> None:
    assert urls("<meta http-equiv=refresh content=5><meta http-equiv=refresh content='0;url=/x'>") == []


def test_a_long_anchor_is_cut() -> None:
    assert found(f"<a href=/x>{'word ' * 1_000}</a>")[0].anchor == ("word " * 40).rstrip()
    assert len(found(f"<a href=/x>{'字' * 1_000}</a>")[0].anchor) == ANCHOR_LIMIT_CHARS


def test_a_query_is_spelled_in_the_charset_of_its_page() -> None:
    assert urls("<a href='/日?q=日'>", "Shift_JIS") == ["/%E6%97%A5?q=%93%FA"]
    assert urls("<a href='/日?q=日'>", "UTF-8") == ["/%E6%97%A5?q=%E6%97%A5"]


def test_urls_come_in_order_and_know_whether_rel_lets_us_follow() -> None:
    tree = Tree(
        "<a href=/1 rel=nofollow>1</a><a href=/2>2</a><a href=/3 rel='me nofollow'>3</a><a href=/1>1</a>"
    )
    assert link_urls(tree, "http://a.example/")[0] == {
        "http://a.example/1": True,
        "http://a.example/2": True,
        "http://a.example/3": False,
    }


def test_the_first_canonical_url_is_the_canonical_one() -> None:
    tree = Tree(
        "<link rel=canonical href='mailto:x'><link rel=canonical href=/1><link rel=canonical href=/2>"
    )
    assert link_urls(tree, "http://a.example/")[1] == "http://a.example/1"


@settings(deadline=None)
@given(st.text())
def test_the_quick_way_finds_the_same_urls(source: str) -> None:
    tree = Tree(f"<a href='{source}'>x</a>{source}<a href=/y>")
    assert list(link_urls(tree, base_of(tree, URL))[0]) == list(
        dict.fromkeys(link.url for link in links(tree, URL))
    )
