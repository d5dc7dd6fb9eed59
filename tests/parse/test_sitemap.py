"""Sitemaps of every form are read piece by piece, never whole."""

import gzip
import tracemalloc
from collections.abc import Iterator

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.model import Entry, Response
from joro.parse.sitemap import LIMIT_BYTES, PIECE_BYTES, read_sitemap, sitemap_of, texts, unpacked

URL = "http://a.example/sitemap.xml"
#: 2026-11-16T08:00:10Z
EIGHT = 1_794_816_010.0
DAY_S = 86_400.0
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def read(text: str) -> list[Entry]:
    return list(read_sitemap(text.encode(), URL).entries)


def urlset(body: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NAMESPACE}>{body}</urlset>'


def pages(count: int) -> str:
    return urlset("".join(f"<url><loc>http://a.example/{n}</loc></url>\n" for n in range(count)))


def test_a_page_has_its_last_change_and_two_weak_hints() -> None:
    text = urlset(
        """<url><loc>
        http://a.example/x?a=1&amp;b=2</loc><lastmod>2026-11-16T17:00:10+09:00</lastmod>
        <changefreq>weekly</changefreq><priority>0.8</priority></url><url><loc>/y</loc></url>"""
    )
    assert read_sitemap(text.encode(), URL).kind == "pages"
    assert read(text) == [
        Entry("http://a.example/x?a=1&b=2", EIGHT, every_s=7 * DAY_S, priority=0.8),
        Entry("http://a.example/y"),
    ]


def test_an_index_lists_sitemaps() -> None:
    text = f"""<sitemapindex {NAMESPACE}><sitemap><loc>http://a.example/1.xml</loc><lastmod>2026-11-16T08:00:10Z</lastmod>
    </sitemap><sitemap><loc>http://a.example/2.xml.gz</loc></sitemap></sitemapindex>"""
    assert read_sitemap(text.encode(), URL).kind == "index"
    assert read(text) == [Entry("http://a.example/1.xml", EIGHT), Entry("http://a.example/2.xml.gz")]


@pytest.mark.parametrize("prefix", ["news", "n"])
@pytest.mark.parametrize("on_root", [True, False])
def test_a_news_sitemap_says_when_an_article_was_published(prefix: str, on_root: bool) -> None:
    text = f"""<urlset {NAMESPACE} xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><url>
    <loc>http://a.example/1</loc><news:news><news:publication><news:name>A</news:name></news:publication>
    <news:publication_date>2026-11-16T08:00:10Z</news:publication_date>
    <news:title>An  event</news:title></news:news></url></urlset>"""
    if not on_root:
        declared = ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
        text = text.replace(declared, "").replace("<news:news", f"<news:news{declared}")
    text = text.replace("news:", f"{prefix}:").replace("xmlns:news", f"xmlns:{prefix}")
    assert read(text) == [Entry("http://a.example/1", EIGHT, title="An event", news=True)]


def test_pictures_films_and_translations_are_no_pages() -> None:
    text = urlset(
        """<url><loc>http://a.example/1</loc><image:image><image:loc>http://a.example/i.png</image:loc>
        <image:title>i</image:title></image:image><video:video><video:title>v</video:title>
        <video:publication_date>2020-01-01</video:publication_date></video:video>
        <xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/></url>"""
    )
    assert read(text) == [Entry("http://a.example/1")]


def test_a_sitemap_may_have_a_prefix() -> None:
    text = '<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc><s:lastmod>2026</s:lastmod></s:url></s:urlset>'
    assert read(text) == [Entry("http://a.example/1", 1_767_225_600.0)]


@pytest.mark.parametrize(
    ("written", "time", "span_s"),
    [
        ("2026", 1_767_225_600.0, 0),
        ("2026-11", 1_793_491_200.0, 0),
        ("2026-11-16", 1_794_787_200.0, DAY_S),
        ("2026-11-16T08:00Z", EIGHT - 10, 0),
        ("2026-11-16T08:00:10Z", EIGHT, 0),
        ("2026-11-16T08:00:10.5Z", EIGHT + 0.5, 0),
        ("2026-11-16T03:00:10-05:00", EIGHT, 0),
        (" Mon, 16 Nov 2026 08:00:10 GMT ", EIGHT, 0),
        ("yesterday", None, 0),
        ("", None, 0),
    ],
)
def test_lastmod_is_read_in_all_its_forms(written: str, time: float | None, span_s: float) -> None:
    (entry,) = read(urlset(f"<url><loc>/x</loc><lastmod>{written}</lastmod></url>"))
    assert (entry.time, entry.span_s) == (time, span_s)


@pytest.mark.parametrize(
    ("written", "priority"),
    [("1", 1), ("0.0", 0), (".3", 0.3), ("7", 0.5), ("1.5", 1), ("-1", 0.5), ("nan", 0.5)],
)
def test_priority_lies_between_0_and_1(written: str, priority: float) -> None:
    (entry,) = read(urlset(f"<url><loc>/x</loc><priority>{written}</priority></url>"))
    assert entry.priority == priority


def test_a_text_sitemap_is_a_list_of_lines() -> None:
    text = "\ufeffhttp://a.example/1\r\n\r\n  http://a.example/2  \nnot a URL\nHTTP://A.example/3\nhttp://a.example/4"
    assert read_sitemap(text.encode(), URL, "text/plain").kind == "lines"
    assert [entry.url[-1] for entry in read(text)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("comment", ["<!-- words -->", f"<!--{'words <b>' * 2_000}-->" * 2])
def test_comments_may_come_first_however_long_they_are(comment: str) -> None:
    text = f"<?xml version='1.0'?>{comment}<!-- <urlset> --><sitemapindex><sitemap><loc>/1"
    assert read_sitemap(text.encode(), URL).kind == "index"


def test_a_text_sitemap_may_begin_with_comments() -> None:
    text = "# All pages of a.example\n#\n\n# as of today: http://a.example/0\nhttp://a.example/1\nhttp://a.example/2"
    assert [entry.url[-1] for entry in read(text)] == ["1", "2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Words about http://a.example/\n",
        "# Words\n\nof a file that is no list\nhttp://a.example/\n",
        f"<!-- words -->{'<p>' * 2_000}<urlset>",
        "<html><body>Not found</body></html>",
        '<rss version="2.0"><channel></channel></rss>',
        "User-agent: *\nDisallow: /\n",
        "See http://a.example/ for more",
    ],
)
def test_what_is_no_sitemap_has_no_kind(text: str) -> None:
    assert read_sitemap(text.encode(), URL).kind == ""
    assert read(text) == []


@pytest.mark.parametrize(
    "body",
    [
        "<url><loc>/0</loc></url><url><loc>/1?a&b=1&copy=2</loc></url>",
        "<url><loc>/0</loc><url><loc>/1?a&amp;b=1&amp;copy=2</loc>",
        "<URL><LOC><![CDATA[/0]]></LOC></URL><url><loc>/1?a&#38;b=1&#x26;copy=2</loc></url><url><loc>/cut",
        "<url><loc>/0</loc></url><!-- <url><loc>/no</loc></url> -->"
        "<url><loc>/1?a&b=1&copy=2</loc></url><url><lo",
        "<url><loc>/0</loc></url><url><loc></loc></url><url/><url><loc>ftp://a/</loc></url>"
        "<url><loc>/1?a&b=1&copy=2</loc></url>",
    ],
)
def test_a_broken_sitemap_gives_what_can_be_told(body: str) -> None:
    found = [entry.url.removeprefix("http://a.example") for entry in read(urlset(body)[:-9])]
    assert found == ["/0", "/1?a&b=1&copy=2"]


def test_gzip_comes_off_layer_by_layer_and_member_by_member() -> None:
    text = pages(3).encode()
    members = gzip.compress(text[:100]) + gzip.compress(text[100:])
    for body in (gzip.compress(text), members, gzip.compress(gzip.compress(text))):
        assert len(list(read_sitemap(body, URL).entries)) == 3


def test_a_broken_gzip_gives_what_came_before() -> None:
    body = gzip.compress(pages(20_000).encode())
    found = list(read_sitemap(body[: len(body) // 2], URL).entries)
    assert 5_000 < len(found) < 15_000


@pytest.mark.parametrize("encoding", ["", "gzip", "br"])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_response_is_unwrapped(encoding: str, chunked: bool) -> None:
    text = pages(5).encode()
    body: bytes = {"": text, "gzip": gzip.compress(text), "br": brotli.compress(text)}[encoding]
    if chunked:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    response = Response(200, b"", body, {"content-encoding": encoding} if encoding else {}, chunked=chunked)
    assert len(list(sitemap_of(URL, response).entries)) == 5


@pytest.mark.parametrize("encoding", ["", "br"])
def test_a_long_sitemap_that_came_in_chunks_is_read_to_its_end(encoding: str) -> None:
    plain = pages(120_000).encode()
    assert 4_000_000 < len(plain) < LIMIT_BYTES
    body = brotli.compress(plain, quality=1) if encoding else plain
    frames = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
    sent = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in frames) + b"0\r\n\r\n"
    response = Response(200, b"", sent, {"content-encoding": encoding} if encoding else {}, chunked=True)
    assert sum(1 for _ in sitemap_of(URL, response).entries) == 120_000


@pytest.mark.parametrize("charset", ["utf-16", "cp932", "utf-8-sig"])
def test_a_sitemap_is_read_in_its_charset(charset: str) -> None:
    entry = "<url><loc>/x</loc><news:news><news:title>日本</news:title></news:news></url>"
    text = f'<?xml version="1.0" encoding="shift_jis"?><urlset>{entry * 2_000}</urlset>'
    titles = [entry.title for entry in read_sitemap(text.encode(charset), URL).entries]
    assert titles == ["日本"] * 2_000


def peak_bytes(size: int) -> int:
    """Memory needed to read a gzipped sitemap of some size, all its entries counted."""
    line = f"<url><loc>http://a.example/{'x' * 930}</loc></url>\n".encode()
    body = gzip.compress(f"<urlset {NAMESPACE}>".encode() + line * (size // len(line)), 1)
    tracemalloc.start()
    count = sum(1 for _ in read_sitemap(body, URL).entries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == size // len(line)
    return peak


def test_a_longer_sitemap_takes_no_more_memory() -> None:
    assert peak_bytes(4_000_000) < peak_bytes(1_000_000) + 100_000


@pytest.mark.slow
def test_fifty_megabytes_take_a_megabyte_and_a_half() -> None:
    assert peak_bytes(LIMIT_BYTES - 1_000) < 1_500_000


def test_a_gzip_bomb_ends_at_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(bytes(LIMIT_BYTES + 999), 1))
    assert sum(map(len, unpacked(bomb))) == LIMIT_BYTES


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=300),
    st.integers(1, 50),
)
def test_pieces_of_text_put_together_are_the_text(text: str, size: int) -> None:
    body = ("x" * PIECE_BYTES + text).encode()
    cut: Iterator[bytes] = (body[start : start + size * 1_000] for start in range(0, len(body), size * 1_000))
    assert "".join(texts(cut, URL, "text/plain; charset=utf-8")) == body.decode()


PARTS = [
    *(
        "<urlset>",
        "<sitemapindex>",
        "<url>",
        "</url>",
        "<sitemap>",
        "<loc>",
        "</loc>",
        "http://a.example/1",
        "<lastmod>",
    ),
    *(
        "2026-11-16",
        "</lastmod>",
        "<priority>",
        "0.5",
        "</priority>",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "&",
        "\n",
        "<",
        ">",
    ),
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PARTS) | st.text(max_size=5)),
    st.sampled_from(["<urlset>", "http://a.example/\n", ""]),
)
def test_no_sitemap_is_too_broken(parts: list[str], root: str) -> None:
    assert all(entry.url.startswith(("http://", "https://")) for entry in read(root + "".join(parts)))


@settings(deadline=None)
@given(
    st.binary(), st.sampled_from([b"", b"<urlset>", b"\x1f\x8b\x08\x00", gzip.compress(b"<urlset>" * 9)[:-9]])
)
def test_no_bytes_are_too_strange(content: bytes, start: bytes) -> None:
    list(read_sitemap(start + content, URL).entries)
