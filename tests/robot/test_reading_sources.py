from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joro.model import Outcome, Response, Visit
from tests.robot.test_keeper import HOUR, HOURLY, A, Stage, come_due


def read_source(stage: Stage, server: str, read_again_s: float) -> None:
    """A source of that server is read, and wants to be read again so much later."""
    page = stage.frontier.take(server)
    assert page is not None
    before = stage.keeper.before(page)
    visit = Visit(page, stage.now, Outcome.OK, response=Response(200, b"", b"", {}), elapsed_s=1.0)
    care = stage.keeper.learn(visit, before, "feed", 1, read_at=stage.now + read_again_s)
    stage.frontier.done(visit, None, care)
    stage.commit()


@pytest.mark.parametrize("batch_pages", [0, 100])
def test_sources_keep_their_dates_while_a_batch_of_pages_goes_on(tmp_path: Path, batch_pages: int) -> None:
    """A page comes due and is never visited; a feed elsewhere is read every hour all the same."""
    stage = Stage(tmp_path, replace(HOURLY, batch_pages=batch_pages))
    stage.find()
    stage.visit()
    stage.frontier.add(["http://b.example/feed"], 3)
    stage.frontier.settle(lambda _: 100)
    stage.frontier.commit(None)
    read_source(stage, "http://b.example", HOUR + 300)
    come_due(stage)
    readings = 0
    for _ in range(24):
        stage.pass_time(HOUR)
        if stage.commit():
            readings += 1
            read_source(stage, "http://b.example", HOUR - 1)
    stage.frontier.close()
    assert readings == 24


def test_reading_a_source_is_no_part_of_a_batch(tmp_path: Path) -> None:
    stage = Stage(tmp_path, replace(HOURLY, batch_pages=100))
    stage.find()
    stage.visit()
    stage.frontier.add([f"{A}/feed"], 3)
    stage.frontier.settle(lambda _: 100)
    stage.frontier.commit(None)
    read_source(stage, A, 2 * HOUR)
    come_due(stage)
    assert stage.keeper._batches._left == {A: 1}
    stage.pass_time(HOUR)
    assert stage.commit() == [A]
    read_source(stage, A, HOUR)
    assert stage.keeper._batches._left == {A: 1}
    stage.frontier.close()
