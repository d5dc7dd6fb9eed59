import can_ada
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request

from joro.portal.address import archive_path, asked_end, asked_time, asked_url, compare_path
from joro.url import try_canonical


@pytest.mark.parametrize(
    ("stamp", "end"),
    [
        ("2026", "20270101000000"),
        ("202612", "20270101000000"),
        ("202402", "20240301000000"),
        ("20240229", "20240301000000"),
        ("2026111623", "20261117000000"),
        ("20261116055500", "20261116055501"),
    ],
)
def test_a_period_is_over_when_the_next_one_begins(stamp: str, end: str) -> None:
    assert asked_end(stamp) == asked_time(end)


def test_the_last_year_never_ends() -> None:
    assert asked_end("9999") == float("inf")


@pytest.mark.parametrize("stamp", ["", "1", "20261", "２０２６", "20260230", "x", "202611160555001"])
def test_what_is_no_time_is_not_found(stamp: str) -> None:
    with pytest.raises(HTTPException):
        asked_time(stamp)


def test_addresses_hold_the_url_as_it_is_or_escaped_in_a_query() -> None:
    assert archive_path("http://a.jp/?x=%41&y", 0.0) == "/archive/19700101000000/http://a.jp/?x=%41&y"
    assert compare_path("http://a.jp/?x&y", 0.0, 1.0) == (
        "/compare?url=http%3A%2F%2Fa.jp%2F%3Fx%26y&from=19700101000000&to=19700101000001"
    )


@given(st.text(alphabet="abc./%2eE5?&=#\\ \"'<>|^`{}[]@:;,~é語", max_size=40))
def test_every_url_comes_back_from_the_address_a_browser_makes_of_it(text: str) -> None:
    url = try_canonical(f"http://a.jp/{text}")
    assert url is not None
    address = can_ada.parse(f"http://portal{archive_path(url, 0.0)}")
    assert address.pathname.startswith("/archive/19700101000000/http://a.jp/")
    scope = {
        "type": "http",
        "path": address.pathname,
        "headers": [],
        "raw_path": address.pathname.encode(),
        "query_string": address.search.removeprefix("?").encode(),
    }
    assert asked_url(Request(scope)) == url
