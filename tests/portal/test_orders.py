from pathlib import Path

import pytest

from joro.indexer import index_new
from joro.portal.web import application
from joro.store.collection import Collection
from joro.store.orders import EMBARGO, LIFT, TAKEDOWN, Order, OrderBook
from tests.index.archived import START, answer, archive, collection_in, page
from tests.portal.conftest import Ask, ask

SECRET = "PersonalSecret"


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = collection_in(tmp_path)
    archive(
        made,
        page("http://gone.example/", SECRET, f"{SECRET} words"),
        page("http://stays.example/", "Title", "public words"),
        answer("http://stays.example/private", "<p>words", fields="X-Robots-Tag: noarchive\r\n"),
    )
    index_new(made)
    return made


@pytest.fixture
def get(collection: Collection) -> Ask:
    app = application(collection)
    return lambda target: ask(app, target)


def give(collection: Collection, act: str = TAKEDOWN, **other: float) -> OrderBook:
    book = OrderBook(collection.orders, lambda: START)
    book.give(Order(0, act, "host", "gone.example", 0.0, **other))  # type: ignore[arg-type]
    return book


#: Every address at which a page of a host can show.
ADDRESSES = [
    "/search?q=words",
    "/api/search?q=words",
    "/archive/2026/http://gone.example/",
    "/archive/*/http://gone.example/",
    "/archive/20261116055500/http://gone.example/",
    "/replay/20261116055500/http://gone.example/",
    "/raw/20261116055500/http://gone.example/",
    "/timemap/link/http://gone.example/",
    "/timemap/json/http://gone.example/",
    "/timegate/http://gone.example/",
    "/api/captures?url=http://gone.example/",
    "/api/captures?url=http://gone.example/&matchType=host",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_portal_that_is_running_shows_nothing_of_a_host_taken_down(
    collection: Collection, get: Ask, address: str
) -> None:
    before = get(address)
    assert before.status in (200, 302, 307)
    give(collection)
    after = get(address)
    assert SECRET not in after.text
    assert "PersonalSecret words" not in after.text
    if "gone.example" in address and "/api/" not in address:
        assert after.status == 404
    else:
        assert "gone.example" not in after.text.replace("url=http://gone.example", "")


def test_other_hosts_stay(collection: Collection, get: Ask) -> None:
    give(collection)
    assert "public" in get("/search?q=words").text
    assert get("/replay/20261116055500/http://stays.example/").status == 200


def test_an_embargo_opens_and_a_lift_shows_again(collection: Collection, get: Ask) -> None:
    give(collection, EMBARGO, opens=START - 1)
    assert get("/raw/20261116055500/http://gone.example/").status == 200
    book = give(collection, EMBARGO, opens=9e9)
    assert get("/raw/20261116055500/http://gone.example/").status == 404
    book.give(Order(0, LIFT, "order", "2", 0.0))
    assert get("/raw/20261116055500/http://gone.example/").status == 200


@pytest.mark.parametrize("kind", ["archive", "replay", "raw"])
def test_what_its_owner_wants_in_no_archive_is_refused(get: Ask, kind: str) -> None:
    answered = get(f"/{kind}/20261116055500/http://stays.example/private")
    assert answered.status == 451
    assert "noarchive" in answered.text
    assert "words" not in answered.text
