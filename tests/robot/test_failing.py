"""What do visits that fail, or seem to come too early, leave of a page's date and history?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import uvloop

from joro.model import Outcome, Visit
from joro.robot.arrivals import Arrival
from tests.robot.test_keeper import HOUR, A, Stage, changes, come_due, stage
from tests.robot.test_watcher import SITE, closed, opened

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


def ask_in_vain(
    stage: Stage, outcome: Outcome, elapsed_s: float, *, tried_again: bool
) -> tuple[float, float]:
    """What the server's downloads take after one more visit that brought nothing."""
    come_due(stage)
    page = stage.frontier.take(A)
    assert page is not None
    visit = Visit(page, stage.now, outcome, elapsed_s=elapsed_s)
    server = stage.frontier.server(A)
    server.visited = 1  # another page
    if tried_again:
        stage.keeper.put_back(visit)
    else:
        stage.keeper.learn(visit, stage.keeper.before(page), "", 0)
    return server.download_s, server.longest_download_s


@pytest.mark.parametrize("tried_again", [False, True])
@pytest.mark.parametrize(
    ("outcome", "elapsed_s", "mean_s", "longest_s"),
    [
        (Outcome.TIMEOUT, 61.0, 31.0, 61.0),
        (Outcome.UNREACHABLE, 0.001, 1.0, 1.0),  # refused in a moment
        (Outcome.NO_ADDRESS, 0.0, 1.0, 1.0),
    ],
)
def test_a_socket_is_held_also_by_who_does_not_answer(
    stage: Stage, outcome: Outcome, elapsed_s: float, mean_s: float, longest_s: float, tried_again: bool
) -> None:
    """The one download before took a second."""
    times = ask_in_vain(stage, outcome, elapsed_s, tried_again=tried_again)
    assert times == pytest.approx((mean_s, longest_s))


def test_a_failure_that_is_tried_again_is_timed(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        desk = runner.run(opened(tmp_path / "c"))
        page = desk.robot.frontier.take_url(f"{SITE}/")
        assert page is not None
        visit = Visit(page, desk.clock.now(), Outcome.TIMEOUT, elapsed_s=60.0)
        desk.robot._learn([Arrival(visit, None)])
        longest_s = desk.robot.frontier.server(SITE).longest_download_s
        assert (desk.waiting(), longest_s) == (["/"], 60.0)
        runner.run(closed(desk))
