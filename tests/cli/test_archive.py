"""`joro archive list`: why nothing is shown of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.store.collection import Collection
from joro.store.orders import EXCLUSION, TAKEDOWN, Order, OrderBook
from tests.index.archived import START, archive, collection_in, page
from tests.test_takedown import joro

KNOWN, NEVER = "http://a.example/", "http://a.example/never"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = collection_in(tmp_path)
    archive(made, page(KNOWN, "A", "words"), page(KNOWN, "A", "other words", time=START + 9))
    return made


def ordered(collection: Collection, act: str, until: float | None = None) -> None:
    order = Order(0, act, "host", "a.example", 0.0, until=until)
    OrderBook(collection.orders, FakeClock(START).now).give(order)


def said(collection: Collection, *words: str) -> str:
    answered = joro("archive", "list", "-C", collection.path, *words)
    assert answered.returncode == 2
    return answered.stderr


def test_limits_that_leave_out_every_version_are_named(collection: Collection) -> None:
    for limit in (("--status", "404"), ("--since", "2100"), ("--until", "2020")):
        out = said(collection, KNOWN, *limit)
        assert f"no capture of {KNOWN} was found; see whether --by, --since, --until and --status" in out


def test_an_order_is_named_only_by_what_it_hides(collection: Collection) -> None:
    ordered(collection, TAKEDOWN, until=START + 5)
    assert "is not shown: order 1" in said(collection, KNOWN, "--until", "2026-11-16T05:55:05")
    assert "no capture of" in said(collection, KNOWN, "--since", "2100")
    assert "is not in the archive; collect it" in said(collection, NEVER)


@pytest.mark.parametrize("act", [EXCLUSION, TAKEDOWN])
def test_a_page_never_collected_that_must_not_be_is_not_called_hidden(
    collection: Collection, act: str
) -> None:
    ordered(collection, act)
    out = said(collection, NEVER)
    assert f"is not in the archive, and must not be visited: order 1 ({act} of host a.example)" in out
