from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.config import Politeness
from joro.fetch.exclusion import Exclusions
from joro.model import Outcome, Page, Response, Visit
from joro.store.frontier import Frontier

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


def test_a_server_left_alone_for_longer_than_rules_are_good_for_is_asked_for_pages_too(stage: Stage) -> None:
    assert [stage.turn(12 * HOUR) for _ in range(5)] == ["rules", "page", "rules", "page", "rules"]


def test_that_holds_over_a_restart(stage: Stage) -> None:
    stage.turn(12 * HOUR)
    stage.restart()
    assert stage.turn(12 * HOUR) == "page"
    stage.restart()
    assert stage.turn(12 * HOUR) == "rules"


def test_rules_nobody_used_are_not_good_for_ever(stage: Stage) -> None:
    stage.turn(12 * HOUR)
    stage.wait(7 * HOUR)
    assert stage.turn(12 * HOUR) == "rules"
