"""News and changes are found where servers announce them: on the real test web, and over virtual weeks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import pytest

from joro.discover.feeds import Declared
from joro.discover.news import front_entries, is_hub
from joro.discover.sitemaps import sitemap_sources
from joro.discover.trust import Trust, is_announced
from joro.discover.watch import FEED, FRONT, INDEX, SITEMAP, Findings, Reading, Watched, portions, watch
from joro.fetch import robotstxt
from joro.fetch.head import fields_of
from joro.model import DAY_S, Entry, Response
from joro.parse.charset import charset_of, decode
from joro.parse.feed import NO_FEED, declared_feeds, read_feed
from joro.parse.html import Tree
from joro.parse.page import outline_of
from joro.parse.payload import payload
from joro.parse.sitemap import read_sitemap, sitemap_of
from joro.testweb.news import FEED_ARTICLES
from joro.testweb.paths import path
from joro.testweb.plan import Host, Plan, make
from joro.testweb.running import Running, running
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.url import path_of, server_of
from tests.testweb.ask import ask

SETTINGS = Settings(seed=11, hosts=60, pages=1_800, sizes="even", roles=("news", "sitemap"))
START = EPOCH + 20 * DAY_S
WEEK_S = 7 * DAY_S
END = START + 3 * WEEK_S


@pytest.fixture(scope="module")
def web() -> Iterator[Running]:
    with running(SETTINGS) as web:
        yield web


@pytest.fixture(scope="module")
def site() -> Site:
    return Site(make(SETTINGS))


def hosts(plan: Plan, role: str, *kinds: str) -> list[Host]:
    return [host for host in plan.hosts if host.role == role and (not kinds or host.kind in kinds)]


def fetched(web: Running, url: str) -> Response:
    reply = ask(web.port, url)
    return Response(reply.status, b"", reply.body, reply.headers)


def at(site: Site, host: Host, url: str, now: float) -> Response:
    """What the host answers at a moment of virtual time."""
    answer = site.answer(host, path_of(url).encode(), True, now)
    head = answer.wire[: answer.head_bytes]
    fields = fields_of(head)
    chunked = "chunked" in fields.get("transfer-encoding", "")
    return Response(answer.status, head, answer.wire[answer.head_bytes :], fields, chunked=chunked)


def feeds_named(url: str, response: Response) -> list[str]:
    content = payload(response)
    return declared_feeds(
        Tree(decode(content, charset_of(content, response.headers.get("content-type", "")))), url
    )


def answers(site: Site, host: Host, now: float) -> Callable[[str], Response]:
    return lambda url: at(site, host, url, now)


def addresses(host: Host) -> list[str]:
    """The URLs of a host's pages, in the order of their numbers."""
    return [host.url[:-1] + path(host, place) for place in range(host.pages)]


def listed(fetch: Callable[[str], Response], sources: list[str]) -> Iterator[Entry]:
    """All pages of sitemaps, through indexes too."""
    for url in sources:
        sitemap = sitemap_of(url, fetch(url))
        if sitemap.kind == "index":
            yield from listed(fetch, [entry.url for entry in sitemap.entries])
        else:
            yield from sitemap.entries


def test_every_feed_of_the_web_is_found_and_read(web: Running, site: Site) -> None:
    for host in hosts(site.plan, "news"):
        (feed_url,) = Declared().add(host.url, feeds_named(host.url, fetched(web, host.url)))
        response = fetched(web, feed_url)
        content = payload(response)
        feed = read_feed(content, feed_url, response.headers.get("content-type", ""))
        truth = web.oracle.get("/articles", host=host.name, since=EPOCH - 60 * DAY_S)[-FEED_ARTICLES:]
        assert feed.kind == host.kind
        assert [(one.url, int(one.time or 0), one.title) for one in reversed(feed.entries)] == [
            (one["url"], int(one["time"]), one["title"]) for one in truth
        ]


def test_every_page_of_a_sitemap_is_found_though_none_links_there(web: Running, site: Site) -> None:
    for host in hosts(site.plan, "sitemap"):
        robots = fetched(web, f"{host.url}robots.txt")
        rules = robotstxt.from_status(robots.status, payload(robots), "joro")
        sources = sitemap_sources(server_of(host.url), rules.sitemaps)
        if host.kind == "gzip" and not rules.sitemaps:
            continue  # a guess does not find sitemap.xml.gz
        entries = list(listed(lambda url: fetched(web, url), sources))
        assert [one.url for one in entries] == addresses(host)
        assert all((one.time is None) == (host.kind == "undated") for one in entries)


def test_the_front_pages_of_the_web_are_no_feeds_and_no_sitemaps(web: Running) -> None:
    for url in web.seeds:
        content = payload(fetched(web, url))
        assert read_feed(content, url, "text/html") == NO_FEED
        assert read_sitemap(content, url, "text/html").kind == ""


class Library:
    """Pages visited, each at once when it is found."""

    def __init__(self) -> None:
        self.visited: dict[str, float] = {}

    def __call__(self, urls: list[str]) -> list[float | None]:
        return [self.visited.get(url) for url in urls]

    def take(self, findings: Findings, now: float) -> list[str]:
        found = findings.urgent + findings.new
        self.visited |= dict.fromkeys(found, now)
        return found


def watched_weeks(site: Site, host: Host, kind: str) -> tuple[Watched, list[float], int]:
    """A source watched for three weeks: (what is known then, hours each article waited, readings)."""
    library = Library()
    truth = {host.url[:-1] + one.path: one.time for one in site.news.between(host, START, END)}
    url = host.url if kind == FRONT else feeds_named(host.url, at(site, host, host.url, START))[0]
    watched = watch(kind, host.url, START)
    waited_h: list[float] = []
    readings = 0
    while (now := watched.due_at) < END:
        readings += 1
        response = at(site, host, url, now)
        reading = Reading(watched, now, library)
        if kind == FRONT:
            findings = reading.sift(front_entries(url, outline_of(url, response).to_follow))
            watched = reading.close()
        else:
            feed = read_feed(payload(response), url)
            findings = reading.sift(feed.entries)
            watched = reading.close(feed.hints)
        for page in library.take(findings, now):
            if page in truth:
                waited_h.append((now - truth[page]) / 3_600)
                assert page in findings.urgent
    assert len(waited_h) >= sum(time < now - DAY_S for time in truth.values())
    return watched, waited_h, readings


@pytest.mark.parametrize("kind", [FEED, FRONT])
def test_articles_are_found_soon_with_few_readings(site: Site, kind: str) -> None:
    """An article waits a quarter of the mean gap between two, for two readings an article."""
    for host in hosts(site.plan, "news")[:2]:
        watched, waited_h, readings = watched_weeks(site, host, kind)
        gap_h = 24 / site.news.articles_per_day(host)
        assert statistics.mean(waited_h) < 0.45 * gap_h
        assert readings < 2.5 * len(waited_h)
        assert is_hub(watched) == (kind == FRONT)


def test_pages_whose_links_stay_are_no_hubs(site: Site) -> None:
    for host in hosts(site.plan, "normal")[:5]:
        library = Library()
        front = watch(FRONT, host.url, START)
        for day in range(12):
            now = START + day * DAY_S
            reading = Reading(front, now, library)
            links = outline_of(host.url, at(site, host, host.url, now)).to_follow
            library.take(reading.sift(front_entries(host.url, links)), now)
            front = reading.close()
        assert not is_hub(front)


def compared(site: Site, host: Host) -> Trust:
    """What is known of a server's dates after eight weeks, in which every page was visited every week."""
    trust = Trust()
    for week in range(1, 9):
        now = START + week * WEEK_S
        dates = {one.url: one for one in listed(answers(site, host, now), [f"{host.url}sitemap.xml"])}
        for place, url in enumerate(addresses(host)):
            if url in dates:
                trust.book(
                    announced=is_announced(dates[url].time, dates[url].span_s, now - WEEK_S),
                    changed=bool(site.changed(host.first + place, now - WEEK_S, now)),
                    elapsed_s=WEEK_S,
                )
    return trust


def test_servers_with_right_dates_are_believed_and_those_with_wrong_ones_are_not(site: Site) -> None:
    for kind in ("right", "index", "wrong"):
        host = max(hosts(site.plan, "sitemap", kind), key=lambda host: host.pages)
        trust = compared(site, host)
        assert trust.comparisons > 50
        assert trust.is_good == (kind != "wrong")
        assert trust.is_broken == (kind == "wrong")


def test_a_sitemap_announces_changes_of_pages_we_know(site: Site) -> None:
    host = max(hosts(site.plan, "sitemap", "right"), key=lambda host: host.pages)
    sitemap_url = f"{host.url}sitemap.xml"
    library = Library()
    watched = watch(SITEMAP, host.url, START)
    for now in (START, START + 10 * DAY_S):
        reading = Reading(watched, now, library)
        signals = []
        for portion in portions(listed(answers(site, host, now), [sitemap_url]), 7):
            findings = reading.sift(portion)
            library.take(findings, now)
            signals += findings.signals
        watched = reading.close()
    changed = {
        url
        for place, url in enumerate(addresses(host))
        if site.changed(host.first + place, START, now) and site.changes.gone(host.first + place) > now
    }
    assert {signal.url for signal in signals} == changed
    assert len(changed) > 5


def test_an_index_is_followed_to_its_sitemaps_once(site: Site) -> None:
    host = hosts(site.plan, "sitemap", "index")[0]
    url = f"{host.url}sitemap.xml"
    watched = watch(INDEX, host.url, START)
    told = []
    for now in (START, START + DAY_S):
        reading = Reading(watched, now, Library())
        told.append(reading.sift(list(sitemap_of(url, at(site, host, url, now)).entries)).sitemaps)
        watched = reading.close()
    assert told[0]
    assert told[1] == []
