import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Message

from joro.clock import RealClock
from joro.config import Config, Identity, Politeness
from joro.indexer import index_new
from joro.portal.web import application
from joro.store.claims import ClaimBook
from joro.store.collection import Collection
from joro.store.orders import OrderBook
from tests.index.archived import archive, page
from tests.portal.conftest import Answer, ask


def post(app: Any, path: str, said: dict[str, str] | bytes, *, as_json: bool = False) -> Answer:
    body = said if isinstance(said, bytes) else (json.dumps(said) if as_json else urlencode(said)).encode()
    kind = b"application/json" if as_json else b"application/x-www-form-urlencoded"
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8765"), (b"content-type", kind)],
        "server": ("127.0.0.1", 8765),
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


@dataclass
class House:
    collection: Collection
    app: Any

    def claim(self, host: str = "a.example") -> str:
        """Open a claim; its address."""
        answered = post(self.app, "/owner", {"host": host, "contact": "me"})
        assert answered.status == 303
        return answered.headers["location"]

    def prove(self) -> None:
        book = ClaimBook(self.collection.orders, RealClock().now)
        for claim in book.all():
            book.looked(claim, "http://a.example/", "")


@pytest.fixture
def house(tmp_path: Path) -> House:
    identity = Identity("our-robot", "https://us.example/", "Tests are why.", ("192.0.2.1",))
    collection = Collection.create(tmp_path / "my-web", Config(identity=identity))
    archive(collection, page("http://a.example/x", "T", "words"), page("http://b.example/", "T", "words"))
    index_new(collection)
    return House(collection, application(collection))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "20 seconds apart or more, 10 where it is among the fastest;"),
        ({"fast_servers_percent": 0}, "20 seconds apart or more;"),
        ({"run_pages": 5, "run_pause_s": 60.0}, "up to 5 in a row and then a pause of 60 seconds or more;"),
        ({"run_pages": 5}, "up to 5 in a row and then a pause of 10 seconds or more;"),
        ({"robots_txt": False}, "It does not read <code>robots.txt</code>"),
    ],
)
def test_owners_are_told_no_longer_pause_than_they_get(
    settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    made = Collection.create(tmp_path / "web", Config(politeness=Politeness(**settings)))
    assert said in ask(application(made), "/robot").text


def test_the_robot_says_who_it_is_and_how_to_stop_it(house: House) -> None:
    text = ask(house.app, "/robot").text
    for said in ("our-robot", "https://us.example/", "Tests are why.", "192.0.2.1", "Disallow: /", "/owner"):
        assert said in text


def test_a_claim_says_how_to_prove_it(house: House) -> None:
    text = ask(house.app, house.claim()).text
    (claim,) = ClaimBook(house.collection.orders, RealClock().now).all()
    assert text.count(claim.token) == 3
    assert "https://a.example/.well-known/joro-owner.txt" in text
    assert "_joro.a.example" in text
    assert "Order it" not in text


@pytest.mark.parametrize(
    "host", ["", "no host", "ftp://a.example/", "a" * 400, "http://", "*", "*.a.example"]
)
def test_what_is_no_host_cannot_be_claimed(house: House, host: str) -> None:
    assert post(house.app, "/owner", {"host": host}).status == 400
    assert ClaimBook(house.collection.orders, RealClock().now).all() == []


def test_without_proof_nothing_can_be_ordered(house: House) -> None:
    assert post(house.app, house.claim(), {"act": "takedown"}).status == 403
    assert post(house.app, "/owner/guessed", {"act": "takedown"}).status == 404
    assert not OrderBook(house.collection.orders, RealClock().now).latest()


def test_an_owner_takes_the_host_down_and_it_is_gone_from_the_search(house: House) -> None:
    address = house.claim()
    house.prove()
    assert "Order it" in ask(house.app, address).text
    assert json.loads(ask(house.app, "/api/search?q=words").text)["total"] == 2
    assert post(house.app, address, {"act": "takedown", "reason": "mine"}).status == 303
    assert json.loads(ask(house.app, "/api/search?q=words").text)["total"] == 1
    assert "takedown of a.example" in ask(house.app, address).text


def test_an_owner_orders_about_the_own_host_only(house: House) -> None:
    address = house.claim()
    house.prove()
    for path in ("//b.example/", "../../b.example", "@b.example/", "\\\\b.example\\", "/x#y"):
        post(house.app, address, {"act": "takedown", "path": path, "host": "b.example"})
    given = OrderBook(house.collection.orders, RealClock().now).latest()
    assert given.forbids("http://b.example/", 1e9) is None
    assert {order.value[:17] for order in given.all} <= {"http://a.example/"}


def test_an_embargo_needs_its_end(house: House) -> None:
    address = house.claim()
    house.prove()
    assert post(house.app, address, {"act": "embargo", "opens": "soon"}).status == 400
    assert post(house.app, address, {"act": "embargo", "opens": "2100-01-01"}).status == 303
    (order,) = OrderBook(house.collection.orders, RealClock().now).latest().all
    assert (order.act, order.opens, order.requester) == ("embargo", 4102444800.0, "owner of a.example")


def test_programs_do_the_same_by_json(house: House) -> None:
    opened = post(house.app, "/api/owner", {"host": "https://a.example/some/page"}, as_json=True)
    assert opened.status == 201
    answered = json.loads(opened.body)
    assert (answered["host"], answered["state"], len(answered["proofs"])) == ("a.example", "pending", 3)
    house.prove()
    given = post(house.app, answered["claim"], {"act": "exclusion", "path": "/x"}, as_json=True)
    assert json.loads(given.body) == {"order": 1, "act": "exclusion", "value": "http://a.example/x"}
    assert json.loads(ask(house.app, answered["claim"]).text)["orders"][0]["act"] == "exclusion"


def test_too_much_is_refused_before_it_is_read(house: House) -> None:
    assert post(house.app, "/owner", b"host=" + b"a" * 20_000).status == 413
    assert post(house.app, "/api/owner", b"{", as_json=True).status == 400


def test_what_a_stranger_writes_is_shown_escaped(house: House) -> None:
    address = house.claim()
    house.prove()
    post(house.app, address, {"act": "takedown", "path": "/<script>alert(1)</script>"})
    assert "<script>" not in ask(house.app, address).text
