"""Sources that people ask us not to follow."""

from __future__ import annotations

import pytest

from tests.robot.test_watcher import FRONT, SITE, START, Desk, desk, feed, runner, sitemap

__all__ = ["desk", "runner"]

NEWS = feed(("/new", START - 60))
ATOM = "application/atom+xml"


@pytest.mark.parametrize(
    ("body", "said"),
    [('<meta name=robots content="nofollow">', {}), ("", {"x-robots-tag": "noindex, nofollow"})],
)
def test_a_page_that_says_nofollow_leads_to_no_feed(desk: Desk, body: str, said: dict[str, str]) -> None:
    desk.answer(f"{SITE}/", body + FRONT, **said)
    assert desk.waiting() == []


def test_a_feed_that_says_nofollow_leads_nowhere_and_is_asked_again_later(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", NEWS, ATOM, **{"x-robots-tag": "nofollow"})
    assert "/new" not in desk.waiting()
    desk.later(desk.care(f"{SITE}/feed.xml").due - desk.clock.now() + 1)
    desk.later(0)
    desk.answer(f"{SITE}/feed.xml", feed(("/new", desk.clock.now() - 60)), ATOM)
    assert desk.waiting()[0] == "/new"


def test_a_feed_that_moved_and_says_nofollow_is_not_followed(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    moved = {"location": f"{SITE}/atom.xml", "x-robots-tag": "nofollow"}
    desk.answer(f"{SITE}/feed.xml", status="301", **moved)
    assert "/atom.xml" not in desk.waiting()


def test_a_sitemap_that_says_nofollow_lists_nothing(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/s.xml")
    desk.answer(f"{SITE}/", "x")
    desk.answer(f"{SITE}/s.xml", sitemap(("/x", START)), "text/xml", **{"x-robots-tag": "none"})
    assert desk.waiting() == []
