"""From bytes to what robot and indexer need, whatever the bytes are."""

import gzip

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from joro.model import Document, Link, Response
from joro.parse.outline import Outline
from joro.parse.page import document, outline, outline_of

URL = "http://www.example.jp/dir/"

PAGE = """<!DOCTYPE html><html lang=ja><head><meta charset=Shift_JIS><title>資料 の 一覧</title>
<meta name=robots content=noarchive><link rel=canonical href=/c></head>
<body><p>研究の記録①です。</p><a href=x>次へ</a> <a href=y rel=nofollow>広告</a></body></html>""".encode(
    "cp932"
)


def test_an_outline_has_what_the_robot_needs() -> None:
    assert outline(PAGE, URL, "text/html", "noindex") == Outline(
        links=[f"{URL}x", f"{URL}y", "http://www.example.jp/c"],
        nofollow=frozenset({f"{URL}y"}),
        directives=frozenset({"noarchive", "noindex"}),
        title="資料 の 一覧",
        canonical="http://www.example.jp/c",
        base=URL,
        charset="Shift_JIS",
    )


def test_links_marked_nofollow_are_known_but_not_to_be_followed() -> None:
    assert outline(PAGE, URL, "text/html").to_follow == [f"{URL}x", "http://www.example.jp/c"]


@pytest.mark.parametrize("word", ["nofollow", "none", "joro: nofollow"])
def test_a_page_may_ask_that_none_of_its_links_be_followed(word: str) -> None:
    found = outline(PAGE, URL, "text/html", word)
    assert not found.follow
    assert found.to_follow == []
    assert len(found.links) == 3


def test_a_document_has_what_the_indexer_needs() -> None:
    assert document(PAGE, URL, "text/html") == Document(
        url=URL,
        title="資料 の 一覧",
        text="研究の記録①です。\n次へ 広告",
        charset="Shift_JIS",
        language="ja",
        links=(
            Link(f"{URL}x", "次へ", "", "a"),
            Link(f"{URL}y", "広告", "nofollow", "a"),
            Link("http://www.example.jp/c", "", "canonical", "canonical"),
        ),
        directives=frozenset({"noarchive"}),
    )


def test_plain_text_is_its_own_document() -> None:
    found = document("研究の記録です。\n<b>".encode("euc_jp"), URL, "text/plain; charset=euc-jp")
    assert (found.text, found.language, found.title, found.links) == ("研究の記録です。\n<b>", "ja", "", ())


def test_what_is_no_text_is_an_empty_document_and_has_no_links() -> None:
    assert document(b"%PDF <a href=x>", URL, "application/pdf", "noindex").text == ""
    assert document(b"%PDF <a href=x>", URL, "application/pdf", "noindex").directives == {"noindex"}
    assert outline(b"%PDF <a href=x>", URL, "application/pdf").links == []


def test_a_page_without_a_media_type_is_recognised() -> None:
    assert outline(b"<html><a href=x>", URL, "").links == [f"{URL}x"]


def test_a_response_is_unwrapped_first() -> None:
    body = gzip.compress(PAGE)
    headers = {"content-type": "text/html", "content-encoding": "gzip", "x-robots-tag": "nofollow"}
    found = outline_of(URL, Response(200, b"", body, headers))
    assert found.title == "資料 の 一覧"
    assert not found.follow


@pytest.mark.parametrize(
    ("location", "urls"), [("/new#part", ["http://www.example.jp/new"]), ("mailto:x", []), ("", [])]
)
def test_a_redirect_is_a_page_with_one_link(location: str, urls: list[str]) -> None:
    headers = {"content-type": "text/html", "location": location}
    assert outline_of(URL, Response(302, b"", b"<a href=x>", headers)).links == urls


def test_an_encoding_still_on_is_not_read_as_a_page() -> None:
    headers = {"content-type": "text/html", "content-encoding": "rot13"}
    assert outline_of(URL, Response(200, b"", b"\x00<a href=x>", headers)).links == []
    assert outline_of(URL, Response(200, b"", b"<html><a href=x>", headers)).links == [f"{URL}x"]


MARKUP = st.lists(
    st.sampled_from(
        [b"<a href=x>", b"<table>", b"</b>", b"<b>", b"<p>", b"<svg>", b"<base href=", b"<meta ", b"'"]
    )
    | st.binary(max_size=20)
).map(b"".join)


@settings(deadline=None)
@given(
    MARKUP, st.sampled_from(["", "text/html", "text/html; charset=iso-2022-jp", "text/plain", "x"]), st.text()
)
@example(b"\xfe\xff<", "text/html", "")
def test_no_bytes_make_it_raise(octets: bytes, content_type: str, x_robots: str) -> None:
    read = document(octets, URL, content_type, x_robots)
    seen = outline(octets, URL, content_type, x_robots)
    assert seen.links == list(dict.fromkeys(link.url for link in read.links))
    assert seen.directives == read.directives


@settings(deadline=None)
@given(
    st.binary(), st.dictionaries(st.sampled_from(["content-type", "content-encoding", "location"]), st.text())
)
def test_no_response_makes_it_raise(body: bytes, headers: dict[str, str]) -> None:
    assert isinstance(
        outline_of(URL, Response(302 if "location" in headers else 200, b"", body, headers)), Outline
    )


def test_feeds_are_named_only_when_asked_for() -> None:
    page = b"<link rel=alternate type=application/rss+xml href=/feed.xml><p>x"
    assert outline(page, URL, "text/html", feeds=True).feeds == ["http://www.example.jp/feed.xml"]
    assert outline(page, URL, "text/html").feeds == []
