import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.model import Response
from joro.parse.rights import (
    NO_RESERVATION,
    NO_TERMS,
    Purpose,
    Rights,
    TermsBook,
    may,
    page_rights,
    rights_in,
    terms_in,
)

URL = "https://a.example/docs/page.html"


def response(html: str = "<p>text", mime: str = "text/html; charset=utf-8", **fields: str) -> Response:
    headers = {"content-type": mime} | {name.replace("_", "-"): value for name, value in fields.items()}
    return Response(200, b"", html.encode(), headers)


def free(rights: Rights) -> set[str]:
    return {purpose.value for purpose in Purpose if may(rights, purpose)}


ALL = {purpose.value for purpose in Purpose}


def test_who_says_nothing_reserves_nothing() -> None:
    assert rights_in(URL, response()) is NO_RESERVATION
    assert free(NO_RESERVATION) == ALL


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ("noindex", {"search", "snippet"}),
        ("nosnippet", {"snippet"}),
        ("max-snippet: 0", {"snippet"}),
        ("max-snippet: 20", set()),
        ("noarchive", {"replay", "export"}),
        ("nocache", {"replay", "export"}),
        ("noai", {"analysis", "training"}),
        ("noimageai", set()),
        ("none", {"search", "snippet"}),
        ("nofollow", set()),
    ],
)
def test_page_and_header_say_the_same(said: str, lost: set[str]) -> None:
    assert free(rights_in(URL, response(x_robots_tag=said))) == ALL - lost
    assert free(rights_in(URL, response(f'<meta name=robots content="{said}">'))) == ALL - lost


def test_a_word_for_another_robot_is_not_for_us() -> None:
    assert rights_in(URL, response(x_robots_tag="otherbot: noarchive")) == NO_RESERVATION
    assert rights_in(URL, response("<meta name=otherbot content=noarchive>")) == NO_RESERVATION
    assert str(rights_in(URL, response(x_robots_tag="joro: noarchive"))) == "noarchive"
    assert str(rights_in(URL, response("<meta name=Joro content=noarchive>"))) == "noarchive"


def test_noimageai_said_of_an_image_forbids_analysis() -> None:
    image = response("", "image/png", x_robots_tag="noimageai")
    assert free(rights_in("https://a.example/x.png", image)) == ALL - {"analysis", "training"}


def test_mining_reserved_in_a_header_names_its_policy() -> None:
    rights = rights_in(URL, response(tdm_reservation="1", tdm_policy="https://a.example/terms"))
    assert rights == Rights(frozenset({"tdm"}), "https://a.example/terms")
    assert free(rights) == ALL - {"analysis", "training"}


def test_the_page_is_heard_before_the_header_and_the_header_before_the_file() -> None:
    file = terms_in(tdmrep=json.dumps([{"location": "/", "tdm-reservation": 1}]).encode())
    assert "tdm" in rights_in(URL, response(), file).reserved
    assert "tdm" not in rights_in(URL, response(tdm_reservation="0"), file).reserved
    page = '<meta name="TDM-Reservation" content="1">'
    assert "tdm" in rights_in(URL, response(page, tdm_reservation="0"), file).reserved


@pytest.mark.parametrize(
    ("location", "is_reserved"),
    [
        ("/", True),
        ("/docs/", True),
        ("docs/", True),
        ("/docs/*.html$", True),
        ("/docs/*.pdf$", False),
        ("/docs/page.htm$", False),
        ("*page*", True),
        ("/other/", False),
    ],
)
def test_locations_match_as_in_robots_txt(location: str, is_reserved: bool) -> None:
    terms = terms_in(tdmrep=json.dumps([{"location": location, "tdm-reservation": 1}]).encode())
    assert ("tdm" in rights_in(URL, response(), terms).reserved) is is_reserved


def test_the_first_location_that_fits_decides() -> None:
    rules = [{"location": "/docs/", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]
    terms = terms_in(tdmrep=json.dumps(rules).encode())
    assert rights_in(URL, response(), terms) == NO_RESERVATION
    assert str(rights_in("https://a.example/", response(), terms)) == "tdm"


@pytest.mark.parametrize(
    "nonsense", [b"{", b"[[[[", b"[" * 100_000, b'[1, {"location": 2}]', b"\xff\xfe", b"{}"]
)
def test_a_file_of_nonsense_reserves_nothing(nonsense: bytes) -> None:
    assert rights_in(URL, response(), terms_in(nonsense, nonsense)) == NO_RESERVATION


def test_a_location_of_many_asterisks_costs_no_time() -> None:
    rules = [{"location": "/" + "*a" * 500 + "b$", "tdm-reservation": 1}]
    terms = terms_in(tdmrep=json.dumps(rules).encode())
    assert rights_in("https://a.example/" + "a" * 2_000, response(), terms) == NO_RESERVATION


def test_signals_of_robots_txt_are_for_the_group_that_names_us() -> None:
    robots = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\n"
    assert str(rights_in(URL, response(), terms_in(robots))) == "notrain"
    robots += b"User-agent: other\nUser-agent: Joro\nContent-Signal: search=no, ai-input=no\n"
    assert str(rights_in(URL, response(), terms_in(robots))) == "noinput nosearch"


def test_a_signal_in_the_header_is_heard_before_robots_txt() -> None:
    terms = terms_in(b"Content-Signal: search=no, ai-train=no # all of it\n")
    rights = rights_in(URL, response(content_signal="search=yes"), terms)
    assert str(rights) == "notrain"
    assert free(rights) == ALL - {"training"}


def test_what_is_said_twice_counts_as_no() -> None:
    assert str(rights_in(URL, response(content_signal="ai-input=no, ai-input=yes"))) == "noinput"


def test_the_indexers_way_finds_what_the_plain_way_finds() -> None:
    html = '<meta name="tdm-reservation" content="1"><meta name="robots" content="noarchive">'
    answer = response(html)
    assert page_rights(URL, answer.headers, {"noarchive"}, html.encode()) == rights_in(URL, answer)


def test_rights_read_back_as_they_were_written() -> None:
    rights = Rights(frozenset({"tdm", "noarchive"}))
    assert str(rights) == "noarchive tdm"
    assert Rights.read(str(rights)) == rights
    assert Rights.read("something newer") == NO_RESERVATION


def test_a_server_without_a_word_has_no_terms() -> None:
    assert terms_in() is NO_TERMS


def test_a_book_of_terms_asks_once_for_each_server() -> None:
    asked: list[str] = []

    def archived(url: str) -> bytes:
        asked.append(url)
        return b"Content-Signal: search=no" if url == "http://a.example/robots.txt" else b""

    book = TermsBook(archived)
    assert [str(rights_in(url, response(), book.of(url))) for url in ("http://a.example/1", URL)] == [
        "nosearch",
        "",
    ]
    assert str(rights_in(URL, response(), book.of("http://a.example/2"))) == "nosearch"
    assert len(asked) == 4


def test_a_newer_file_replaces_its_own_words_only() -> None:
    book = TermsBook(lambda url: b"Content-Signal: search=no" if url.endswith("robots.txt") else b"")
    book.of(URL)
    book.learn("https://a.example/.well-known/tdmrep.json", b'[{"location": "/", "tdm-reservation": 1}]')
    assert str(rights_in(URL, response(), book.of(URL))) == "nosearch tdm"
    book.learn("https://a.example/robots.txt", b"")
    assert str(rights_in(URL, response(), book.of(URL))) == "tdm"


@given(st.binary(max_size=300), st.binary(max_size=300), st.text(max_size=100))
def test_no_bytes_at_all_make_it_fail(robots: bytes, tdmrep: bytes, html: str) -> None:
    answer = response(html, content_signal=html, tdm_reservation=html, x_robots_tag=html)
    assert free(rights_in(URL, answer, terms_in(robots, tdmrep))) <= ALL
