"""What is new on the news hosts, and where is it announced?

In:    a news host and a moment of virtual time.
Out:   its articles so far, the front page's list of them, an RSS or Atom feed, a page for every day.
Never: announces an article before its time; changes one afterwards.

Articles appear as a Poisson process of `articles_per_day`; they are drawn day by day, so any day of any
host can be made without the days before.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from time import gmtime, strftime
from xml.sax.saxutils import escape

from joro.model import DAY_S
from joro.testweb.answer import Answer, Body, compose, http_date
from joro.testweb.chance import Stream, source, uniform
from joro.testweb.change import poisson
from joro.testweb.frame import page_html
from joro.testweb.plan import Host, Plan
from joro.testweb.settings import EPOCH
from joro.testweb.texts import Texts

#: A host's archive reaches back so far before virtual time began.
ARCHIVE_DAYS = 60
DAY_LIMIT = 80  # articles; the mean is 30 at most
YEAR_DAYS = 500  # needles are told apart for so long
FRONT_ARTICLES, FEED_ARTICLES = 30, 15
SENTENCES = 40
FEEDS = {"rss": b"/feed.xml", "atom": b"/atom.xml"}

_ARTICLE = re.compile(rb"/articles/(\d{4})-(\d\d)-(\d\d)/(\d{1,3})\.html")
_DAY = re.compile(rb"/articles/(\d{4})-(\d\d)-(\d\d)/")


@dataclass(frozen=True)
class Article:
    """One piece of news."""

    host: int
    day: int  # since virtual time began
    number: int  # of that day
    time: float
    title: str
    needle: str

    @property
    def path(self) -> str:
        return f"/articles/{date(self.day)}/{self.number}.html"


def date(day: int) -> str:
    """The day as 2026-01-01."""
    return strftime("%Y-%m-%d", gmtime(EPOCH + day * DAY_S))


def feed_mark(host: Host) -> str:
    """What the head of a news host's pages says about its feed."""
    path = FEEDS[host.kind].decode()
    return f'<link rel="alternate" type="application/{host.kind}+xml" href="{path}">\n'


class News:
    """The articles of all news hosts."""

    def __init__(self, plan: Plan, texts: Texts) -> None:
        self._plan = plan
        self._seed = plan.settings.seed
        self._texts = texts
        hosts = [host.number for host in plan.hosts if host.role == "news"]
        self._rank = {number: rank for rank, number in enumerate(hosts)}
        self.day = lru_cache(maxsize=10_000)(self._day)

    def articles_per_day(self, host: Host) -> float:
        """How many articles appear in the mean: 3 to 30."""
        return 3.0 * math.exp(math.log(10.0) * uniform(self._seed, Stream.ARTICLES, host.number))

    def _day(self, host: Host, day: int) -> tuple[Article, ...]:
        """All articles of one day, oldest first."""
        if day < -ARCHIVE_DAYS:
            return ()
        rng = source(self._seed, Stream.ARTICLES, host.number, day + ARCHIVE_DAYS + 1)
        count = min(DAY_LIMIT, poisson(rng, self.articles_per_day(host)))
        moments = sorted(rng.random() for _ in range(count))
        first = self._plan.pages + ((self._rank[host.number] * YEAR_DAYS) + day + ARCHIVE_DAYS) * DAY_LIMIT
        return tuple(
            Article(
                host=host.number,
                day=day,
                number=number,
                time=EPOCH + (day + moment) * DAY_S,
                title=self._texts.title(rng, host),
                needle=self._texts.needle(host, first + number),
            )
            for number, moment in enumerate(moments)
        )

    def between(self, host: Host, since: float, until: float) -> list[Article]:
        """Articles that appear in (since, until], oldest first."""
        days = range(math.floor((since - EPOCH) / DAY_S), math.floor((until - EPOCH) / DAY_S) + 1)
        return [article for day in days for article in self.day(host, day) if since < article.time <= until]

    def latest(self, host: Host, now: float, count: int) -> list[Article]:
        """The newest articles, newest first."""
        found: list[Article] = []
        day = math.floor((now - EPOCH) / DAY_S)
        while len(found) < count and day >= -ARCHIVE_DAYS:
            found += [article for article in reversed(self.day(host, day)) if article.time <= now]
            day -= 1
        return found[:count]

    def next(self, host: Host, now: float) -> float:
        """When the next article appears."""
        day = math.floor((now - EPOCH) / DAY_S)
        while True:
            later = [article.time for article in self.day(host, day) if article.time > now]
            if later:
                return later[0]
            day += 1

    def front(self, host: Host, now: float) -> str:
        """The list of new articles for the front page."""
        lines = ["<h2>News</h2>\n<ul>\n"]
        lines += [
            f'<li>{moment(one.time)} <a href="{one.path}">{escape(one.title)}</a></li>\n'
            for one in self.latest(host, now, FRONT_ARTICLES)
        ]
        day = math.floor((now - EPOCH) / DAY_S)
        lines.append(f'</ul>\n<p><a href="/articles/{date(day)}/">{date(day)}</a></p>\n')
        return "".join(lines)

    def answer(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer | None:
        """A feed, an article or a day's list; None when the target is none of them or not yet there."""
        if target == FEEDS[host.kind]:
            feed = self._rss(host, now) if host.kind == "rss" else self._atom(host, now)
            mime = f"application/{host.kind}+xml"
            return compose(host, 200, Body(feed.encode(), mime), gzip=gzip, until=self.next(host, now))
        day = _DAY.fullmatch(target)
        if day:
            return self._list(host, _number(day), gzip, now)
        match = _ARTICLE.fullmatch(target)
        if match is None:
            return None
        articles = self.day(host, _number(match))
        number = int(match[4])
        if number >= len(articles) or articles[number].time > now:
            return None
        return self._article(host, articles[number], gzip)

    def _article(self, host: Host, article: Article, gzip: bool) -> Answer:
        rng = source(
            self._seed, Stream.TEXT, self._plan.pages + article.day, host.number * 1_000 + article.number
        )
        pool = self._texts.pool(host)
        sentences = rng.choices(pool.sentences, k=SENTENCES)
        sentences.insert(SENTENCES // 2, pool.about(article.needle))
        text = "".join(f"<p>{''.join(sentences[at : at + 5])}</p>\n" for at in range(0, SENTENCES, 5))
        links = (
            f'<p><a href="/">Home</a> <a href="/articles/{date(article.day)}/">{date(article.day)}</a></p>\n'
        )
        body = page_html(host, article.title, text + links)
        fields = (("Last-Modified", http_date(article.time)),)
        return compose(host, 200, body, fields, gzip=gzip, until=math.inf)

    def _list(self, host: Host, day: int, gzip: bool, now: float) -> Answer | None:
        shown = [article for article in self.day(host, day) if article.time <= now]
        if not -ARCHIVE_DAYS <= day <= math.floor((now - EPOCH) / DAY_S):
            return None
        links = "".join(f'<li><a href="{one.path}">{escape(one.title)}</a></li>\n' for one in shown)
        before = (
            f'<p><a href="/articles/{date(day - 1)}/">{date(day - 1)}</a></p>' if day > -ARCHIVE_DAYS else ""
        )
        body = page_html(host, date(day), f"<ul>\n{links}</ul>\n{before}\n")
        return compose(host, 200, body, gzip=gzip, until=self.next(host, now))

    def _rss(self, host: Host, now: float) -> str:
        entries = "".join(
            f"<item><title>{escape(one.title)}</title><link>{host.url[:-1]}{one.path}</link>"
            f"<guid>{host.url[:-1]}{one.path}</guid><pubDate>{http_date(one.time)}</pubDate></item>\n"
            for one in self.latest(host, now, FEED_ARTICLES)
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>\n'
            f"<title>{host.name}</title><link>{host.url}</link><description>{host.topic}</description>\n"
            f"{entries}</channel></rss>\n"
        )

    def _atom(self, host: Host, now: float) -> str:
        entries = self.latest(host, now, FEED_ARTICLES)
        written = "".join(
            f'<entry><title>{escape(one.title)}</title><link href="{host.url[:-1]}{one.path}"/>'
            f"<id>{host.url[:-1]}{one.path}</id><updated>{moment(one.time)}</updated></entry>\n"
            for one in entries
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
            f'<title>{host.name}</title><link href="{host.url}"/><id>{host.url}</id>'
            f"<updated>{moment(entries[0].time if entries else EPOCH)}</updated>\n{written}</feed>\n"
        )


def moment(time: float) -> str:
    """A moment as Atom and sitemaps write it."""
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(time))


def _number(match: re.Match[bytes]) -> int:
    """Day since virtual time began of a matched date."""
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    return (_days(year, month) + day) - (_days(2026, 1) + 1)


def _days(year: int, month: int) -> int:
    """Days before the first of a month, counted from a March far back so that leap days come last."""
    months = (month + 9) % 12
    years = year - months // 10
    return 365 * years + years // 4 - years // 100 + years // 400 + (months * 306 + 5) // 10
