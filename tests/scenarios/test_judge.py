"""The judge of cooperating robots sees what it should see."""

from __future__ import annotations

from collections import Counter

from tests.scenarios.judge import judge
from tests.scenarios.laws import Row


def asked(start: float, client: str, path: str = "/", host: str = "a.example") -> Row:
    """A request that took 0.02 s."""
    url = f"http://{host}{path}"
    row: Row = {"start": start, "end": start + 0.02, "client": client, "host": host, "path": path, "url": url}
    return row | {"status": 200, "bytes": 9}


def test_robots_that_take_turns_in_peace_are_acquitted() -> None:
    rows = [asked(0.0, "one"), asked(2.0, "two", "/2"), asked(2.01, "one", host="b.example")]
    verdict = judge(rows, ["http://a.example/"], Counter(row["url"] for row in rows), 1.0)
    assert verdict.is_good
    assert (verdict.requests, verdict.servers, verdict.shared_servers) == (3, 2, 1)


def test_two_robots_at_one_server_are_seen() -> None:
    verdict = judge([asked(0.0, "one"), asked(0.01, "two", "/2")], [], Counter(), 0.0)
    assert verdict.at_once == [
        "http://a.example/2 by two while one asked for http://a.example/",
    ]
    assert not verdict.is_good


def test_a_second_robot_must_keep_the_firsts_pause() -> None:
    rows = [asked(0.0, "one"), asked(0.8, "two", "/2")]
    assert len(judge(rows, [], Counter(), 1.0).inside_interval) == 1
    assert judge(rows, [], Counter(), 0.5).is_good


def test_the_pause_after_a_request_that_was_given_up_begins_when_it_was() -> None:
    given_up = asked(0.0, "one") | {"bytes": 0}
    assert judge([given_up, asked(1.0, "one")], [], Counter(), 1.0).is_good
    assert not judge([given_up, asked(0.9, "one")], [], Counter(), 1.0).is_good


def test_pages_lost_and_repeated_are_told_apart() -> None:
    rows = [asked(0.0, "one"), asked(5.0, "two"), asked(9.0, "two", "/robots.txt")]
    archived = Counter({"http://a.example/": 2})
    verdict = judge(rows, ["http://a.example/", "http://a.example/gone"], archived, 1.0)
    assert verdict.lost == ["http://a.example/gone"]
    assert verdict.repeated == verdict.asked_again == ["http://a.example/"]
