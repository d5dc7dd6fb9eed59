"""What does it cost to watch feeds, sitemaps and front pages, and how soon is news found?

Measured: CPU time of reading feeds of 50 KB with 20 entries, as a blog program writes them, and a sitemap of
50,000 pages; memory for a gzipped sitemap of 50 MB; CPU time of sifting entries that were there before.
On the test web, in virtual time: how long an article waits, against half the mean pause between readings
(what nobody can better who does not know when it comes), and how many readings that takes.
Left out: fetching.
"""

from __future__ import annotations

import gzip
import importlib
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable

from joro.discover.watch import FEED, FRONT, SITEMAP, Reading, Watched, portions, watch
from joro.model import DAY_S, Entry
from joro.parse.feed import read_feed
from joro.parse.sitemap import LIMIT_BYTES, read_sitemap
from joro.testweb.news import FEED_ARTICLES, FRONT_ARTICLES
from joro.testweb.plan import Host, make
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site

URL = "https://www.example.org/feed/"
FEEDS, ROUNDS = 20, 5
WORDS = "the of and in to archive page version index server change visit time crawl search".split()
DAYS = 60

HEAD = """<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"
	xmlns:content="http://purl.org/rss/1.0/modules/content/"
	xmlns:dc="http://purl.org/dc/elements/1.1/"
	xmlns:atom="http://www.w3.org/2005/Atom"
	xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
<channel><title>A blog</title><atom:link href="https://www.example.org/feed/" rel="self" />
	<link>https://www.example.org/</link><description>Words</description>
	<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>
"""
ENTRY = """	<item>
		<title>{title} &#8211; {number}</title>
		<link>https://www.example.org/2026/11/{number}-{slug}/</link>
		<dc:creator><![CDATA[{title}]]></dc:creator>
		<pubDate>Mon, 16 Nov 2026 08:{minute:02d}:10 +0000</pubDate>
		<category><![CDATA[{title}]]></category><category><![CDATA[words]]></category>
		<guid isPermaLink="false">https://www.example.org/?p={number}</guid>
		<description><![CDATA[<p>{summary} [&#8230;]</p>]]></description>
		<content:encoded><![CDATA[<p>{body}</p> <a href="/x">more</a>]]></content:encoded>
	</item>
"""


def feed(number: int, entries: int = 20) -> bytes:
    """A feed of some 50 KB, a different one for each number."""
    chance = random.Random(number)

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    written = (
        ENTRY.format(
            title=words(6),
            slug=words(3).replace(" ", "-"),
            number=n,
            minute=n % 60,
            summary=words(30),
            body=words(340),
        )
        for n in range(entries)
    )
    return (HEAD + "".join(written) + "</channel></rss>").encode()


def sitemap(pages: int) -> bytes:
    """A sitemap with everything a page can have."""
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    entries = (
        f"<url><loc>https://www.example.org/shop/part-{n % 50}/thing-{n}.html?a=1&amp;b={n}</loc>"
        f"<lastmod>2026-11-{1 + n % 28:02d}T08:00:10+00:00</lastmod><changefreq>weekly</changefreq>"
        "<priority>0.5</priority></url>\n"
        for n in range(pages)
    )
    return (head + "".join(entries) + "</urlset>\n").encode()


def least_s(work: Callable[[], object]) -> float:
    """CPU seconds of the best of several rounds."""
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def reading() -> dict[str, tuple[float, str]]:
    """Speed of the parsers, beside feedparser where it is installed."""
    feeds = [feed(n) for n in range(FEEDS)]
    listing = sitemap(50_000)
    ours = FEEDS / least_s(lambda: [read_feed(one, URL) for one in feeds])
    found = {
        "watch.feeds_per_cpu_s": (ours, "feeds/CPU-s"),
        "watch.sitemap_pages_per_cpu_s": (
            50_000 / least_s(lambda: sum(1 for _ in read_sitemap(listing, URL).entries)),
            "pages/CPU-s",
        ),
        "watch.sitemap_memory_mb": (memory_mb(), "MB"),
    }
    try:
        peer = importlib.import_module("feedparser")
    except ImportError:
        return found
    theirs = FEEDS / least_s(lambda: [peer.parse(one) for one in feeds])
    return found | {"watch.ratio_feedparser": (ours / theirs, "x")}


def memory_mb() -> float:
    """Memory needed beyond the packed body to read as long a sitemap as the protocol allows."""
    page = sitemap(1_000)
    packed = gzip.compress(page[:-10] + page[110:-10] * (LIMIT_BYTES // len(page) + 1), 1)
    tracemalloc.start()
    for _ in read_sitemap(packed, URL).entries:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def sifting() -> tuple[float, str]:
    """Entries a second of a sitemap that has not changed since the last reading."""
    entries = list(read_sitemap(sitemap(50_000), URL).entries)

    def read(before: Watched) -> Watched:
        one = Reading(before, 2e9, lambda urls: [1.0 for _ in urls])
        for portion in portions(entries):
            one.sift(portion)
        return one.close()

    watched = read(watch(SITEMAP, URL, 0.0))
    return len(entries) / least_s(lambda: read(watched)), "entries/CPU-s"


def waited(site: Site, host: Host, kind: str) -> tuple[list[float], int]:
    """Seconds that each article of some weeks waited for its reading, and how many readings there were."""
    start = EPOCH + 20 * DAY_S
    visited: dict[str, float] = {}
    watched = watch(kind, host.url, start)
    times: list[float] = []
    readings = 0
    while (now := watched.due_at) < start + DAYS * DAY_S:
        latest = site.news.latest(host, now, FEED_ARTICLES if kind == FEED else FRONT_ARTICLES)
        appeared = {host.url[:-1] + one.path: one.time for one in latest}
        entries = [Entry(url, moment if kind == FEED else None) for url, moment in appeared.items()]
        one = Reading(watched, now, lambda urls: [visited.get(url) for url in urls])
        for url in one.sift(entries).urgent:
            visited[url] = now
            if appeared[url] > start:
                times.append(now - appeared[url])
        watched = one.close()
        readings += 1
    return times, readings


def finding(kind: str) -> dict[str, tuple[float, str]]:
    """How soon and how dearly articles are found, in the mean of the news hosts."""
    site = Site(make(Settings(seed=7, hosts=400, pages=8_000)))
    late, readings = [], []
    for host in [host for host in site.plan.hosts if host.role == "news"]:
        times, count = waited(site, host, kind)
        late.append(statistics.mean(times) / (DAYS * DAY_S / count / 2))
        readings.append(count / len(times))
    return {
        f"watch.{kind}_wait": (statistics.mean(late), "x"),
        f"watch.{kind}_readings_per_article": (statistics.mean(readings), ""),
    }


def figures() -> dict[str, tuple[float, str]]:
    """Cost and promptness of watching."""
    return {**reading(), "watch.sifted_per_cpu_s": sifting(), **finding(FEED), **finding(FRONT)}
