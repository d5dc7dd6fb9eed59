"""Visits that are missed, told by planning rounds whether they are made in the end or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.robot.planned import PlanReport
from tests.robot.test_keeper import HOUR, A, Stage, come_due


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A page that wishes a visit every hour, due just now."""
    made = Stage(tmp_path / "frontier")
    made.find()
    made.visit()
    come_due(made)
    yield made
    made.frontier.close()


def planned(stage: Stage, hours: float = 0.0) -> PlanReport:
    stage.pass_time(hours * HOUR)
    stage.commit()
    return stage.keeper._planner.round()


def test_a_page_that_is_never_visited_misses_visits_in_every_round(stage: Stage) -> None:
    reports = [planned(stage, hours) for hours in (10, 100, 1_000)]
    assert [report.missed for report in reports] == [10, 100, 1_000]
    assert "kept as wished" not in str(reports[-1])


def test_what_was_told_while_a_page_waited_is_not_told_again_when_its_visit_comes_home(stage: Stage) -> None:
    told = planned(stage, 10.5).missed
    stage.pass_time(2 * HOUR)
    stage.visit()
    stage.frontier.commit(None)
    assert (told, planned(stage).missed, planned(stage).missed) == (10, 2, 0)


def test_a_page_that_waits_less_than_its_interval_has_missed_nothing(stage: Stage) -> None:
    assert planned(stage, 0.9).missed == 0


def test_who_waits_is_remembered_over_a_restart(stage: Stage) -> None:
    told = planned(stage, 10).missed
    stage.commit()
    stage.frontier.close()
    stage.open()
    stage.commit()
    assert (told, planned(stage, 5).missed) == (10, 5)


def test_nothing_is_left_of_pages_that_wait_when_all_have_been_visited(stage: Stage) -> None:
    planned(stage, 10)
    stage.visit()
    assert stage.frontier.server(A).waiting == {}
    assert planned(stage).missed == 0
    assert stage.frontier.server(A).missed_waiting == 0
