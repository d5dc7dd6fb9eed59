from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.patterns import is_id, kinds, slots, with_slot
from joro.url import try_canonical

URLS = st.text("abc019/?&=;-_%.", max_size=40).map(lambda tail: try_canonical(f"http://a/{tail}"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a/", ("/*", "/")),
        ("http://a/2026/03/news-5.html", ("/0/*", "/0/0/news-0.html")),
        ("http://a/people/jane-doe", ("/people/*", "/people/w")),
        ("http://a/shop/list?size=m&color=red", ("/shop/*", "/shop/list?", "/shop/list?color&size")),
        ("http://a/x.jsp;jsessionid=AB?n=1", ("/*", "/x.jsp?", "/x.jsp?n")),
        ("http://a/s/0e821ca7113f/page/7", ("/s/*", "/s/x/page/0")),
        ("http://a/wiki/%E3%81%82", ("/wiki/*", "/wiki/w")),
    ],
)
def test_a_url_has_kinds_from_wide_to_narrow(url: str, expected: tuple[str, ...]) -> None:
    assert kinds(url) == expected


def test_a_path_that_repeats_itself_is_one_place_however_long() -> None:
    assert kinds("http://a/box/bag/box/bag/")[-1] == kinds("http://a/box/bag/box/bag/box/box/bag/")[-1]


def test_the_order_and_the_values_of_a_query_make_no_other_kind() -> None:
    assert kinds("http://a/l?x=1&y=2") == kinds("http://a/l?y=3&x=4")


@pytest.mark.parametrize("text", ["0e821ca7113f", "A1B2C3D4E5", "550e8400-e29b-41d4-a716-446655440000"])
def test_session_numbers_look_like_ids(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["2026-01-05", "20260105", "calendar", "page12", "jane-doe", "section3"])
def test_dates_and_names_do_not_look_like_ids(text: str) -> None:
    assert not is_id(text)


def test_slots_are_query_keys_path_parameters_and_ids() -> None:
    url = "http://a/s/0e821ca7113f/x.jsp;jsessionid=AB?sid=1&page=2"
    assert slots(url) == {"/2": "0e821ca7113f", ";jsessionid": "AB", "?sid": "1", "?page": "2"}


def test_a_slot_can_be_taken_out_or_filled_anew() -> None:
    assert with_slot("http://a/x?sid=1&page=2", "?sid", None) == "http://a/x?page=2"
    assert with_slot("http://a/x?sid=1&page=2", "?sid", "7") == "http://a/x?sid=7&page=2"
    assert with_slot("http://a/x.jsp;jsessionid=AB?n=1", ";jsessionid", None) == "http://a/x.jsp?n=1"
    assert with_slot("http://a/s/0e821ca7113f/p", "/2", "0123456789ab") == "http://a/s/0123456789ab/p"


@given(URLS)
def test_any_url_has_kinds_and_any_slot_filled_with_its_own_value_changes_nothing_of_them(
    url: str | None,
) -> None:
    if url is not None:
        assert len(kinds(url)) in (2, 3)
        for slot, value in slots(url).items():
            assert kinds(with_slot(url, slot, value))[0] == kinds(url)[0]
