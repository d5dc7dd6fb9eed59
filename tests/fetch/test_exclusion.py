from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joro.clock import FakeClock
from joro.config import Politeness
from joro.fetch.exclusion import URL_LIMIT_CHARS, Exclusions, as_heard
from joro.fetch.robotstxt import SIZE_LIMIT_BYTES
from joro.model import Outcome, Page, Response, Truncated, Visit
from joro.store.frontier import Frontier
from joro.store.records import RobotsRecord

A = "http://a.example"
HOUR = 3_600.0
#: robots.txt is good for six hours.
SETTINGS = Politeness(robots_age_s=6 * HOUR)


class Stage:
    """The exclusions of a robot, in time that passes when told to."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, FakeClock(1_000_000.0)
        self.open()

    def open(self) -> None:
        self.frontier = Frontier(self.path)
        self.exclusions = Exclusions(self.frontier, lambda _: SETTINGS, agent="joro", clock=self.clock)

    def wait(self, seconds: float) -> None:
        self.clock._now += seconds

    def turn(self, pause_s: float) -> str:
        """What the server is asked for; it is left alone for so long then."""
        errand = self.exclusions.errand(A)
        if errand is not None:
            visit = Visit(
                Page(errand.url, 0, A), self.clock.now(), Outcome.OK, response=Response(200, b"", b"", {})
            )
            self.exclusions.learn(errand, visit, b"")
        else:
            assert self.exclusions.rules(A) is not None
            self.exclusions.used(A)
        self.frontier.server(A).ready_at = self.clock.now() + pause_s
        self.wait(pause_s)
        return "page" if errand is None else "rules"

    def restart(self) -> None:
        self.frontier.commit(None)
        self.frontier.close()
        self.open()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path / "f")
    yield stage
    stage.frontier.close()


def test_rules_are_read_again_when_they_are_too_old(stage: Stage) -> None:
    turns = [stage.turn(2 * HOUR) for _ in range(7)]
    assert turns == ["rules", "page", "page", "page", "rules", "page", "page"]


def test_rules_read_by_a_clock_that_was_ahead_are_read_again(stage: Stage) -> None:
    assert [stage.turn(20.0), stage.turn(20.0)] == ["rules", "page"]
    stage.wait(-365 * 24 * HOUR)
    assert [stage.turn(20.0), stage.turn(20.0)] == ["rules", "page"]


def test_rules_that_leave_memory_are_not_asked_for_again(stage: Stage) -> None:
    assert stage.turn(HOUR) == "rules"
    stage.frontier.commit(None)
    stage.exclusions.shed()
    assert stage.turn(HOUR) == "page"


def test_a_server_left_alone_for_longer_than_rules_are_good_for_is_asked_for_pages_too(stage: Stage) -> None:
    turns = [stage.turn(12 * HOUR) for _ in range(6)]
    assert turns == ["rules", "rules", "page", "rules", "page", "rules"]


def test_that_holds_over_a_restart(stage: Stage) -> None:
    turns = []
    for _ in range(5):
        turns.append(stage.turn(12 * HOUR))
        stage.restart()
    assert turns == ["rules", "rules", "page", "rules", "page"]


def test_rules_that_grew_old_while_a_server_was_closed_are_read_again(stage: Stage) -> None:
    pauses = [18 * HOUR, HOUR, HOUR, 18 * HOUR, HOUR, HOUR]  # from eight in the morning till two at night
    assert [stage.turn(pause) for pause in pauses] == ["rules", "rules", "page", "page", "rules", "page"]


def test_a_server_that_takes_shorter_pauses_again_is_asked_by_fresh_rules_only(stage: Stage) -> None:
    pauses = [12 * HOUR, 12 * HOUR, HOUR, HOUR, 12 * HOUR, HOUR, 12 * HOUR]
    turns = [stage.turn(pause) for pause in pauses]
    assert turns == ["rules", "rules", "page", "rules", "page", "rules", "page"]
    assert [stage.turn(pause) for pause in (12 * HOUR, HOUR)] == ["rules", "rules"]


def test_rules_nobody_used_are_not_good_for_ever(stage: Stage) -> None:
    stage.turn(12 * HOUR)
    stage.turn(12 * HOUR)
    stage.wait(7 * HOUR)
    assert stage.turn(12 * HOUR) == "rules"


def moved(errand_url: str, target: str) -> Visit:
    answer = Response(301, b"", b"", {"location": target})
    return Visit(Page(errand_url, 0, A), 1_000_000.0, Outcome.REDIRECT, response=answer)


def test_what_a_robots_txt_says_that_only_another_robot_may_read_forbids_everything(stage: Stage) -> None:
    stage.exclusions.may_ask = lambda server: server == A
    errand = stage.exclusions.errand(A)
    assert errand is not None
    assert stage.exclusions.learn(errand, moved(errand.url, "http://b.example/robots.txt"), b"") == A
    rules = stage.exclusions.rules(A)
    assert rules is not None
    assert not rules.allows(f"{A}/anything")


@pytest.mark.parametrize("target", ["mailto:nobody", "/robots.txt?" + "q" * URL_LIMIT_CHARS])
def test_a_redirect_that_leads_nowhere_counts_as_no_robots_txt(stage: Stage, target: str) -> None:
    errand = stage.exclusions.errand(A)
    assert errand is not None
    assert stage.exclusions.learn(errand, moved(errand.url, target), b"") == A
    assert stage.exclusions.errand(A) is None
    rules = stage.exclusions.rules(A)
    assert rules is not None
    assert rules.allows(f"{A}/anything")


def test_a_server_whose_rules_were_to_come_from_one_that_left_asks_for_itself(stage: Stage) -> None:
    errand = stage.exclusions.errand(A)
    assert errand is not None
    host = stage.exclusions.learn(errand, moved(errand.url, "http://b.example/robots.txt"), b"")
    assert (host, stage.exclusions.errand(A)) == ("http://b.example", None)
    assert stage.exclusions.forget("http://b.example") == [A]
    assert stage.exclusions.is_due(A)


def test_of_a_server_that_left_no_errand_is_run_any_more(stage: Stage) -> None:
    errand = stage.exclusions.errand(A)
    assert errand is not None
    host = stage.exclusions.learn(errand, moved(errand.url, "http://b.example/robots.txt"), b"")
    assert stage.exclusions.forget(A) == []
    errand = stage.exclusions.errand(host)
    assert errand is not None
    assert errand.server == host


def test_rules_that_another_robot_read_hold_before_they_are_committed(stage: Stage) -> None:
    record = RobotsRecord(stage.clock.now(), 200, b"User-agent: *\nDisallow: /x\nCrawl-delay: 7")
    stage.exclusions.recall(A, record)
    rules = stage.exclusions.rules(A)
    assert rules is not None
    assert not rules.allows(f"{A}/x")
    assert stage.exclusions.crawl_delay_s(A) == 7.0


def unanswered(stage: Stage, outcome: Outcome, redirect: str = "") -> Outcome:
    """What pages of A are called when the request for its robots.txt ended so."""
    errand = stage.exclusions.errand(A)
    assert errand is not None
    if redirect:
        errand = stage.exclusions.errand(stage.exclusions.learn(errand, moved(errand.url, redirect), b""))
        assert errand is not None
    stage.exclusions.learn(errand, Visit(Page(errand.url, 0, A), stage.clock.now(), outcome), b"")
    rules = stage.exclusions.rules(A)
    assert rules is not None
    assert not rules.allows(f"{A}/anything")
    return stage.exclusions.refusal(A)


@pytest.mark.parametrize(
    ("of_rules", "of_pages"),
    [
        (Outcome.FORBIDDEN_ADDRESS, Outcome.FORBIDDEN_ADDRESS),
        (Outcome.NO_ADDRESS, Outcome.NO_ADDRESS),
        (Outcome.TIMEOUT, Outcome.TIMEOUT),
        (Outcome.UNREACHABLE, Outcome.UNREACHABLE),
        (Outcome.MALFORMED, Outcome.UNREACHABLE),
    ],
)
def test_pages_fare_as_the_robots_txt_that_gave_no_answer(
    stage: Stage, of_rules: Outcome, of_pages: Outcome
) -> None:
    assert unanswered(stage, of_rules) is of_pages
    stage.restart()
    assert stage.exclusions.refusal(A) is of_pages


@pytest.mark.parametrize("outcome", [Outcome.FORBIDDEN_ADDRESS, Outcome.NO_ADDRESS])
def test_why_another_server_could_not_be_asked_is_not_said_of_ours(stage: Stage, outcome: Outcome) -> None:
    assert unanswered(stage, outcome, "http://inside.example/robots.txt") is Outcome.UNREACHABLE


def test_a_redirect_to_the_same_server_is_its_own(stage: Stage) -> None:
    assert unanswered(stage, Outcome.FORBIDDEN_ADDRESS, f"{A}/rules") is Outcome.FORBIDDEN_ADDRESS


def heard(body: bytes, cut: Truncated | None = None, status: int = 200, **more: Any) -> Outcome:
    response = Response(status, b"", body, {}, cut)
    visit = Visit(Page(f"{A}/robots.txt", 0, A), 0.0, Outcome.OK, response=response)
    return as_heard(visit, body, **more).outcome


@pytest.mark.parametrize("cut", list(Truncated))
def test_a_part_of_a_robots_txt_is_no_answer(cut: Truncated) -> None:
    assert heard(b"User-agent: *\n", cut) is Outcome.UNREACHABLE
    assert heard(b"User-agent: *\n") is Outcome.OK
    assert heard(b"#" * SIZE_LIMIT_BYTES, cut) is Outcome.OK  # nobody reads more
    assert heard(b"not found", cut, status=404) is Outcome.OK  # the status says it all


def test_what_stayed_packed_is_no_answer_but_what_never_was_is() -> None:
    assert heard(b"\x1f\x8b\x08\0junk", undecoded="gzip") is Outcome.UNREACHABLE
    assert heard(b"User-agent: *\n", breaks_off=True) is Outcome.UNREACHABLE
    assert heard(b"User-agent: *\r\nDisallow:\t/\n", undecoded="gzip") is Outcome.OK
