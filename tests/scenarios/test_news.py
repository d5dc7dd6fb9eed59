"""News is fetched as soon as a feed shows it, before everything else that waits at its server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from joro.store.frontier import Frontier
from joro.testweb.news import FEEDS
from joro.testweb.running import Running, separate
from joro.testweb.settings import EPOCH, Settings
from joro.url import host_of
from tests.scenarios.living import DAY_S, Life

#: Two papers with 25 articles a day each, and an archive of 60 days that takes longer than the test.
SETTINGS = Settings(seed=7, hosts=14, pages=2_800, sizes="even", roles=("news", "sitemap"), speed=4_000.0)
#: Seen from virtual time every server is slow; it would be spared even more.
SLOW = {
    "interval_s": 240.0,
    "slow_delay_percent": 0,
    "fast_servers_percent": 0,
    "per_address": 64,
    "address_interval_s": 0.0,
    "robots_age_s": DAY_S / 4,
}
HOURS = 12
#: On a busy machine an answer is made later than the log says: by a tenth of a second, in virtual time this.
LATE_S = 0.1 * SETTINGS.speed

Row = dict[str, Any]
#: What may come before news: where news is looked for.
SOURCES = {"/", "/robots.txt", *(path.decode() for path in FEEDS.values())}


@dataclass(frozen=True)
class Day:
    """Half a day in the life of two papers."""

    life: Life
    requests: dict[str, list[Row]]  # by host, in order
    articles: dict[str, float]  # when each appeared, those before the robot's time included
    start: float
    waiting: int


def lived(web: Running, path: Path) -> Day:
    papers = [host["url"] for host in web.oracle.get("/hosts", role="news")]
    life = Life(replace(web, seeds=papers), path)
    scope = {"domains": [host_of(url) for url in papers]}
    start = life.now()
    until = life.days(HOURS / 24)
    robot = life.live(until, politeness=SLOW, scope=scope)
    requests: dict[str, list[Row]] = defaultdict(list)
    for row in web.oracle.get("/log"):
        requests[row["host"]].append(row)
    articles = {one["url"]: one["time"] for one in web.oracle.get("/articles", since=EPOCH - 60 * DAY_S)}
    return Day(life, requests, articles, start, robot.frontier.counts.found - robot.frontier.counts.visited)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    with separate(SETTINGS) as web:
        yield lived(web, tmp_path_factory.mktemp("news") / "c")


def polls(rows: list[Row]) -> list[int]:
    return [place for place, row in enumerate(rows) if row["path"].encode() in FEEDS.values()]


def shown(day: Day, reading: Row) -> tuple[set[str], set[str]]:
    """The articles that a reading of a feed showed for sure, and all that it may have shown."""
    moment = reading["virtual"]
    there = sorted(
        (time, url)
        for url, time in day.articles.items()
        if host_of(url) == reading["host"] and time < moment + LATE_S
    )
    late = sum(time > moment - 1 for time, _ in there)
    sure = there[: len(there) - late][-15 + late :]
    return {url for _, url in sure}, {url for _, url in there[-15 - late :]}


@pytest.mark.slow
def test_after_a_reading_the_server_is_asked_for_news_and_for_nothing_else(day: Day) -> None:
    found = 0
    for rows in day.requests.values():
        fetched, sure, possible = set[str](), set[str](), set[str]()
        for row in rows:
            if row["path"].encode() in FEEDS.values():
                announced = shown(day, row)
                sure, possible = sure | (announced[0] - fetched), possible | announced[1]
            elif row["path"] not in SOURCES and sure:
                assert row["url"] in possible
                found += 1
            sure.discard(row["url"])
            fetched.add(row["url"])
    assert found > 25


@pytest.mark.slow
def test_all_articles_that_appeared_were_fetched_after_the_next_reading_at_the_latest(day: Day) -> None:
    appeared = 0
    for rows in day.requests.values():
        fetched = {row["url"] for row in rows}
        last = polls(rows)[-2]
        for url, time in day.articles.items():
            if host_of(url) == rows[0]["host"] and day.start < time < rows[last]["virtual"] - 1:
                appeared += 1
                assert url in fetched
    assert appeared > 8


@pytest.mark.slow
def test_the_bulk_still_waits_when_all_news_is_there(day: Day) -> None:
    assert day.waiting > 200


@pytest.mark.slow
def test_feeds_are_read_at_a_pace_of_their_own(day: Day) -> None:
    for rows in day.requests.values():
        times = [rows[place]["virtual"] for place in polls(rows)]
        assert len(times) >= 5
        assert all(later - earlier >= 300 for earlier, later in pairwise(times))


def test_a_crawl_without_refreshing_asks_for_feeds_once_like_for_any_page(tmp_path: Path) -> None:
    with separate(replace(SETTINGS, speed=100_000.0)) as web:
        papers = [host["url"] for host in web.oracle.get("/hosts", role="sitemap")]
        life = Life(replace(web, seeds=papers), tmp_path / "c")
        scope = {"domains": [host_of(url) for url in papers], "hops": 1}
        life.live(lambda _: False, politeness=SLOW, scope=scope, refresh={"enabled": False})
        asked = [row["path"] for row in web.oracle.get("/log")]
    assert len(asked) > 20
    assert not [path for path in asked if "sitemap" in path]


@pytest.mark.slow
def test_a_robot_killed_and_started_again_misses_no_news(tmp_path: Path) -> None:
    with separate(SETTINGS) as web:
        papers = [host["url"] for host in web.oracle.get("/hosts", role="news")]
        life = Life(replace(web, seeds=papers), tmp_path / "c")
        scope = {"domains": [host_of(url) for url in papers], "hops": 3}
        life.live(lambda robot: robot.visits > 5, politeness=SLOW, scope=scope)
        end = life.now() + 6 * 3_600
        life.live_and_be_killed(lambda: life.now() > end)
        killed_at = life.now()
        life.live(life.days(0.2))
        rows = web.oracle.get("/log")
        articles = web.oracle.get("/articles", since=end - 4 * 3_600, until=killed_at)
    frontier = Frontier(tmp_path / "c" / "frontier" / "0-of-1", read_only=True)
    visited = {record.url for record in frontier.all_visited()}
    frontier.abandon()
    assert len(articles) >= 4
    assert {one["url"] for one in articles} <= visited
    assert visited >= {row["url"] for row in rows if row["path"].encode() in FEEDS.values()}
