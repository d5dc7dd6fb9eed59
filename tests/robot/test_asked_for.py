"""Pages that somebody asked for by name, with `joro retry`."""

from __future__ import annotations

from pathlib import Path

from joro.config import Refresh
from tests.robot.test_keeper import A, Stage


def test_a_page_somebody_asked_for_keeps_its_distance_in_a_plain_crawl_too(tmp_path: Path) -> None:
    """It waits among the seeds; taken for one, it would lead as far as one."""
    stage = Stage(tmp_path, Refresh())
    stage.find()
    stage.visit()
    assert stage.frontier.wait_again(stage.record, urgent=True)
    stage.frontier.commit(None)
    page = stage.frontier.take(A)
    assert page is not None
    assert page.hops == 0
    assert stage.keeper.first_seen(page, stage.keeper.before(page)).hops == 3
    stage.frontier.abandon()
