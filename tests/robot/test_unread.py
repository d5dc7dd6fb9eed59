"""Sources that were visited by who reads none, before anybody had read them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.robot.test_watcher import (
    DAY_S,
    FRONT,
    SITE,
    START,
    Desk,
    closed,
    desk,
    feed,
    opened,
    reopened,
    runner,
    sitemap,
)

__all__ = ["desk", "runner"]

PAGE = "/hidden.html"
SITEMAP = f"{SITE}/sitemap.xml", sitemap((PAGE, START - 9 * DAY_S)), "application/xml"
FEED = f"{SITE}/feed.xml", feed((PAGE, START - 60)), "application/atom+xml"


def asked_with(desk: Desk, url: str) -> dict[str, str]:
    """What makes the next request for a page conditional."""
    page = desk.robot.frontier.take_url(url)
    assert page is not None
    before = desk.robot._keeper.before(page)
    desk.robot.frontier.put_back(page)
    assert before is not None
    return desk.robot._watcher.validators(before)


def come_due(desk: Desk, url: str) -> None:
    desk.later(max(desk.care(url).due - desk.clock.now(), 0.0) + 400)
    desk.later(0)


@pytest.mark.parametrize("source", [SITEMAP, FEED])
def test_a_source_that_somebody_visited_before_anybody_read_it_is_read_though_it_stays_the_same(
    tmp_path: Path, runner: asyncio.Runner, source: tuple[str, str, str]
) -> None:
    url, text, mime = source
    desk = runner.run(opened(tmp_path / "c"))
    desk.rules("")
    desk.answer(f"{SITE}/", FRONT)
    desk = runner.run(reopened(desk, discovers=False))
    desk.later(20)
    desk.answer(url, text, mime, etag="1")
    desk = runner.run(reopened(desk, discovers=True))
    come_due(desk, url)
    assert asked_with(desk, url) == {}
    desk.answer(url, text, mime, etag="1")
    assert PAGE in desk.waiting()
    runner.run(closed(desk))


def test_what_was_looked_at_and_is_no_feed_is_asked_for_only_if_it_has_changed(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", "<p>we moved", etag="1")
    come_due(desk, f"{SITE}/feed.xml")
    assert asked_with(desk, f"{SITE}/feed.xml")["etag"] == "1"
