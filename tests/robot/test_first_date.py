"""What the date says that a server gives for the last change of a page, when the page is seen first."""

from __future__ import annotations

from email.utils import formatdate
from pathlib import Path

import pytest

from joro.config import Refresh
from joro.model import Outcome
from tests.robot.test_keeper import HOUR, A, Stage, changes


def first_dated(path: Path, age_h: float, server: tuple[float, float]) -> Stage:
    """A first visit to a page changed so many hours ago; its server had so many dates right and wrong."""
    stage = Stage(path, Refresh(enabled=True, policy="interval", first_interval_s=1_000 * HOUR))
    stage.pass_time(1.7e9)
    stage.frontier.server(A).dated = server
    stage.keeper.policy.has_studied = True
    stage.find()
    stage.visit(Outcome.OK, "one", 1, **{"last-modified": formatdate(stage.now - age_h * HOUR, usegmt=True)})
    return stage


def test_the_date_of_a_first_visit_tells_when_to_come_again(tmp_path: Path) -> None:
    """S4: of a page that was never seen to change, Last-Modified says how often it may."""
    fast, slow = (first_dated(tmp_path / str(age_h), age_h, (50, 0)) for age_h in (5, 500))
    assert fast.care.interval_s < slow.care.interval_s / 5
    assert (changes(fast), changes(slow)) == ((0, 0), (0, 0))
    assert fast.frontier.server(A).said == (0.0, 0.0)


def test_the_date_of_a_first_visit_says_nothing_where_dates_were_wrong(tmp_path: Path) -> None:
    fast, slow = (first_dated(tmp_path / str(age_h), age_h, (0, 5_000)) for age_h in (5, 500))
    assert fast.care.interval_s == pytest.approx(slow.care.interval_s, rel=0.2)


def test_a_first_visit_dated_by_the_answer_itself_begins_no_history(tmp_path: Path) -> None:
    made = Stage(tmp_path)
    made.pass_time(1.7e9)
    made.find()
    now = formatdate(made.now, usegmt=True)
    made.visit(Outcome.OK, "one", 1, date=now, **{"last-modified": now})
    assert made.care.history == b""
    made.frontier.close()


def test_what_a_first_date_began_goes_on_with_the_second_visit(tmp_path: Path) -> None:
    stage = first_dated(tmp_path, 500, (50, 0))
    began = stage.care.interval_s
    stage.pass_time(began + 10)
    stage.commit()
    stage.visit(Outcome.OK, "one", 1, **{"last-modified": stage.care.modified})
    assert changes(stage) == (1, 0)
    assert stage.care.interval_s > began
    assert stage.frontier.server(A).said[0] > 0.0
