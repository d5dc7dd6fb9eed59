import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import trustme

from joro.clock import FakeClock
from joro.coordinate.beat import BEAT, JOURNAL, Answer, Beat, Effort, Link, Post, encode
from joro.manager.routes import BODY_LIMIT_BYTES
from joro.manager.service import application
from joro.manager.tokens import add_robot, remove_robot
from joro.store.control import open_control
from tests.manager.desk import NOON, Desk, collection_at, desk
from tests.redistribute.stand import running


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path) as served:
        yield served


def beat(
    robot: str = "tokyo", clock: float = NOON, identity: str = "x", posts: tuple[Post, ...] = ()
) -> bytes:
    return encode(Beat(robot, identity, clock, posts=list(posts), sockets=10))


def test_a_beat_with_its_token_is_answered_with_a_lease(hub: Desk) -> None:
    answer = hub.ask(BEAT, beat(), token=add_robot(hub.control, "tokyo"))
    assert answer.status == 200
    assert msgspec.msgpack.decode(answer.body, type=Answer).lease_s == 60.0


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"", 400, "this is no beat"),
        (b"\xc1\xff", 400, "this is no beat"),
        (b"{}", 400, "this is no beat"),
        (msgspec.msgpack.encode(["tokyo", 1, "now"]), 400, "this is no beat"),
        (
            msgspec.msgpack.encode(["\udc80".encode("utf-8", "surrogatepass"), "x", NOON]),
            400,
            "this is no beat",
        ),
        (b"\x9e" + beat()[1:] + b"\x91" * 20_000 + b"\x90", 400, "this is no beat: maximum recursion depth"),
        (beat("osaka"), 403, "the token is tokyo's, the beat osaka's"),
        (beat(clock=NOON - 3_600), 409, "3600 s apart"),
        (beat(posts=(Post(1, released=["junk"]),)), 400, "this is no beat: 'junk' is no server"),
        (beat(posts=(Post(1, efforts=[Effort("", 1, 1, 1)]),)), 400, "this is no beat: '' is no server"),
        (beat(posts=(Post(1, links=[Link("junk", 1)]),)), 400, "this is no beat: 'junk' is no page"),
        (beat(posts=(Post(1, links=[Link("http://a.jp/", 256)]),)), 400, "cannot be followed"),
        (beat(posts=(Post(7),)), 409, "post 1 of tokyo is missing"),
    ],
)
def test_a_bad_beat_is_refused_in_one_line_and_changes_nothing(
    hub: Desk, caplog: pytest.LogCaptureFixture, body: bytes, status: int, problem: str
) -> None:
    token = add_robot(hub.control, "tokyo")
    before = hub.state()
    answer = hub.ask(BEAT, body, token=token)
    assert (answer.status, problem in answer.text) == (status, True), answer.text
    assert json.loads(answer.body).keys() == {"problem"}
    assert f"refused POST {BEAT} to 127.0.0.1: {status}" in caplog.text
    assert hub.state() == before


@pytest.mark.parametrize(
    "query", ["", "server=a%00b", "server=%ff", "server=x&after=-1", "server=x&after=1e3"]
)
def test_a_journal_of_no_server_is_no_journal(hub: Desk, query: str) -> None:
    assert hub.ask(f"{JOURNAL}?{query}", token=add_robot(hub.control, "tokyo")).status == 400


def test_a_beat_without_end_is_refused(hub: Desk) -> None:
    token = add_robot(hub.control, "tokyo")
    answer = hub.ask(BEAT, bytes(BODY_LIMIT_BYTES + 1), token=token)
    assert answer.status == 413


@pytest.mark.parametrize("page", [BEAT, JOURNAL, "/releases/stable"])
def test_strangers_are_refused_and_that_is_logged(
    hub: Desk, caplog: pytest.LogCaptureFixture, page: str
) -> None:
    token = add_robot(hub.control, "tokyo")
    remove_robot(hub.control, "tokyo")
    before = hub.state()
    body = beat() if page == BEAT else None
    assert [hub.ask(page, body, token=shown).status for shown in ("", "wrong", token)] == [401, 403, 403]
    assert caplog.text.count(f"{page} to 127.0.0.1: 403 the token belongs to no robot") == 2
    assert hub.state() == before


def test_a_second_collection_cannot_take_a_robots_name(hub: Desk) -> None:
    token = add_robot(hub.control, "tokyo")
    hub.ask(BEAT, beat(), token=token)
    before = hub.state()
    answer = hub.ask(BEAT, beat(identity="another"), token=token)
    assert (answer.status, "another collection works as tokyo" in answer.text) == (409, True)
    assert hub.state() == before


def test_what_somebody_asks_for_cannot_write_lines_into_the_log(
    hub: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    hub.ask("/servlets/list?host=x%0Arefused%20nobody")
    hub.ask("/nothing%0A2026-01-01%20WARNING%20forged")
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert all("\n" not in message for message in messages)


def test_what_there_is_not_is_a_line_of_json(hub: Desk) -> None:
    assert hub.ask("/nothing").text == '{"problem":"Not Found"}'
    assert hub.ask(BEAT).status == 405


def test_health_is_that_of_the_control_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    collection, clock = collection_at(tmp_path / "hub"), FakeClock(NOON)
    control = open_control("", collection.path, clock)
    with running(lambda: application(collection, control, clock)) as url:
        there = Desk(url, collection, control, clock)
        assert there.ask("/healthz").text == "ok\n"
        with control.transaction() as transaction:
            transaction.run("DROP TABLE notes")
        answer = there.ask("/servlets/listrobot")
        assert (answer.status, "sqlite" in answer.text.lower()) == (503, False)
    control.close()


def test_tls_is_spoken_with_the_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(str(chain))
    issued.private_key_pem.write_to_path(str(key))
    collection, clock = collection_at(tmp_path / "hub"), FakeClock(NOON)
    control = open_control("", collection.path, clock)
    trusting = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    with running(lambda: application(collection, control, clock), ssl_cert=chain, ssl_key=key) as url:
        with urllib.request.urlopen(f"{url}/healthz", timeout=10, context=trusting) as answer:
            assert answer.read() == b"ok\n"
        page = urllib.request.Request(f"{url}/servlets/listrobot")
        with urllib.request.urlopen(page, timeout=10, context=trusting) as answer:
            assert "Secure" in answer.headers["set-cookie"]
    control.close()
