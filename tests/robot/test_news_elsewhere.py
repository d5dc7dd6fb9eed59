"""News and sources at unusual places: on the servers of other robots, or where something else is expected."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec

from joro.clock import FakeClock
from joro.config import Config, Scope
from joro.coordinate.beat import Link
from joro.coordinate.share import Share
from joro.discover.watch import FEED
from joro.robot import Robot
from joro.store.collection import Collection
from joro.store.queue import URGENT
from joro.url import fingerprint
from tests.robot.test_watcher import FRONT, SITE, START, WATCHING, Desk, desk, feed, runner, stamp

__all__ = ["desk", "runner"]

HERE = Share(0, 2).owner(SITE)
THERE = next(url for n in range(99) if Share(0, 2).owner(url := f"http://w{n}.a.example") != HERE)
ONE_HOP = replace(WATCHING, scope=Scope(hops=1))


class Half(Desk):
    """One of two robots of a collection."""

    def __init__(self, path: Path, number: int, settings: Config = ONE_HOP) -> None:
        self.path, self.clock = path, FakeClock(START)
        collection = Collection.open(path) if path.exists() else Collection.create(path, settings)
        collection = replace(collection, config=settings)
        self.robot = Robot(collection, self.clock, share=Share(number, 2))
        if number == HERE:
            self.robot.frontier.add([f"{SITE}/"], 0)
        self.robot._commit()

    def tell_news(self, path: str = "/new") -> None:
        """A feed of this robot's has an article that lies on a server of the other's."""
        self.answer(f"{SITE}/", FRONT)
        news = feed((path, START - 60)).replace(SITE, THERE)
        self.answer(f"{SITE}/feed.xml", news, "application/atom+xml")
        self.robot._commit()

    def hops(self, path: str) -> int | None:
        record = self.robot.frontier.visited(fingerprint(THERE + path))
        return record.hops if record else None

    async def close(self) -> None:
        self.robot.stop()
        await self.robot.collect([])


def test_news_on_the_server_of_another_robot_keeps_its_distance_from_the_seed(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    async def scenario() -> tuple[int | None, bool]:
        here, there = Half(tmp_path / "c", HERE), Half(tmp_path / "c", 1 - HERE)
        here.tell_news()
        there.robot._commit()
        there.answer(f"{THERE}/new", "<a href=/too-far>x</a>")
        found = there.hops("/new"), there.robot.frontier.queued(f"{THERE}/too-far") is None
        await here.close()
        await there.close()
        return found

    assert runner.run(scenario()) == (1, True)


def test_news_that_waits_at_another_robot_already_overtakes_the_others(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    async def scenario() -> bool:
        here, there = Half(tmp_path / "c", HERE), Half(tmp_path / "c", 1 - HERE)
        there.robot.frontier.add([f"{THERE}/{name}" for name in "abcde"], 1, found_on=f"{THERE}/")
        there.robot._commit()
        *others, last = there.waiting(THERE)
        here.tell_news(last.removeprefix(THERE))
        there.robot._commit()
        found = there.waiting(THERE)
        await here.close()
        await there.close()
        return found == [last, *others]

    assert runner.run(scenario())


def test_news_for_a_robot_that_does_not_watch_is_a_link_as_far_from_the_seed(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    async def scenario() -> int | None:
        here = Half(tmp_path / "c", HERE)
        here.tell_news()
        await here.close()
        plain = replace(ONE_HOP, refresh=replace(ONE_HOP.refresh, enabled=False))
        there = Half(tmp_path / "c", 1 - HERE, plain)
        queued = there.robot.frontier.queued(f"{THERE}/new")
        await there.close()
        return queued.page.hops if queued else None

    assert runner.run(scenario()) == 1


def test_a_link_of_a_robot_that_knows_of_no_hurry_is_read() -> None:
    """Batches and letters may be older than the robot that reads them."""
    old = msgspec.msgpack.encode([f"{SITE}/x", 2, 1, f"{SITE}/", "feed"])
    assert msgspec.msgpack.decode(old, type=Link) == Link(f"{SITE}/x", 2, 1, f"{SITE}/", "feed")


def test_a_feed_that_robots_txt_names_as_a_sitemap_is_read_as_a_feed(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/rss.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    desk.answer(f"{SITE}/rss.xml", feed(("/new", START - 60)), "application/rss+xml")
    assert desk.waiting() == ["/new"]
    watched = desk.robot._watcher._sights.of(f"{SITE}/rss.xml").watched
    assert watched is not None
    assert watched.kind == FEED


def test_a_sitemap_that_another_robot_found_speaks_for_the_site_that_named_its_index(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    owner = Share(0, 2).owner
    store = next(url for n in range(99) if owner(url := f"http://s{n}.example") != HERE)

    async def scenario() -> int | None:
        here, there = Half(tmp_path / "c", HERE), Half(tmp_path / "c", 1 - HERE)
        here.rules(f"Sitemap: {store}/index.xml")
        here.answer(f"{SITE}/", "<p>no links")
        there.robot._commit()
        index = f"<sitemapindex><sitemap><loc>{SITE}/news.xml</loc></sitemap></sitemapindex>"
        there.answer(f"{store}/index.xml", index, "text/xml")
        here.robot._commit()
        news = f"<news:news><news:publication_date>{stamp(START - 60)}</news:publication_date></news:news>"
        here.answer(f"{SITE}/news.xml", f"<urlset><url><loc>{SITE}/x</loc>{news}</url></urlset>", "text/xml")
        queued = here.robot.frontier.queued(f"{SITE}/x")
        await here.close()
        await there.close()
        return queued.page.hops if queued else None

    assert runner.run(scenario()) == URGENT
