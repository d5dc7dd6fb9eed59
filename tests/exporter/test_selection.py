from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.errors import UsageError
from joro.exporter.selection import Chooser, Selection
from joro.parse.rights import Purpose
from joro.store.collection import Collection
from joro.store.orders import TAKEDOWN, Order, OrderBook
from tests.exporter.exports import DAY_S, filled
from tests.index.archived import START

A, SAME, B, MINE, GONE = (
    "http://www.a.jp/",
    "http://www.a.jp/same",
    "http://b.example/",
    "http://b.example/mine",
    "http://b.example/gone",
)


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return filled(tmp_path)


def chosen(collection: Collection, **wish: object) -> list[str]:
    chooser = Chooser(collection, Selection(**wish), FakeClock(START))  # type: ignore[arg-type]
    return [found.capture.url for each in chooser.captures() if (found := chooser.chosen(each)) is not None]


def test_everything_but_what_its_owner_reserves(collection: Collection) -> None:
    assert chosen(collection) == [B, GONE, MINE, A, SAME, SAME, SAME]


def test_a_purpose_may_be_reserved_too(collection: Collection) -> None:
    assert MINE not in chosen(collection, purpose=Purpose.ANALYSIS)


def test_hosts_by_regular_expression(collection: Collection) -> None:
    assert set(chosen(collection, host=r"\.jp$")) == {A, SAME}
    assert chosen(collection, host=r"^a\.jp$") == []
    with pytest.raises(UsageError, match="is no regular expression"):
        chosen(collection, host="(")


def test_dates_include_the_first_moment_and_not_the_last(collection: Collection) -> None:
    assert chosen(collection, since=START + DAY_S, until=START + 2 * DAY_S) == [B, SAME]


def test_languages(collection: Collection) -> None:
    assert set(chosen(collection, languages=("ja",))) == {A, SAME}
    assert B in chosen(collection, languages=("en",))


def test_pages_that_a_query_found(collection: Collection) -> None:
    assert chosen(collection, urls=(B, SAME)) == [B, SAME, SAME, SAME]
    assert chosen(collection, urls=()) == []


def test_what_an_order_withholds_is_not_there(collection: Collection) -> None:
    OrderBook(collection.orders, lambda: START).give(Order(0, TAKEDOWN, "host", "www.a.jp", 0.0))
    assert set(chosen(collection)) == {B, GONE, MINE}


def test_why_something_was_left_out_is_counted(collection: Collection) -> None:
    chooser = Chooser(collection, Selection(languages=("ja",)), FakeClock(START))
    for capture in chooser.captures():
        chooser.chosen(capture)
    assert chooser.left_out == {"reserved by its owner": 1, "another language": 3}
