"""Visits to a make-believe server, handed to a real robot as if its sockets had brought them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvloop

from joro.clock import FakeClock
from joro.config import Config, Refresh, Scope
from joro.coordinate.beat import Link
from joro.coordinate.post import Neighbours
from joro.coordinate.share import Share
from joro.discover.watch import FEED, SITEMAP
from joro.fetch.exclusion import Errand
from joro.fetch.visit import outcome_of
from joro.model import Page, Response, Visit
from joro.robot import Robot
from joro.robot.arrivals import Arrival
from joro.robot.premises import Premises
from joro.store.collection import Collection
from joro.store.queue import URGENT
from joro.store.records import Upkeep
from joro.url import fingerprint, server_of

SITE = "http://a.example"
HOUR_S, DAY_S = 3_600.0, 86_400.0
START = 1_767_225_600.0  # 2026-01-01
FRONT = '<link rel=alternate type=application/rss+xml href="/feed.xml">' + "".join(
    f"<a href=/p{n}.html>{n}</a>" for n in range(8)
)
WATCHING = Config(refresh=Refresh(enabled=True, guess_sitemaps=True, first_interval_s=5 * DAY_S))


class Desk:
    """A robot that is told what servers answered."""

    def __init__(
        self,
        path: Path,
        settings: Config = WATCHING,
        start: float = START,
        *,
        discovers: bool = True,
        joined: Callable[[Premises], Neighbours] | None = None,
    ) -> None:
        self.path = path
        self.clock = FakeClock(start)
        fresh = not path.exists()
        collection = Collection.create(path, settings) if fresh else Collection.open(path)
        self.robot = Robot(collection, self.clock, discovers=discovers, joined=joined)
        if fresh:
            self.robot.frontier.add([f"{SITE}/"], 0)
            self.robot._commit()

    def later(self, seconds: float) -> None:
        asyncio.run(self.clock.advance(seconds))
        self.robot._commit()

    def answer(self, url: str, body: str = "", mime: str = "text/html", **said: str) -> None:
        """The page is visited, if it waits, and all is committed."""
        self.answer_uncommitted(url, body, mime, **said)
        self.robot._commit()

    def answer_uncommitted(self, url: str, body: str, mime: str, **said: str) -> None:
        page = self.robot.frontier.take_url(url)
        assert page is not None, f"{url} does not wait"
        status = int(said.pop("status", "200"))
        headers = {"content-type": mime} | said
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers.items()) + "\r\n"
        response = Response(status, head.encode(), body.encode(), headers)
        outcome = outcome_of(status, headers)
        visit = Visit(page, self.clock.now(), outcome, b"GET / HTTP/1.1\r\n\r\n", response, "127.0.0.1", 0.1)
        self.robot._learn([Arrival(visit, self.robot._keeper.before(page))])

    def rules(self, text: str) -> None:
        """The server's robots.txt is read."""
        errand = Errand(f"{SITE}/robots.txt", SITE)
        response = Response(200, b"HTTP/1.1 200 X\r\n\r\n", text.encode(), {})
        page = Page(errand.url, 0, SITE)
        visit = Visit(page, self.clock.now(), outcome_of(200, {}), b"GET / HTTP/1.1\r\n\r\n", response)
        self.robot._learn_rules(errand, visit)

    def waiting(self, server: str = SITE) -> list[str]:
        """What the server would be asked for, in that order."""
        frontier, pages = self.robot.frontier, []
        while (page := frontier.take(server)) is not None:
            pages.append(page)
        for page in pages:
            frontier.put_back(page)
        return [page.url.removeprefix(SITE) for page in pages]

    def care(self, url: str) -> Upkeep:
        record = self.robot.frontier.visited(fingerprint(url))
        assert record is not None
        assert record.upkeep is not None
        return record.upkeep


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


@pytest.fixture
def desk(tmp_path: Path, runner: asyncio.Runner) -> Iterator[Desk]:
    desk = runner.run(opened(tmp_path / "c"))
    yield desk
    runner.run(closed(desk))


async def opened(
    path: Path, settings: Config = WATCHING, start: float = START, *, discovers: bool = True
) -> Desk:
    return Desk(path, settings, start, discovers=discovers)


async def closed(desk: Desk) -> None:
    desk.robot.stop()
    await desk.robot.collect([])


def feed(*articles: tuple[str, float]) -> str:
    entries = "".join(
        f"<entry><link href='{SITE}{path}'/><updated>{stamp(time)}</updated></entry>"
        for path, time in articles
    )
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{entries}</feed>"


def sitemap(*pages: tuple[str, float]) -> str:
    entries = "".join(
        f"<url><loc>{SITE}{path}</loc><lastmod>{stamp(time)}</lastmod></url>" for path, time in pages
    )
    return f"<urlset>{entries}</urlset>"


def stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()


def test_a_feed_the_front_page_names_is_the_next_page(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    assert desk.waiting()[0] == "/feed.xml"
    assert len(desk.waiting()) == 9


def test_news_comes_before_pages_that_wait_and_old_articles_do_not(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    articles = ("/new.html", START - HOUR_S), ("/old.html", START - 9 * DAY_S)
    desk.answer(f"{SITE}/feed.xml", feed(*articles), "application/atom+xml")
    assert desk.waiting()[0] == "/new.html"
    assert "/old.html" in desk.waiting()[1:]


def test_news_that_waits_as_a_link_already_overtakes_the_others(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    last = desk.waiting()[-1]
    desk.answer(f"{SITE}/feed.xml", feed((last, START - 60)), "application/atom+xml")
    assert desk.waiting()[0] == last
    assert len(desk.waiting()) == 8


def test_a_feed_is_read_again_when_it_is_time_and_before_pages_that_are_due(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    articles = [(f"/{n}.html", START - n * HOUR_S) for n in range(1, 9)]
    desk.answer(f"{SITE}/feed.xml", feed(*articles), "application/atom+xml")
    care = desk.care(f"{SITE}/feed.xml")
    assert care.polled
    assert 300.0 <= care.due - START < HOUR_S
    desk.later(care.due - START - 1)
    assert "/feed.xml" not in desk.waiting()
    desk.later(2)
    desk.later(0)
    assert "/feed.xml" in desk.waiting()[:9]  # the articles are urgent too


def test_an_article_keeps_its_distance_from_the_seed_though_it_came_first(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/new.html", START - 60)), "application/atom+xml")
    desk.answer(f"{SITE}/new.html", "<a href=/deeper.html>x</a>")
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/new.html"))
    deeper = desk.robot.frontier.queued(f"{SITE}/deeper.html")
    assert (record and record.hops, deeper and deeper.page.hops) == (1, 2)


def test_a_page_outside_the_scope_is_not_news(tmp_path: Path, runner: asyncio.Runner) -> None:
    narrow = replace(WATCHING, scope=Scope(exclude=("*/secret/*",)))
    desk = runner.run(opened(tmp_path / "c", narrow))
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/secret/x.html", START - 60)), "application/atom+xml")
    assert "/secret/x.html" not in desk.waiting()
    runner.run(closed(desk))


def test_a_feed_that_moved_is_read_where_it_is_now(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", status="301", location=f"{SITE}/atom")
    assert desk.waiting()[0] == "/atom"
    desk.answer(f"{SITE}/atom", feed(("/new.html", START - 60)), "application/atom+xml")
    assert desk.waiting()[0] == "/new.html"


def test_a_feed_that_fails_is_asked_again_later_and_later(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    pauses = []
    for _ in range(3):
        desk.answer(f"{SITE}/feed.xml", status="404")
        pauses.append(desk.care(f"{SITE}/feed.xml").due - desk.clock.now())
        desk.later(pauses[-1] + 1)
        desk.later(0)
    assert pauses[0] < pauses[1] < pauses[2]


def test_an_unchanged_feed_leads_nowhere_and_stays_watched(desk: Desk) -> None:
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/new.html", START - 60)), "application/atom+xml")
    before = desk.waiting()
    desk.later(DAY_S)
    desk.later(0)
    desk.answer(f"{SITE}/feed.xml", status="304")
    assert set(desk.waiting()) == set(before)
    assert desk.care(f"{SITE}/feed.xml").due > desk.clock.now()
    watched = desk.robot._watcher._sights.of(f"{SITE}/feed.xml").watched
    assert watched is not None
    assert (watched.failures, watched.readings) == (0, 1)


async def reopened(desk: Desk, *, discovers: bool) -> Desk:
    """The next robot: `joro refresh` looks for no new pages, `joro crawl --keep-fresh` does."""
    await closed(desk)
    return Desk(desk.path, start=desk.clock.now(), discovers=discovers)


def test_who_looks_for_no_new_pages_leaves_a_feed_and_its_date_to_those_who_do(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/", FRONT)
    articles = [(f"/{n}.html", START - n * HOUR_S) for n in range(1, 9)]
    desk.answer(f"{SITE}/feed.xml", feed(*articles), "application/atom+xml")
    desk = runner.run(reopened(desk, discovers=False))
    for _ in range(8):
        desk.later(HOUR_S)
        desk.later(0)
        assert "/feed.xml" not in desk.waiting()
    desk = runner.run(reopened(desk, discovers=True))
    desk.later(HOUR_S)
    desk.later(0)
    assert "/feed.xml" in desk.waiting()
    runner.run(closed(desk))


@pytest.mark.parametrize("conditional", [True, False])
def test_news_that_came_while_nobody_looked_for_new_pages_is_read_later(
    tmp_path: Path, runner: asyncio.Runner, conditional: bool
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/", FRONT)
    desk.answer(f"{SITE}/feed.xml", feed(("/1.html", START - 60)), "application/atom+xml", etag="1")
    desk.robot._keeper.urge(f"{SITE}/feed.xml")
    desk = runner.run(reopened(desk, discovers=False))
    desk.later(HOUR_S)
    second = feed(("/2.html", START + 60), ("/1.html", START - 60))
    desk.answer(f"{SITE}/feed.xml", second, "application/atom+xml", etag="2")
    assert desk.care(f"{SITE}/feed.xml").polled
    desk = runner.run(reopened(desk, discovers=True))
    desk.robot.frontier.server(SITE).validated = 3 if conditional else -1
    desk.later(DAY_S)
    desk.later(0)
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/feed.xml"))
    assert record is not None
    assert desk.robot._watcher.validators(record) == {}
    desk.answer(f"{SITE}/feed.xml", second, "application/atom+xml", etag="2")
    assert desk.waiting()[0] in ("/1.html", "/2.html")
    assert "/2.html" in desk.waiting()[:2]
    record = desk.robot.frontier.visited(fingerprint(f"{SITE}/feed.xml"))
    assert record is not None
    assert bool(desk.robot._watcher.validators(record)) == conditional
    runner.run(closed(desk))


def test_sitemaps_named_by_robots_txt_are_read_through_an_index(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/index.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    assert desk.waiting() == ["/index.xml"]
    index = f"<sitemapindex><sitemap><loc>{SITE}/part.xml</loc></sitemap></sitemapindex>"
    desk.answer(f"{SITE}/index.xml", index, "application/xml")
    assert desk.waiting() == ["/part.xml"]
    desk.answer(f"{SITE}/part.xml", sitemap(("/hidden.html", START - DAY_S)), "application/xml")
    assert desk.waiting() == ["/hidden.html"]


def test_an_index_that_robots_txt_names_elsewhere_speaks_for_the_site(desk: Desk) -> None:
    store = "http://store.example"
    desk.rules(f"Sitemap: {store}/a/index.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    index = f"<sitemapindex><sitemap><loc>{store}/a/news.xml</loc></sitemap></sitemapindex>"
    desk.answer(f"{store}/a/index.xml", index, "application/xml")
    day = stamp(START - HOUR_S)
    news = f"<news:news><news:publication_date>{day}</news:publication_date></news:news>"
    desk.answer(f"{store}/a/news.xml", f"<urlset><url><loc>{SITE}/x</loc>{news}</url></urlset>", "text/xml")
    found = desk.robot.frontier.queued(f"{SITE}/x")
    assert found is not None
    assert found.page.hops == URGENT


def test_indexes_that_call_each_other_changed_are_not_read_in_turns_for_ever(desk: Desk) -> None:
    desk.rules(f"Sitemap: {SITE}/a.xml")
    desk.answer(f"{SITE}/", "<p>no links")
    readings = 0
    while (waiting := desk.waiting()) and readings < 8:
        readings += 1
        other = {"/a.xml": "/b.xml", "/b.xml": "/a.xml"}[waiting[0]]
        listed = f"<sitemap><loc>{SITE}{other}</loc><lastmod>{stamp(desk.clock.now())}</lastmod></sitemap>"
        desk.answer(SITE + waiting[0], f"<sitemapindex>{listed}</sitemapindex>", "application/xml")
        desk.later(20)
    assert readings <= 3


def test_a_guess_that_was_wrong_is_not_repeated(desk: Desk) -> None:
    desk.rules("")
    desk.answer(f"{SITE}/", FRONT)
    assert "/sitemap.xml" in desk.waiting()[:2]
    desk.answer(f"{SITE}/sitemap.xml", status="404")
    desk.rules("")
    desk.answer(f"{SITE}/p1.html", "x")
    desk.later(20 * DAY_S)
    desk.later(0)
    assert "/sitemap.xml" not in desk.waiting()


def test_nobody_guesses_who_was_not_told_to(tmp_path: Path, runner: asyncio.Runner) -> None:
    desk = runner.run(opened(tmp_path / "c", Config(refresh=Refresh(enabled=True))))
    desk.rules("")
    desk.answer(f"{SITE}/", "<p>nothing")
    assert desk.waiting() == []
    runner.run(closed(desk))


def watch_dates(desk: Desk, *, honest: bool, turns: int = 6) -> None:
    """Ten pages in a sitemap, some of which change every eight days, seen for so many rounds."""
    pages = [f"/p{n}.html" for n in range(10)]
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/", "".join(f"<a href={page}>x</a>" for page in pages))
    changed = dict.fromkeys(pages, START - DAY_S)
    for turn in range(turns):
        now = desk.clock.now()
        told = {page: time if honest else now for page, time in changed.items()}
        if "/sitemap.xml" in desk.waiting():
            desk.answer(f"{SITE}/sitemap.xml", sitemap(*told.items()), "application/xml")
        desk.later(60)
        for number, page in enumerate(pages):
            if page in desk.waiting():
                text = f"text of {number} that is long enough to be one " * 9 + f" {changed[page]}"
                desk.answer(f"{SITE}{page}", f"<p>{text}")
        desk.later(7.5 * DAY_S)
        changed |= dict.fromkeys(pages[: 5 if turn % 2 else 3], desk.clock.now())
        desk.later(DAY_S / 2)
        for _ in range(3):
            desk.later(0)


@pytest.mark.parametrize("honest", [True, False])
def test_who_tells_the_truth_is_believed_and_who_does_not_is_not(desk: Desk, honest: bool) -> None:
    watch_dates(desk, honest=honest)
    trust = desk.robot._watcher._sights.lookout(SITE).trust
    assert trust.comparisons >= 10
    assert (trust.is_good, trust.is_broken) == (honest, not honest)


@pytest.mark.parametrize("honest", [True, False])
def test_a_believed_server_brings_changed_pages_forward(
    tmp_path: Path, runner: asyncio.Runner, honest: bool
) -> None:
    """There is one visit a day, so nobody comes without a reason, and nobody sooner than after an hour."""
    patient = replace(WATCHING, refresh=replace(WATCHING.refresh, visits_per_day=1))
    desk = runner.run(opened(tmp_path / "c", patient))
    watch_dates(desk, honest=honest, turns=12)
    while (waiting := desk.waiting()) != []:
        desk.answer(SITE + waiting[0], "<p>seen", "application/xml" if "xml" in waiting[0] else "text/html")
    desk.later(60)
    now = desk.clock.now()
    desk.robot._keeper.urge(f"{SITE}/sitemap.xml")
    desk.robot._commit()
    desk.answer(f"{SITE}/sitemap.xml", sitemap(("/p7.html", now), ("/p8.html", START)), "application/xml")
    assert (desk.robot.frontier.server(SITE).signals > 0) == honest
    assert desk.waiting() == []
    desk.later(HOUR_S)
    desk.later(0)
    assert desk.waiting() == (["/p7.html"] if honest else [])
    runner.run(closed(desk))


def links(first: int, count: int = 10) -> str:
    return "".join(f"<a href=/story-{n}.html>{n}</a>" for n in range(first, first + count))


def test_a_page_on_which_pages_keep_appearing_gets_dates_of_its_own(desk: Desk) -> None:
    first = 100
    for _ in range(5):
        desk.answer(f"{SITE}/", f"<h1>Today</h1>{links(first)}")
        first -= 3
        is_polled, pause_s = (care := desk.care(f"{SITE}/")).polled, care.due - desk.clock.now()
        desk.later(pause_s + 1)
        desk.later(0)
    assert is_polled
    assert pause_s <= DAY_S
    desk.answer(f"{SITE}/", f"<h1>Today</h1>{links(first)}")
    found = [desk.robot.frontier.queued(f"{SITE}/story-{n}.html") for n in range(first, first + 3)]
    assert [one and one.page.hops for one in found] == [URGENT] * 3


def test_a_page_whose_links_stay_is_visited_when_the_policy_says(desk: Desk) -> None:
    for turn in range(5):
        desk.answer(f"{SITE}/", f"<h1>{turn}</h1>{links(1)}")
        assert not desk.care(f"{SITE}/").polled
        desk.later(desk.care(f"{SITE}/").due - desk.clock.now() + 1)
        desk.later(0)


def test_after_a_kill_the_archive_leads_to_the_same_sources_and_news(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c"))
    desk.answer(f"{SITE}/", FRONT)
    told = feed(("/new.html", START - 60), ("/newer.html", START - 30))
    desk.answer_uncommitted(f"{SITE}/feed.xml", told, "application/atom+xml")
    desk.answer_uncommitted(f"{SITE}/new.html", "<p>news", "text/html")
    desk.robot._archive.flush()
    desk.robot.frontier.abandon()
    again = runner.run(opened(tmp_path / "c", start=START + 60))
    assert again.waiting()[0] == "/newer.html"
    assert "/new.html" not in again.waiting()
    assert again.care(f"{SITE}/feed.xml").polled
    runner.run(closed(again))


def test_without_refreshing_nothing_is_watched(tmp_path: Path, runner: asyncio.Runner) -> None:
    desk = runner.run(opened(tmp_path / "c", Config()))
    desk.rules(f"Sitemap: {SITE}/sitemap.xml")
    desk.answer(f"{SITE}/", FRONT)
    assert set(desk.waiting()) == {"/feed.xml", *(f"/p{n}.html" for n in range(8))}
    assert desk.robot.frontier.sources.of_page(f"{SITE}/feed.xml") is None
    runner.run(closed(desk))


def test_a_source_of_another_robot_goes_to_its_owner(tmp_path: Path, runner: asyncio.Runner) -> None:
    there = next(
        url for url in (f"http://{n}.example/" for n in range(99)) if Share(0, 2).owner(server_of(url)) == 1
    )

    async def scenario() -> list[str]:
        collection = Collection.create(tmp_path / "c", WATCHING)
        sender = Robot(collection, FakeClock(START), share=Share(0, 2))
        sender._watcher.watch(FEED, f"{there}feed", Page(f"{SITE}/", 2, SITE), START)
        await closed_robot(sender)
        reader = Robot(collection, FakeClock(START), share=Share(1, 2))
        page = reader.frontier.take(server_of(there))
        watched = reader._watcher._sights.of(f"{there}feed").watched
        await closed_robot(reader)
        return [page.url if page else "", watched.kind if watched else ""]

    assert runner.run(scenario()) == [f"{there}feed", FEED]


async def closed_robot(robot: Robot) -> None:
    robot.stop()
    await robot.collect([])


def test_a_letter_about_a_source_is_no_page_for_who_does_not_watch(
    tmp_path: Path, runner: asyncio.Runner
) -> None:
    desk = runner.run(opened(tmp_path / "c", Config()))
    assert desk.robot._watcher.takes(Link(f"{SITE}/s.xml", 1, 0, f"{SITE}/", SITEMAP))
    assert desk.waiting() == ["/"]
    runner.run(closed(desk))
