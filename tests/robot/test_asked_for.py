"""Pages that somebody asked for by name, with `joro retry` or as seeds."""

from __future__ import annotations

import asyncio
from pathlib import Path

from joro.config import Refresh
from joro.explainer.explainer import explain
from joro.schedule.turns import Turns
from joro.store.again import wait_again
from joro.store.collection import Collection
from joro.store.layout import set_share_count
from joro.url import fingerprint
from tests.robot.test_keeper import A, Stage
from tests.robot.test_watcher import FRONT, SITE, START, Desk, closed, feed, opened, runner

__all__ = ["runner"]


def news_waits(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/new", START - 60)), "application/atom+xml")


def test_news_that_waits_keeps_its_distance_in_a_plain_crawl_too(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    news_waits(desk)
    runner.run(closed(desk))
    (tmp_path / "c/joro.toml").write_text("[refresh]\nenabled = false\n")
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/new", "<a href=/next>x</a>")
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/new"))
    then = desk.robot.frontier.queued(f"{SITE}/next")
    assert (record and record.hops, then and then.page.hops) == (1, 2)
    runner.run(closed(desk))


def test_news_that_waits_is_told_with_its_distance_from_the_seed(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    news_waits(desk)
    runner.run(closed(desk))
    set_share_count(tmp_path / "c/frontier", 1)
    found = explain(Collection.open(tmp_path / "c"), f"{SITE}/new", START)
    assert [step.hops for step in found.chain] == [0, 0, 1]  # a feed is where it was named


def test_news_that_waits_and_is_given_as_a_seed_becomes_one(tmp_path: Path, runner: asyncio.Runner) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    news_waits(desk)
    desk.robot.stop()
    runner.run(desk.robot.collect([f"{SITE}/new"]))
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/new", "x")
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/new"))
    assert record is not None
    assert record.hops == 0
    runner.run(closed(desk))


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


def test_a_page_that_waits_where_it_was_is_known_from_before_in_a_plain_crawl_too(tmp_path: Path) -> None:
    """Taken for a new one it would count as a copy of itself, and copies of each other are traps."""
    stage = Stage(tmp_path, Refresh())
    stage.find()
    stage.visit()
    stage.frontier.commit(None)
    stage.frontier.close()
    assert wait_again(tmp_path, lambda _: True) == 1
    stage = Stage(tmp_path, Refresh())
    stage.frontier.wake()
    page = stage.frontier.take(A)
    assert page is not None
    assert page.hops == 3
    assert stage.keeper.before(page) is not None
    stage.frontier.abandon()


def test_a_page_somebody_asked_for_goes_before_those_of_other_servers_right_after_a_start(
    tmp_path: Path,
) -> None:
    """Its server went with those of pages never visited until it had had a turn."""
    stage = Stage(tmp_path)
    stage.find()
    stage.visit()
    others = [f"http://{number}.example" for number in range(50)]
    stage.frontier.add([f"{server}/new" for server in others], 1)
    stage.frontier.settle(lambda _: 100)
    stage.commit()
    stage.frontier.close()
    assert wait_again(tmp_path, lambda _: True, urgent=True) == 1
    stage = Stage(tmp_path)
    stage.frontier.wake()
    turns = Turns(stage.keeper._planner)
    for number, server in enumerate([*others, A]):
        turns.enter(server, stage.now - 100.0 + number)
    first = [turns.take(stage.now) for _ in range(2)]
    assert A in first  # one socket is for pages never visited in any case
    stage.frontier.close()
