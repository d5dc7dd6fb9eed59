from __future__ import annotations

from collections.abc import Iterator

import pytest

from joro.model import DAY_S
from joro.testweb.running import Running, running
from joro.testweb.settings import EPOCH, Settings
from tests.testweb.ask import ask, converse


@pytest.fixture
def quiet() -> Iterator[Running]:
    """A small web nobody has visited yet."""
    with running(Settings(hosts=40, pages=200, roles=("restricted",))) as web:
        yield web


def test_every_request_is_logged(quiet: Running) -> None:
    ask(quiet.port, quiet.seeds[0])
    ask(quiet.port, quiet.seeds[0] + "none")
    entries = quiet.oracle.get("/log")
    assert [(entry["url"], entry["status"]) for entry in entries] == [
        (quiet.seeds[0], 200),
        (quiet.seeds[0] + "none", 404),
    ]
    assert entries[0]["page"] == 0
    assert entries[0]["start"] <= entries[0]["end"] < entries[1]["start"]
    assert EPOCH < entries[0]["virtual"] < EPOCH + 60


def test_the_log_can_be_asked_since_a_moment(quiet: Running) -> None:
    ask(quiet.port, quiet.seeds[0])
    (entry,) = quiet.oracle.get("/log")
    ask(quiet.port, quiet.seeds[1])
    assert [one["url"] for one in quiet.oracle.get("/log", since=entry["start"])] == [quiet.seeds[1]]


def test_fetched_counts_by_url_and_status(quiet: Running) -> None:
    for _ in range(3):
        ask(quiet.port, quiet.seeds[0])
    assert quiet.oracle.get("/fetched") == {quiet.seeds[0]: {"200": 3}}


def test_asking_too_soon_and_for_forbidden_things_is_seen(quiet: Running) -> None:
    closed = next(host for host in quiet.oracle.get("/hosts") if host["kind"] == "all")
    ask(quiet.port, closed["url"] + "robots.txt")
    ask(quiet.port, closed["url"])
    report = quiet.oracle.get("/politeness", interval_s=10)
    assert (report["requests"], report["too_early"], report["disallowed"]) == (2, 1, 1)
    assert {violation["url"] for violation in report["violations"]} == {closed["url"]}
    assert quiet.oracle.get("/politeness", interval_s=10, robots_txt=0)["too_early"] == 0


def test_reset_empties_the_log(quiet: Running) -> None:
    ask(quiet.port, quiet.seeds[0])
    assert quiet.oracle.get("/reset") == {"forgotten": 1}
    assert quiet.oracle.get("/summary")["requests"] == 0


def test_the_oracle_answers_under_a_path_too_and_keeps_the_connection(quiet: Running) -> None:
    wire = f"GET /_oracle/clock HTTP/1.1\r\nHost: 127.0.0.1:{quiet.port}\r\n\r\n".encode() * 2
    assert converse(quiet.port, wire, timeout_s=0.3).count(b'"epoch":1767225600.0') == 2


@pytest.mark.parametrize(
    "question", ["/page", "/page?url=http://stranger.example/", "/log?since=x", "/hosts2"]
)
def test_questions_without_sense_get_a_reason(web: Running, question: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        web.oracle.get(question)


def test_what_was_seen_after_its_last_change_is_fresh() -> None:
    with running(Settings(hosts=20, pages=60, roles=("normal",), speed=3_600.0)) as web:
        for page in web.oracle.get("/pages"):
            ask(web.port, page["url"])
        now = web.oracle.get("/clock")["virtual"]
        fresh, later = web.oracle.get("/freshness"), web.oracle.get("/freshness", at=now + 300 * DAY_S)
    assert fresh["fetched"] == fresh["pages"] == 60
    assert fresh["share"] > 0.9
    assert later["share"] < 0.7


def test_virtual_time_runs_as_fast_as_wanted() -> None:
    with running(Settings(hosts=2, pages=2, speed=1_000.0)) as web:
        first, second = web.oracle.get("/clock"), web.oracle.get("/clock")
    real_s, virtual_s = second["real"] - first["real"], second["virtual"] - first["virtual"]
    assert virtual_s == pytest.approx(1_000 * real_s, abs=0.01)
