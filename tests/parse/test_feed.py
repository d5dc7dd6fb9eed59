"""Feeds of every dialect are read, broken ones too; nothing else is taken for one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.model import Entry, PollHints
from joro.parse.feed import ENTRY_LIMIT, NO_FEED, Feed, declared_feeds, read_feed
from joro.parse.html import Tree

URL = "http://a.example/news/feed.xml"
#: 2026-11-16T08:00:10Z
EIGHT = 1_794_816_010.0


def read(text: str) -> Feed:
    return read_feed(text.encode(), URL)


def urls(feed: Feed) -> list[str]:
    return [entry.url.removeprefix("http://a.example") for entry in feed.entries]


def rss(body: str, head: str = "") -> str:
    return f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{head}{body}</channel></rss>'


def entry(inside: str) -> Entry:
    (only,) = read(rss(f"<item>{inside}</item>")).entries
    return only


FIVE = "".join(f"<item><title>T{n}</title><link>http://a.example/{n}</link></item>" for n in range(5))


def test_rss_2() -> None:
    feed = read(
        rss(
            """<item><title>First &amp; last</title><link> http://a.example/1 </link><description>
            &lt;p&gt;Hello</description><guid isPermaLink="false">x17</guid>
            <pubDate>Mon, 16 Nov 2026 08:00:10 GMT</pubDate></item><item><link>2.html</link></item>""",
            "<title>News</title><link>http://a.example/</link>",
        )
    )
    assert (feed.kind, feed.title, feed.site) == ("rss", "News", "http://a.example/")
    assert feed.entries == (
        Entry("http://a.example/1", EIGHT, title="First & last", id="x17"),
        Entry("http://a.example/news/2.html"),
    )


def test_rss_1_lists_its_items_beside_the_channel() -> None:
    feed = read(
        """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://purl.org/rss/1.0/" xmlns:d="http://purl.org/dc/elements/1.1/">
        <channel rdf:about="http://a.example/"><title>C</title><link>http://a.example/</link>
        <items><rdf:Seq><rdf:li rdf:resource="http://a.example/1"/></rdf:Seq></items></channel>
        <item rdf:about="http://a.example/1"><title>One</title><link>http://a.example/1</link>
        <d:date>2026-11-16T17:00:10+09:00</d:date></item>
        <item rdf:about="http://a.example/2"><title>Two</title></item></rdf:RDF>"""
    )
    assert (feed.kind, feed.title, urls(feed)) == ("rdf", "C", ["/1", "/2"])
    assert feed.entries[0] == Entry("http://a.example/1", EIGHT, title="One", id="http://a.example/1")


def test_rss_0_91_has_a_doctype_and_no_dates() -> None:
    text = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">'
    feed = read(f'<?xml version="1.0"?>{text}<rss version="0.91"><channel>{FIVE}</channel></rss>')
    assert [entry.time for entry in feed.entries] == [None] * 5


def test_rss_0_90_is_rdf_with_a_namespace_of_its_own() -> None:
    feed = read(
        f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns="http://my.netscape.com/rdf/simple/0.9/"><channel/>{FIVE}</rdf:RDF>"""
    )
    assert (feed.kind, len(feed.entries)) == ("rdf", 5)


ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>A</title>
<link rel="self" href="http://a.example/atom"/><link href="http://a.example/"/>
<link rel="next" href="?page=2"/><updated>2026-11-16T09:00:00Z</updated>
<entry><title type="xhtml"><div>An <b>entry</b></div></title><id>tag:a.example,2026:1</id>
<link rel="edit" href="/edit"/><link rel="alternate" type="application/json" href="/1.json"/>
<link rel="alternate" type="text/html" href="/1"/><published>2026-11-01T00:00:00Z</published>
<updated>2026-11-16T08:00:10Z</updated>
<source><title>Other</title><link href="http://b.example/"/><updated>2020-01-01T00:00:00Z</updated></source>
<content type="xhtml"><div><a href="/no">no</a><link href="/no"/><updated>2001-01-01</updated></div></content>
</entry></feed>"""


def test_atom() -> None:
    feed = read(ATOM)
    assert (feed.kind, feed.title, feed.site) == ("atom", "A", "http://a.example/")
    assert feed.more == "http://a.example/news/feed.xml?page=2"
    assert feed.entries == (Entry("http://a.example/1", EIGHT, title="An entry", id="tag:a.example,2026:1"),)


def test_atom_under_a_prefix_is_still_atom() -> None:
    text = (
        ATOM.replace("<", "<x:").replace("<x:/", "</x:").replace("<x:?", "<?").replace("xmlns=", "xmlns:x=")
    )
    assert read(text) == read(ATOM)


def test_atom_0_3_calls_its_dates_otherwise() -> None:
    feed = read(
        """<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><link rel="alternate" href="/1"/>
        <issued>2026-11-01</issued><modified>2026-11-16T08:00:10Z</modified></entry></feed>"""
    )
    assert feed.entries == (Entry("http://a.example/1", EIGHT),)


def test_links_of_atom_are_relative_to_xml_base() -> None:
    feed = read(
        """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.example/x/"><entry>
        <link href="1"/></entry><entry xml:base="y/"><link href="2"/></entry></feed>"""
    )
    assert [entry.url for entry in feed.entries] == ["http://b.example/x/1", "http://b.example/x/y/2"]


def test_json_feed() -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "J",
        "home_page_url": "/",
        "next_url": "?2",
        "items": [
            {"id": 1, "url": "/1", "title": "One", "date_published": "2026-11-16T08:00:10Z"},
            {"id": "2", "external_url": "http://b.example/2", "date_modified": "2026-11-16"},
            {"id": "http://a.example/3"},
            {"id": "4"},
            "five",
        ],
    }
    assert read("\ufeff" + json.dumps(feed)) == Feed(
        kind="json",
        title="J",
        site="http://a.example/",
        more="http://a.example/news/feed.xml?2",
        entries=(
            Entry("http://a.example/1", EIGHT, title="One", id="1"),
            Entry("http://b.example/2", EIGHT - 28_810, span_s=86_400, id="2"),
            Entry("http://a.example/3", id="http://a.example/3"),
        ),
    )


@pytest.mark.parametrize(
    ("inside", "url"),
    [
        ("<guid>http://a.example/g</guid>", "/g"),
        ("<link/><guid isPermaLink='true'>http://a.example/g</guid>", "/g"),
        ("<link>http://a.example/l</link><guid>http://a.example/g</guid>", "/l"),
        ("<link>http://r.example/</link><feedburner:origLink>http://a.example/o</feedburner:origLink>", "/o"),
        ("<atom:link href='http://a.example/l'/>", "/l"),
        ("<link><![CDATA[http://a.example/?a=1&b=2]]></link>", "/?a=1&b=2"),
        ("<link>http://a.example/?a=1&copy=2</link>", "/?a=1&copy=2"),
        ("<media:title>m</media:title><link>http://a.example/l</link><media:content url='/m'/>", "/l"),
    ],
)
def test_an_entry_leads_where_it_says_best(inside: str, url: str) -> None:
    assert entry(inside).url == f"http://a.example{url}"


@pytest.mark.parametrize(
    "inside",
    ["<title>x</title>", "<guid isPermaLink='false'>http://a.example/</guid>", "<link>mailto:a</link>"],
)
def test_an_entry_that_leads_nowhere_is_none(inside: str) -> None:
    assert read(rss(f"<item>{inside}</item>")).entries == ()


@pytest.mark.parametrize(
    ("head", "hints"),
    [
        ("<ttl>90</ttl>", PollHints(least_s=5_400)),
        ("<ttl>0</ttl>", PollHints()),
        ("<ttl>never</ttl>", PollHints()),
        ("<ttl>999999999</ttl>", PollHints(least_s=30 * 86_400)),
        (
            "<sy:updatePeriod> daily </sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
            PollHints(21_600),
        ),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", PollHints(least_s=3_600)),
        (
            "<skipHours><hour>0</hour><hour>24</hour><hour>13</hour></skipHours>",
            PollHints(0, frozenset({0, 13})),
        ),
        (
            "<skipDays><day>Saturday</day><day>Sunday</day></skipDays>",
            PollHints(0, frozenset(), frozenset({5, 6})),
        ),
    ],
)
def test_hints_say_when_to_come_again(head: str, hints: PollHints) -> None:
    assert read(rss(FIVE, head)).hints == hints


BREAKAGE = {
    "bare ampersand": FIVE.replace("T1", "this & that"),
    "entity of HTML": FIVE.replace("T1", "a&nbsp;b"),
    "unknown entity": FIVE.replace("T1", "a&foo;b"),
    "open tag inside": FIVE.replace("T1", "a<br>b"),
    "stray less-than": FIVE.replace("T1", "a < b"),
    "control character": FIVE.replace("T1", "a\x0bb"),
    "wrong end tag": FIVE.replace("T1</title>", "T1</titel>"),
    "entry left open": FIVE.replace("</item>", ""),
    "field left open": FIVE.replace("</title>", ""),
    "end tag with a blank": FIVE.replace("<title>", "<description>d</description><title>").replace(
        "</description>", "</description >", 1
    ),
    "undeclared prefix": FIVE.replace("<title>T1", "<x:y>z</x:y><title>T1"),
    "comment with an entry": FIVE + "<!-- <item><link>http://a.example/no</link></item> -->",
    "unescaped HTML": FIVE.replace(
        "T1</title>", "T1</title><description><p>a<a href=x>b<link>c</description>"
    ),
}


@pytest.mark.parametrize("body", BREAKAGE.values(), ids=BREAKAGE)
def test_a_broken_feed_gives_all_its_entries(body: str) -> None:
    assert urls(read(rss(body))) == ["/0", "/1", "/2", "/3", "/4"]


def test_a_cut_feed_gives_what_came() -> None:
    assert urls(read(rss(FIVE)[:200])) == ["/0", "/1"]


def test_entries_without_a_feed_around_them_are_read() -> None:
    assert len(read(FIVE).entries) == 5
    assert urls(read("<entry><link href='/1'/></entry>")) == ["/1"]


def test_warnings_before_a_feed_are_passed_over() -> None:
    assert len(read(f"\n<br />\n<b>Warning</b>: x in a.php on line 3<br />\n{rss(FIVE)}").entries) == 5


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (
            b'<?xml version="1.0" encoding="Shift_JIS"?>' + rss(FIVE.replace("T1", "日本語")).encode("cp932"),
            "",
        ),
        (rss(FIVE.replace("T1", "日本語")).encode("euc-jp"), "text/xml; charset=euc-jp"),
        (rss(FIVE.replace("T1", "日本語")).encode("utf-16"), ""),
        (rss(FIVE.replace("T1", "日本語")).encode(), "application/rss+xml"),
    ],
)
def test_a_feed_is_read_in_its_own_charset(content: bytes, content_type: str) -> None:
    assert read_feed(content, URL, content_type).entries[1].title == "日本語"


def test_bytes_of_the_wrong_charset_cost_a_title_and_no_entry() -> None:
    feed = read_feed(
        rss(FIVE.replace("T1", "café")).encode("latin-1"),
        URL,
        "text/xml; charset=utf-8",
    )
    assert len(feed.entries) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!DOCTYPE html><html><title>x</title><link rel=alternate href=/a><rss><item><link>/b</link></html>",
        "<html><body><feed><entry><link href='/a'/></entry></feed></body></html>",
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>/a</loc></url></urlset>',
        '{"items": [{"url": "/a"}]}',
        '{"version": "https://jsonfeed.org/version/1"',
        "[" * 100_000,
        '{"a":' * 100_000,
        "plain words",
    ],
)
def test_what_is_no_feed_is_none(text: str) -> None:
    assert read(text) == NO_FEED


def test_an_entity_bomb_stays_unlit() -> None:
    declared = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE rss [<!ENTITY e0 "ha">{declared}]><rss><channel><item><title>&e9;</title>'
    feed = read(f'<?xml version="1.0"?>{bomb}<link>http://a.example/1</link></item></channel></rss>')
    assert feed.entries == (Entry("http://a.example/1", title="&e9;"),)


def test_a_feed_has_no_more_entries_than_the_limit() -> None:
    endless = "".join(f"<item><link>/{n}</link></item>" for n in range(ENTRY_LIMIT + 100))
    assert len(read(rss(endless)).entries) == ENTRY_LIMIT


def test_a_page_listed_twice_is_one_entry() -> None:
    assert urls(read(rss(FIVE + FIVE))) == ["/0", "/1", "/2", "/3", "/4"]


def test_a_page_names_its_feeds() -> None:
    page = """<link rel="alternate" type="application/rss+xml" href="/feed"><link rel=stylesheet href=/s>
    <link rel="Alternate Home" type="Application/Atom+XML; charset=x" href="atom">
    <link rel=alternate hreflang=de href=/de>
    <link rel=alternate type=application/rss+xml href=/feed>
    <link rel=alternate type=application/feed+json href=//b.example/j>
    <link rel="alternate nofollow" type=application/rss+xml href=/private>
    <link rel=alternate type=application/rss+xml href=javascript:x>"""
    assert declared_feeds(Tree(page), "http://a.example/x/") == [
        "http://a.example/feed",
        "http://a.example/x/atom",
        "http://b.example/j",
    ]


PARTS = [
    *(
        "<rss>",
        "<channel>",
        "<item>",
        "</item>",
        "<entry>",
        "</entry>",
        "<link>",
        "</link>",
        "<link href='/x'/>",
    ),
    *(
        "http://a.example/1",
        "<title>",
        "</title>",
        "<guid isPermaLink='false'>",
        "<updated>",
        "2026-11-16",
        "<ttl>",
        "9",
    ),
    *(
        "<!DOCTYPE a [",
        "]>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?",
        "&",
        "&amp;",
        "<description>",
        "xmlns:a='b'",
        "<",
        ">",
    ),
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PARTS) | st.text(max_size=5)),
    st.sampled_from(["<rss>", "<feed>", "<rdf:RDF>", ""]),
)
def test_no_feed_is_too_broken(parts: list[str], root: str) -> None:
    feed = read(root + "".join(parts))
    assert all(found.url.startswith(("http://", "https://")) for found in feed.entries)


@settings(deadline=None)
@given(st.binary())
def test_no_bytes_are_too_strange(content: bytes) -> None:
    for start in (b"", b"<rss>", b"<feed ", b'{"version":"https://jsonfeed.org/version/1","items":['):
        assert read_feed(start + content, URL).kind in ("", "rss", "atom", "json")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "id", "title", "x"]), inner)
    ),
    max_leaves=10,
)


@given(JSON)
def test_no_json_is_too_strange(items: object) -> None:
    text = json.dumps({"version": "https://jsonfeed.org/version/1", "items": items, "title": items})
    assert read(text).kind == "json"
