from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from joro.model import DAY_S
from joro.testweb.news import ARCHIVE_DAYS, FEED_ARTICLES, FEEDS
from joro.testweb.plan import Plan
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site
from tests.testweb.conftest import a_host

NOW = EPOCH + 3.5 * DAY_S


def body(site: Site, plan: Plan, kind: str, target: bytes, now: float = NOW) -> bytes:
    answer = site.answer(a_host(plan, "news", kind), target, False, now)
    assert answer.status == 200
    return answer.wire[answer.head_bytes :]


def test_articles_appear_at_the_planned_rate(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    found = site.news.between(host, EPOCH, EPOCH + 200 * DAY_S)
    assert len(found) / 200 == pytest.approx(site.news.articles_per_day(host), rel=0.1)
    assert [article.time for article in found] == sorted(article.time for article in found)


def test_the_latest_are_those_before_now_newest_first(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    latest = site.news.latest(host, NOW, 10)
    assert latest == site.news.between(host, NOW - 60 * DAY_S, NOW)[:-11:-1]


def test_the_next_article_is_not_there_yet_and_then_it_is(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    time = site.news.next(host, NOW)
    (article,) = site.news.between(host, NOW, time)
    assert site.answer(host, article.path.encode(), False, time - 1).status == 404
    assert site.answer(host, article.path.encode(), False, time).status == 200


def test_the_front_page_shows_a_new_article_at_once(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    time = site.news.next(host, NOW)
    (article,) = site.news.between(host, NOW, time)
    before, after = site.page(host, host.first, False, NOW), site.page(host, host.first, False, time)
    assert before.until <= time
    assert article.path.encode() not in before.wire
    assert article.path.encode() in after.wire
    assert before.wire != after.wire


def test_a_new_article_is_a_change_of_the_front_page(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    time = site.news.next(host, NOW)
    assert time in site.changed(host.first, NOW, time)
    assert site.is_news(host.first, NOW, time)
    assert site.state(host.first, time).version != site.state(host.first, NOW).version
    assert site.state(host.first, time).since == time


def test_every_page_of_a_news_host_names_its_feed(site: Site, plan: Plan) -> None:
    assert b'<link rel="alternate" type="application/rss+xml" href="/feed.xml">' in body(
        site, plan, "rss", b"/"
    )


def test_rss_lists_the_latest(site: Site, plan: Plan) -> None:
    feed = ElementTree.fromstring(body(site, plan, "rss", FEEDS["rss"]).split(b"\r\n\r\n")[-1])
    links = [entry.findtext("link") for entry in feed.iter("item")]
    host = a_host(plan, "news", "rss")
    assert links == [host.url[:-1] + one.path for one in site.news.latest(host, NOW, FEED_ARTICLES)]


def test_atom_lists_the_latest(site: Site, plan: Plan) -> None:
    feed = body(site, plan, "atom", FEEDS["atom"])
    host = a_host(plan, "news", "atom")
    assert all(one.path.encode() in feed for one in site.news.latest(host, NOW, FEED_ARTICLES))


def test_an_article_holds_its_needle(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news", "rss")
    (article,) = site.news.latest(host, NOW, 1)
    assert article.needle.encode(host.charset, "xmlcharrefreplace") in body(
        site, plan, "rss", article.path.encode()
    )


def test_the_archive_reaches_back_to_its_first_day_and_ends(site: Site, plan: Plan) -> None:
    host = a_host(plan, "news")
    assert site.answer(host, b"/articles/2025-11-02/", False, NOW).status == 200
    assert site.answer(host, b"/articles/2025-11-01/", False, NOW).status == 404
    assert site.answer(host, b"/articles/2026-01-05/", False, NOW).status == 404
    assert ARCHIVE_DAYS == 60
