"""What do visits that fail, or seem to come too early, leave of a page's date and history?"""

from __future__ import annotations

import pytest

from joro.model import Outcome
from tests.robot.test_keeper import HOUR, A, Stage, changes, come_due, stage

__all__ = ["stage"]


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.SERVER_ERROR])
def test_a_page_that_fails_is_visited_no_sooner_than_one_that_is_there(
    stage: Stage, outcome: Outcome
) -> None:
    come_due(stage)
    stage.visit()
    come_due(stage)
    stage.visit(outcome)
    for minutes in range(0, 60, 10):
        assert stage.commit() == [], minutes
        stage.pass_time(600.0)
    assert stage.commit() == [A]


def test_a_visit_that_seems_earlier_than_the_one_before_teaches_nothing(stage: Stage) -> None:
    come_due(stage)
    stage.visit()
    seen = changes(stage)
    come_due(stage)
    stage.now -= 1_000 * HOUR  # the clock was ahead, and is set right
    stage.clock._now = stage.now
    stage.visit(digest="two", main=2)
    assert changes(stage) == seen
