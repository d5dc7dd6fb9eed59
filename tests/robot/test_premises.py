from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from joro.config import Config
from joro.robot.premises import recount
from joro.schedule import change, late
from joro.schedule.prior import BROAD
from joro.store.records import ServerRecord, Upkeep
from tests.robot.heir import heir_of
from tests.robot.test_watcher import DAY_S, SITE, closed, opened, runner

__all__ = ["runner"]


def kept(interval_s: float, changed: bool, language: str = "") -> Upkeep:
    history = change.observe(
        change.blank(), change.seen([1e6], [changed]), BROAD.expected(np.zeros((1, 2))), [1e6], [changed]
    )
    return Upkeep(interval_s=interval_s, due=9.0, history=change.pack(history)[0], language=language)


def test_a_page_taken_over_late_is_counted_and_leaves_nothing_behind_when_it_goes() -> None:
    server, page = ServerRecord(), kept(3_600.0, True, "ja")
    recount(server, None, page, False)
    assert [pages for pages, _ in server.wishes.values()] == [1]
    assert server.said[0] > 0.0
    recount(server, page, None, False)
    assert (server.wishes, server.said, server.languages) == ({}, (0.0, 0.0), {"ja": 0})


def test_what_was_known_of_it_before_is_taken_back_and_it_waits_no_longer() -> None:
    server, before, after = ServerRecord(), kept(3_600.0, True), kept(86_400.0, False)
    recount(server, None, before, False)
    late.came(server.waiting, before.interval_s, before.due)
    recount(server, before, after, True)
    alone = ServerRecord()
    recount(alone, None, after, False)
    assert (server.wishes, server.waiting) == (alone.wishes, {})
    assert server.said == pytest.approx(alone.said)


@pytest.mark.parametrize("late", [False, True])
def test_pages_of_who_kept_nothing_fresh_are_kept_fresh_by_who_gets_them(
    runner: asyncio.Runner, tmp_path: Path, late: bool
) -> None:
    desk = runner.run(opened(tmp_path / "c", Config()))
    desk.answer(f"{SITE}/", "<a href=/p1.html>x</a>")
    desk.answer(f"{SITE}/p1.html", "<p>one two three")
    state = {key: value for kind in (b"q", b"p", b"s") for key, value in desk.robot.frontier.scan(kind)}
    other = runner.run(heir_of(desk, tmp_path / "other"))
    other.robot._keeper.adopt()
    other.inherit(SITE, state, late=late)
    other.robot.frontier.wake()
    wished = other.robot.frontier.server(SITE).wishes
    assert (other.waiting(), sum(count for count, _ in wished.values())) == ([], 2)
    other.later(5 * DAY_S + 1)
    other.later(0)
    assert set(other.waiting()) == {"/", "/p1.html"}
    runner.run(closed(other))
    runner.run(closed(desk))
