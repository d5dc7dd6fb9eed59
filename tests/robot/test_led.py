"""Sources and news that are reached by redirects, indexes and links, and sources that are none any more."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from joro.config import Scope
from joro.discover.watch import FEED
from joro.discover.watch import FRONT as FRONT_PAGE
from joro.model import Page
from joro.store.queue import DUE
from joro.url import fingerprint
from tests.robot.test_watcher import (
    DAY_S,
    FRONT,
    HOUR_S,
    SITE,
    START,
    WATCHING,
    Desk,
    closed,
    desk,
    feed,
    opened,
    runner,
    sitemap,
    stamp,
)

__all__ = ["desk", "runner"]


def index_of(*paths: str) -> str:
    entries = "".join(f"<sitemap><loc>{SITE}{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex>{entries}</sitemapindex>"


def test_an_index_behind_two_redirects_leads_to_its_sitemaps(desk: Desk) -> None:
    www = "http://www.a.example"
    desk.rules("")
    desk.answer(f"{SITE}/", "<p>no links")
    desk.answer(f"{SITE}/sitemap.xml", status="301", location=f"{www}/sitemap.xml")
    desk.answer(f"{www}/sitemap.xml", status="301", location=f"{www}/sitemap_index.xml")
    index = index_of("/posts.xml").replace(SITE, www)
    desk.answer(f"{www}/sitemap_index.xml", index, "text/xml")
    assert desk.waiting(www) == [f"{www}/posts.xml"]


def test_a_source_that_goes_on_redirecting_is_followed_no_further_than_the_limit(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/0.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    for number in range(4):
        desk.answer(f"{SITE}/{number}.xml", status="301", location=f"{SITE}/{number + 1}.xml")
    assert desk.robot._watcher._sights.of(f"{SITE}/3.xml").is_source
    assert not desk.robot._watcher._sights.of(f"{SITE}/4.xml").is_source


def test_an_index_that_was_too_deep_leads_on_when_it_is_named_itself(desk: Desk) -> None:
    """Read before as an index of an index of an index: its sitemaps were left alone and stand there still."""
    desk.rules(f"Sitemap: {SITE}/0.xml")
    desk.answer(f"{SITE}/", "<p>no links<a href=/p1.html>1</a>")
    desk.answer(f"{SITE}/0.xml", index_of("/1.xml"), "text/xml")
    desk.answer(f"{SITE}/1.xml", index_of("/2.xml"), "text/xml")
    desk.answer(f"{SITE}/2.xml", index_of("/3.xml"), "text/xml", etag="1")
    assert "/3.xml" not in desk.waiting()
    desk.rules(f"Sitemap: {SITE}/2.xml")
    desk.answer(f"{SITE}/p1.html", "x")
    assert desk.waiting() == ["/2.xml"]
    desk.answer(f"{SITE}/2.xml", index_of("/3.xml"), "text/xml", etag="1")
    assert desk.waiting() == ["/3.xml"]
    desk.answer(f"{SITE}/3.xml", sitemap(("/hidden.html", START - DAY_S)), "text/xml")
    assert desk.waiting() == ["/hidden.html"]


def test_what_an_older_version_counted_as_too_deep_is_reached_through_the_same_redirects(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    desk.answer(f"{SITE}/sitemap.xml", status="301", location=f"{SITE}/index.xml")
    sights = desk.robot._watcher._sights
    sights.keep(f"{SITE}/index.xml", structs.replace(sights.of(f"{SITE}/index.xml"), depth=2, redirects=0))
    desk.answer(f"{SITE}/index.xml", index_of("/posts.xml"), "text/xml")
    assert desk.waiting() == []
    desk.robot._keeper.urge(f"{SITE}/sitemap.xml")
    desk.robot._commit()
    desk.answer(f"{SITE}/sitemap.xml", status="301", location=f"{SITE}/index.xml")
    desk.answer(f"{SITE}/index.xml", index_of("/posts.xml"), "text/xml")
    assert desk.waiting() == ["/posts.xml"]


def test_a_page_that_its_own_servers_robots_txt_names_is_read_at_that_very_visit(desk: Desk) -> None:
    desk.answer(f"{SITE}/", "<a href=/sitemap.xml>x</a>")
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/sitemap.xml", sitemap(("/hidden.html", START - DAY_S)), "text/xml")
    assert desk.waiting() == ["/hidden.html"]


def test_a_front_page_that_calls_itself_a_feed_stays_a_front_page(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT.replace("/feed.xml", "/"))
    watched = desk.robot._watcher._sights.of(f"{SITE}/").watched
    assert watched is not None
    assert watched.kind == FRONT_PAGE


def told_of(desk: Desk, *articles: str) -> None:
    desk.answer(f"{SITE}/", FRONT)
    told = feed(*((path, START - HOUR_S) for path in articles))
    desk.answer(f"{SITE}/feed.xml", told, "application/atom+xml")


def test_news_that_redirects_comes_first_where_it_leads(desk: Desk) -> None:
    told_of(desk, "/new")
    desk.answer(f"{SITE}/new", status="301", location=f"{SITE}/new/")
    assert desk.waiting()[0] == "/new/"
    desk.answer(f"{SITE}/new/", "<a href=/deeper.html>x</a>")
    records = [desk.robot.frontier.visited(fingerprint(f"{SITE}{path}")) for path in ("/new", "/new/")]
    assert [record and record.hops for record in records] == [1, 2]


def test_news_that_redirects_to_https_comes_first_there(desk: Desk) -> None:
    there = "https://www.a.example"
    desk.robot.frontier.add([f"{there}/{n}.html" for n in range(9)], 1)
    told_of(desk, "/new.html")
    desk.answer(f"{SITE}/new.html", status="301", location=f"{there}/new.html")
    assert desk.waiting(there)[0] == f"{there}/new.html"


def test_news_that_redirects_to_another_domain_hurries_nobody_there(desk: Desk) -> None:
    there = "http://b.example"
    desk.robot.frontier.add([f"{there}/{n}.html" for n in range(9)], 1)
    told_of(desk, "/new.html")
    desk.answer(f"{SITE}/new.html", status="301", location=f"{there}/new.html")
    assert f"{there}/new.html" in desk.waiting(there)[1:]


def test_news_that_redirects_to_a_page_that_is_known_does_not_hurry_it(desk: Desk) -> None:
    told_of(desk, "/new.html")
    desk.robot._keeper.urge(f"{SITE}/")
    desk.robot._commit()
    desk.answer(f"{SITE}/new.html", status="302", location=f"{SITE}/")
    found = desk.robot.frontier.queued(f"{SITE}/")
    assert found is not None
    assert found.page.hops == DUE


def test_news_that_goes_on_redirecting_waits_in_line_in_the_end(desk: Desk) -> None:
    told_of(desk, "/0")
    turns = 0
    while desk.waiting()[0] == f"/{turns}":
        desk.answer(f"{SITE}/{turns}", status="302", location=f"{SITE}/{turns + 1}")
        turns += 1
        assert turns < 9
    assert turns == 4
    assert f"/{turns}" in desk.waiting()


def test_a_page_that_nobody_announced_hurries_nothing_by_redirecting(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT.replace("rss+xml", "x"))
    desk.answer(f"{SITE}/p1.html", status="301", location=f"{SITE}/moved.html")
    assert desk.waiting()[-1] == "/moved.html"


@pytest.mark.parametrize(("hops", "follows"), [(0, True), (1, True), (2, False)])
def test_news_that_waits_nearer_to_a_seed_already_stays_as_near(
    tmp_path: Path, runner: asyncio.Runner, hops: int, follows: bool
) -> None:
    desk = runner.run(opened(tmp_path / "c", replace(WATCHING, scope=Scope(hops=2))))
    desk.answer(f"{SITE}/", "<a href=/about.html>x</a>")
    desk.robot.frontier.add([f"{SITE}/new.html"], hops)
    desk.robot._commit()
    desk.answer(f"{SITE}/about.html", FRONT)
    for place in ("feed", "more"):
        desk.robot._watcher.watch(FEED, f"{SITE}/{place}.xml", Page(f"{SITE}/about.html", 1, SITE), START)
        told = feed(("/new.html", START - 60)), "application/atom+xml"
        desk.answer_uncommitted(f"{SITE}/{place}.xml", *told)
    desk.robot._commit()
    desk.answer(f"{SITE}/new.html", "<a href=/further.html>x</a>")
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/new.html"))
    assert record is not None
    assert record.hops == hops
    assert ("/further.html" in desk.waiting()) == follows
    runner.run(closed(desk))


@pytest.mark.parametrize("headers", [{}, {"x-robots-tag": "nofollow"}])
def test_what_is_no_feed_any_more_is_asked_for_on_condition_once_it_was_looked_at(
    desk: Desk, headers: dict[str, str]
) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/new.html", START - 60)), "application/atom+xml", etag="1")
    desk.later(DAY_S)
    desk.later(0)
    body = feed() if headers else "<p>We have no feed any more"
    desk.answer(f"{SITE}/feed.xml", body, "text/html", etag="2", **headers)
    desk.robot.frontier.server(SITE).validated = 3
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/feed.xml"))
    assert record is not None
    assert desk.robot._watcher.validators(record)["etag"] == "2"


def articles(desk: Desk) -> str:
    """A feed with an article an hour, the last twenty of them."""
    last = int((desk.clock.now() - START) // HOUR_S)
    return feed(*((f"/x{hour}.html", START + hour * HOUR_S) for hour in range(last - 19, last + 1)))


def feed_visits(desk: Desk, days: float, body: Callable[[Desk], str], status: str = "200") -> int:
    """How often the feed is visited in so many days; `status` is that of a second answer and those after."""
    visits, until = 0, desk.clock.now() + days * DAY_S
    while desk.clock.now() < until:
        if "/feed.xml" in desk.waiting():
            desk.answer(f"{SITE}/feed.xml", body(desk), "text/xml", status=status if visits else "200")
            visits += 1
        desk.later(600)
    return visits


@pytest.mark.parametrize("status", ["200", "304"])
def test_what_is_no_feed_any_more_and_stays_as_it_is_is_asked_for_ever_more_rarely(
    desk: Desk, status: str
) -> None:
    desk.answer(f"{SITE}/", FRONT)
    assert feed_visits(desk, 3, articles) > 30
    assert feed_visits(desk, 10, lambda _: "<p>We have no feed any more", status) < 16


def test_a_feed_that_is_back_is_read_as_often_as_if_it_had_failed_meanwhile(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    feed_visits(desk, 3, articles)
    pages = itertools.count()
    feed_visits(desk, 9.5, lambda _: f"<p>Back soon {next(pages)}")
    while "/feed.xml" not in desk.waiting():
        desk.later(600)
    desk.answer(f"{SITE}/feed.xml", articles(desk), "text/xml")
    watched = desk.robot._watcher._sights.of(f"{SITE}/feed.xml").watched
    assert watched is not None
    assert watched.arrivals.time_s > 9 * DAY_S


@pytest.mark.parametrize("status", ["200", "404"])
def test_a_sitemap_that_its_index_calls_changed_for_nothing_is_read_ever_more_rarely_and_no_other(
    desk: Desk, status: str
) -> None:
    desk.rules(f"Sitemap: {SITE}/index.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    visits = Counter[str]()
    for hour in range(48):
        now = desk.clock.now()
        for path in desk.waiting():
            visits[path] += 1
            if path == "/index.xml":
                listed = "".join(
                    f"<sitemap><loc>{SITE}/{name}.xml</loc><lastmod>{stamp(now)}</lastmod></sitemap>"
                    for name in ("still", "lively")
                )
                desk.answer(SITE + path, f"<sitemapindex>{listed}</sitemapindex>", "application/xml")
            elif path == "/still.xml":
                desk.answer(SITE + path, sitemap(("/0.html", START)), "application/xml", status=status)
            elif path == "/lively.xml":
                desk.answer(SITE + path, sitemap((f"/new{hour}.html", START)), "application/xml")
            else:
                desk.answer(SITE + path, "<p>the same")
        desk.later(HOUR_S)
        desk.later(0)
    assert visits["/still.xml"] < 8
    assert visits["/lively.xml"] > 20


def test_the_word_of_an_index_writes_nothing_of_the_sitemaps_it_calls_changed(desk: Desk) -> None:
    """With eight bytes for each of 50,000 entries, 5,000 sitemaps would be two gigabytes in one commit."""
    names = [f"/{number}.xml" for number in range(9)]
    desk.rules(f"Sitemap: {SITE}/index.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    desk.answer(f"{SITE}/index.xml", index_of(*names), "application/xml")
    for name in names:
        desk.answer(SITE + name, sitemap(), "application/xml")
    desk.later(60)
    desk.robot._keeper.urge(f"{SITE}/index.xml")
    desk.robot._commit()
    assert not set(names) & set(desk.waiting())
    listed = "".join(
        f"<sitemap><loc>{SITE}{name}</loc><lastmod>{stamp(desk.clock.now())}</lastmod></sitemap>"
        for name in names
    )
    desk.answer_uncommitted(f"{SITE}/index.xml", f"<sitemapindex>{listed}</sitemapindex>", "application/xml")
    written = list(desk.robot.frontier.sources._changed)
    desk.robot._commit()
    assert set(names) <= set(desk.waiting())
    assert len(written) == 1


def test_a_sitemap_visited_at_its_own_date_for_nothing_is_read_at_the_next_word_of_its_index(
    desk: Desk,
) -> None:
    desk.rules(f"Sitemap: {SITE}/still.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    for _ in range(2):
        while "/still.xml" not in desk.waiting():
            desk.later(HOUR_S)
        desk.answer(f"{SITE}/still.xml", sitemap(("/0.html", START)), "application/xml")
    assert desk.robot._watcher._sights.of(f"{SITE}/still.xml").deaf_until == 0.0
