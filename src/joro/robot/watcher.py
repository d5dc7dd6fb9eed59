"""Which pages are sources of news, and what did a reading of one lead to?

In:    every visit that ended, with the page's outline; robots.txt files, as they are learned.
Out:   sources, registered as pages; urgent pages first in their servers' queues, other new ones as usual;
       signals that known pages changed, for the keeper; of every source the moment of its next reading.
Never: asks the network: a source is a page, visited in its server's turn and archived like any other;
       keeps a source in memory; reads anything twice because of a crash: states and visits share one commit.
Paper: S4-01, the RSS and news collectors beside the one that refreshes.

What a reading means is `discover.watch`'s business. Here it is fed with records, and obeyed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import structs

from joro.config import Refresh
from joro.coordinate.beat import Link
from joro.coordinate.post import Neighbours
from joro.discover.news import front_entries, is_barren, is_hub, may_be_front
from joro.discover.scope import Boundary
from joro.discover.sitemaps import SITEMAP_LIMIT, listed_sitemaps, sitemap_sources
from joro.discover.trust import is_announced
from joro.discover.watch import (
    FEED,
    FRONT,
    INDEX,
    POLLING,
    SITEMAP,
    Findings,
    Reading,
    Watched,
    failed,
    portions,
    told_nothing,
)
from joro.discover.watch import unchanged as unchanged_since
from joro.discover.watch import watch as first_watched
from joro.fetch.robotstxt import Robots
from joro.model import Entry, Outcome, Page, PollHints, Response, Visit
from joro.parse.feed import read_feed
from joro.parse.outline import Outline
from joro.parse.payload import payload
from joro.parse.sitemap import sitemap_of
from joro.robot.keeper import ASIDE_S, Keeper, is_changed, is_part
from joro.robot.sights import NOTHING, Sight, Sights
from joro.store.frontier import Frontier
from joro.store.queue import URGENT
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint, host_of, path_of, registrable_domain, server_of

#: Sources and news are followed through so many redirects in a row; indexes count apart (`sitemaps`).
REDIRECT_LIMIT = 3
#: Entries whose dates are still looked at when a server's dates proved worthless: it may mend its ways.
SAMPLE = 50

Register = Callable[..., None]


class Watcher:
    """The sources of one robot; `register(urls, page, urgent=…)` takes in links as the robot does."""

    def __init__(
        self,
        frontier: Frontier,
        settings: Refresh,
        keeper: Keeper,
        boundary: Boundary,
        neighbours: Neighbours,
        register: Register,
        rules: Callable[[str], Robots | None],
        *,
        discovers: bool = True,
    ) -> None:
        self._frontier = frontier
        self._sights = Sights(frontier.sources)
        # Who takes in no new pages must not read what is new either: it would be known then, and lost.
        self.enabled = settings.enabled and settings.watch and discovers
        self._guesses = settings.guess_sitemaps
        self._most_interval_s = settings.most_interval_s
        self._keeper = keeper
        self._boundary = boundary
        self._neighbours = neighbours
        self._register = register
        self._rules = rules
        self._unasked: set[str] = set()  # servers whose robots.txt is new, until a page of theirs is visited

    def first_seen(self, page: Page, before: PageRecord | None) -> Page:
        """The page as it was found, as many links from a seed as it was then."""
        if before is not None or page.hops != URGENT:
            return self._keeper.first_seen(page, before)
        return structs.replace(page, hops=self._sights.of(page.url).hops)

    def sown(self, seeds: list[str]) -> None:
        """Pages that were known are seeds now, also those that wait out of their turn."""
        for url in seeds:
            if (sight := self._sights.of(url)).hops:
                self._sights.keep(url, structs.replace(sight, hops=0))

    def rules_learned(self, server: str) -> None:
        """A server's robots.txt was read; sitemaps it names are taken up with the server's next page."""
        if self.enabled:
            self._unasked.add(server)

    def learn(
        self, visit: Visit, page: Page, before: PageRecord | None, digest: str, outline: Outline | None
    ) -> float | None:
        """Take in a visit; when the page is to be read again, or None when its date is the policy's.

        `page` is the page as it was first seen, `digest` that of the payload.
        """
        if not self.enabled:
            return self._left_alone(visit, page)
        self._look_around(visit, page, outline)  # which may name this very page
        sight = self._sights.of(page.url)
        care = before.upkeep if before is not None else None
        if before is not None and sight.announced and not sight.is_source:
            sight = self._compare(visit, before, sight, digest, outline)
        same = visit.outcome is Outcome.NOT_MODIFIED or (
            care is not None and bool(digest) and digest == care.body and not care.torn
        )  # of a source that was torn off, the rest has not been read
        same = same and not _is_unread(care, sight.watched)
        if visit.outcome is Outcome.REDIRECT and before is None and outline is not None:
            self._follow_news(visit.page, page, sight, outline)
        if not sight.is_source:
            watched = self._front(visit, page, sight.watched, outline, is_new=before is None, is_same=same)
            is_polled = watched is not None and is_hub(watched)
        else:
            watched = self._source(visit, page, sight, outline, is_same=same)
            is_polled = watched is not None
            if before is not None and _is_urged_in_vain(visit, sight.watched, watched):
                sight = _in_vain(sight, visit, before, POLLING[SITEMAP].most_s)
        hops = page.hops if watched is not None else 0
        if watched is not sight.watched or hops != sight.hops:
            self._sights.keep(page.url, structs.replace(sight, watched=watched, hops=hops))
        return watched.due_at if watched is not None and is_polled else None

    def _left_alone(self, visit: Visit, page: Page) -> float | None:
        """A source visited by one who reads none, because it waited: it keeps its date for those who do."""
        sight = self._sights.of(page.url) if self._keeper.learns else NOTHING
        if sight.watched is None or not sight.is_source:
            return None
        return max(sight.watched.due_at, visit.time + ASIDE_S)

    def validators(self, before: PageRecord) -> dict[str, str]:
        """What makes a request conditional: nothing, where nobody has read what was archived last."""
        fields, care = self._keeper.validators(before), before.upkeep
        watched = self._sights.of(before.url).watched if fields and self.enabled else None
        if care is None or watched is None or watched.looked_at >= care.captured_at:
            return fields
        return {} if _is_unread(care, watched) else fields

    def watch(
        self,
        kind: str,
        url: str,
        page: Page,
        now: float,
        *,
        home: str = "",
        depth: int = 0,
        redirects: int = 0,
        guess: bool = False,
    ) -> None:
        """Read a source as soon as its server's turn comes, and from time to time; `page` named it."""
        if not self._neighbours.is_ours(url):
            self._neighbours.offer(Link(url, page.hops, 0, page.url, kind, home=home))
            return
        sight, lookout = self._sights.of(url), self._sights.lookout(server_of(url))
        if sight.is_source:
            self._draw_nearer(url, sight, depth, redirects)
            return
        if redirects > REDIRECT_LIMIT or lookout.sitemaps >= SITEMAP_LIMIT:
            return
        if not self._boundary.within([url], page.hops + 1):
            return
        watched = first_watched(kind, page.url, now)
        if home:
            watched = structs.replace(watched, home=home)
        self._sights.keep(url, Sight(watched, page.hops, depth, guess, sight.announced, redirects))
        if kind == SITEMAP:
            lookout.sitemaps += 1
            self._sights.keep_lookout(server_of(url), lookout)
        self._register([url], page, urgent=True)
        self._keeper.urge(url, urgent=True)  # if it was visited before

    def _draw_nearer(self, url: str, sight: Sight, depth: int, redirects: int) -> None:
        """A known source is named by a shorter way: an index is read as if anew, for it may lead on now."""
        watched = sight.watched
        if watched is None or depth >= sight.depth:
            return
        if watched.kind == INDEX:
            watched = structs.replace(watched, read_at=0.0, readings=0, marks=b"", older=b"")
            self._keeper.urge(url, urgent=True)
        self._sights.keep(url, structs.replace(sight, watched=watched, depth=depth, redirects=redirects))

    def takes(self, link: Link) -> bool:
        """Take up a source, or a page in a hurry, that another robot found on our servers."""
        source, server = link.found_on, server_of(link.found_on) if link.found_on else ""
        if link.kind and self.enabled:
            self.watch(link.kind, link.url, Page(source, link.hops, server), 0.0, home=link.home)
        elif link.urgent and self.enabled:
            self._hurry([link.url], Page(source, max(link.hops - 1, 0), server, max(link.cgi_hops - 1, 0)))
            return True
        return bool(link.kind)

    def _look_around(self, visit: Visit, page: Page, outline: Outline | None) -> None:
        """Take up the sources that a page and its server's robots.txt name."""
        if outline is not None and outline.feeds and outline.follow and visit.outcome is Outcome.OK:
            lookout = self._sights.lookout(page.server)
            chosen = lookout.declared.add(page.url, outline.feeds)
            self._sights.keep_lookout(page.server, lookout)
            for url in chosen:
                if url != page.url:  # some name themselves
                    self.watch(FEED, url, page, visit.time)
        if page.server in self._unasked and visit.response is not None:
            self._take_sitemaps(page, visit.time)

    def _take_sitemaps(self, page: Page, now: float) -> None:
        rules = self._rules(page.server)
        if rules is None:
            return
        self._unasked.discard(page.server)
        lookout = self._sights.lookout(page.server)
        guess = self._guesses and not lookout.has_guessed and not rules.sitemaps
        if guess:
            lookout.has_guessed = True
            self._sights.keep_lookout(page.server, lookout)
        for url in sitemap_sources(page.server, rules.sitemaps, guess=guess):
            self.watch(SITEMAP, url, page, now, guess=guess)

    def _front(
        self,
        visit: Visit,
        page: Page,
        watched: Watched | None,
        outline: Outline | None,
        *,
        is_new: bool,
        is_same: bool,
    ) -> Watched | None:
        """A page that may be a front page, at a visit it gets anyway or, if it is one, for its own sake."""
        is_read = visit.outcome is Outcome.OK and outline is not None
        if watched is None:
            # On its first visit only a server's own front page is remembered: a crawl has better to do.
            if not is_read or (is_new and path_of(page.url) != "/"):
                return None
            if outline is None or not may_be_front(page.url, len(outline.links)):
                return None
            watched = first_watched(FRONT, page.url, visit.time)
        if is_barren(watched):
            return structs.replace(watched, marks=b"", older=b"")
        if is_same and watched.readings:
            return unchanged_since(watched, visit.time)
        if not is_read or outline is None:
            return failed(watched, visit.time)
        # What stands there at first is neither new nor old.
        reading = Reading(watched, visit.time, self._last_visits if watched.readings else _all_known)
        findings = reading.sift(front_entries(page.url, outline.to_follow))
        if is_hub(watched):
            self._hurry(findings.urgent, page)
        return reading.close()

    def _source(
        self, visit: Visit, page: Page, sight: Sight, outline: Outline | None, *, is_same: bool
    ) -> Watched | None:
        """A feed or a sitemap was visited; None when it was a guess, and wrong."""
        watched = sight.watched
        assert watched is not None
        if is_same and watched.readings:
            return unchanged_since(watched, visit.time)
        looked_at = watched  # nothing there is left to be read, if all of it came
        if visit.outcome is Outcome.OK and not is_part(visit):
            looked_at = structs.replace(watched, looked_at=visit.time)
        if outline is not None and not outline.follow:  # it asks us to leave its entries alone
            return None if sight.is_guess and not watched.readings else failed(looked_at, visit.time)
        if visit.outcome is Outcome.OK and visit.response is not None:
            kind, entries, hints = _opened(watched.kind, page.url, visit.response)
            if kind:
                return self._read(
                    visit.time, page, sight, structs.replace(watched, kind=kind), entries, hints
                )
        if visit.outcome is Outcome.REDIRECT and outline is not None and outline.links:
            depth, redirects = sight.depth, sight.redirects + 1
            home, target = watched.home, outline.links[0]
            self.watch(watched.kind, target, page, visit.time, home=home, depth=depth, redirects=redirects)
        if sight.is_guess and not watched.readings and visit.response is not None:
            return None
        return failed(looked_at, visit.time)

    def _read(
        self,
        now: float,
        page: Page,
        sight: Sight,
        watched: Watched,
        entries: Iterable[Entry],
        hints: PollHints,
    ) -> Watched:
        trust = self._sights.lookout(page.server).trust
        reading = Reading(watched, now, self._last_visits, trust)
        sample = SAMPLE if trust.is_broken else 0
        for portion in portions(entries):
            findings = reading.sift(portion)
            self._hurry(findings.urgent, page)
            if findings.new:
                self._register(findings.new, page)
            self._take_listed(findings, page, sight, now)
            self._take_signals(findings, now, now - watched.read_at)
            if sample:
                self._announce(self._dated(portion[:sample], now), now)
                sample = 0
        return reading.close(hints)

    def _take_listed(self, findings: Findings, page: Page, sight: Sight, now: float) -> None:
        """The sitemaps of an index: new ones are watched, others have changed."""
        if not findings.sitemaps:
            return
        known, home = self._sights.lookout(page.server).sitemaps, sight.watched.home if sight.watched else ""
        for url in listed_sitemaps(page.url, findings.sitemaps, known, sight.depth, home):
            there, depth = self._sights.of(url), sight.depth + 1
            listed = there.watched
            if listed is None or there.depth > depth:
                self.watch(SITEMAP, url, page, now, home=home, depth=depth)
            elif now >= there.deaf_until and (
                listed.kind != INDEX or now - listed.read_at >= POLLING[INDEX].least_s
            ):  # two indexes that call each other new do so for ever
                self._keeper.urge(url)

    def _take_signals(self, findings: Findings, now: float, every_s: float) -> None:
        """Known pages changed, it is said; who has told the truth so far is believed."""
        if findings.signals:
            self._keeper.hear(findings.signals, every_s)  # which looks whether they were announced before
            self._announce([signal.url for signal in findings.signals], now)

    def _announce(self, urls: Iterable[str], now: float) -> None:
        for url in urls:
            self._sights.keep(url, structs.replace(self._sights.of(url), announced=now))

    def _dated(self, entries: list[Entry], now: float) -> list[str]:
        """Pages of which worthless dates say that they changed."""
        visits = self._last_visits([entry.url for entry in entries])
        return [
            entry.url
            for entry, visited_at in zip(entries, visits, strict=True)
            if visited_at and is_announced(entry.time, entry.span_s, visited_at)
        ]

    def _compare(
        self, visit: Visit, before: PageRecord, sight: Sight, digest: str, outline: Outline | None
    ) -> Sight:
        """Had the page changed when its server said so, and had it not when the server was silent?"""
        care, changed = before.upkeep, False
        if care is None:  # given up
            if visit.outcome is not Outcome.GONE or sight.announced <= before.time:
                return sight
            sight = _in_vain(sight, visit, before, self._most_interval_s)
            self._sights.keep(visit.page.url, sight)
        else:
            is_there = visit.outcome in (Outcome.OK, Outcome.NOT_MODIFIED)
            if not is_there or not care.captured_at or is_part(visit):
                return sight
            changed = is_changed(visit, care, digest, outline.main if outline is not None else 0)
        seen_at = _seen_at(before)
        lookout = self._sights.lookout(visit.page.server)
        lookout.trust.book(
            announced=sight.announced > seen_at, changed=changed, elapsed_s=visit.time - seen_at
        )
        self._sights.keep_lookout(visit.page.server, lookout)
        return sight

    def _follow_news(self, taken: Page, page: Page, sight: Sight, outline: Outline) -> None:
        """News that redirects comes first where it leads, too, if that is on its own domain and not known.

        Only news waits among the seeds and is some links away from one: `taken` is the page as it waited.
        """
        is_news = taken.hops == URGENT and page.hops > 0 and not sight.is_source
        if not is_news or sight.redirects >= REDIRECT_LIMIT:
            return
        domain = registrable_domain(host_of(page.url))
        there = [url for url in outline.to_follow[:1] if registrable_domain(host_of(url)) == domain]
        if there and not self._last_visits(there)[0] and not self._sights.of(there[0]).is_source:
            self._hurry(there, page, sight.redirects + 1)

    def _hurry(self, urls: list[str], page: Page, redirects: int = 0) -> None:
        """Let pages nobody has visited come first at their servers."""
        near = self._boundary.within(urls, page.hops + 1) if urls else []
        for url in near:
            if self._neighbours.is_ours(url):
                sight = self._sights.of(url)
                hops = self._nearest(url, sight, page.hops + 1)
                self._sights.keep(url, structs.replace(sight, hops=hops, redirects=redirects))
        if near:
            self._register(near, page, urgent=True)

    def _nearest(self, url: str, sight: Sight, hops: int) -> int:
        """Links from a seed to a page in a hurry, fewer where it waits already: seeds wait as urgent ones."""
        place = self._frontier.place_of(server_of(url), fingerprint(url), range(hops))
        if place is None:
            return min(sight.hops or hops, hops)
        return min(place[0][-9] or sight.hops, hops)

    def _last_visits(self, urls: list[str]) -> list[float | None]:
        """When each page was last there, or looked for if it never was: a visit that failed saw nothing."""
        marks = np.fromiter(map(fingerprint, urls), np.uint64, len(urls))
        records = self._frontier.records(marks)
        return [_seen_at(record) if record is not None else None for record in records]


def _is_urged_in_vain(visit: Visit, before: Watched | None, after: Watched | None) -> bool:
    """Did a source tell nothing when it was visited before its date, as after the word of an index?

    The date tells it: to note the word would be to write all that is remembered of each source it names.
    """
    if before is None or after is None:
        return False
    return visit.time < before.due_at and told_nothing(before, after)


def _in_vain(sight: Sight, visit: Visit, before: PageRecord, most_s: float) -> Sight:
    """What was announced for nothing is not heard of for twice the time since the visit before."""
    return structs.replace(sight, deaf_until=visit.time + min(2.0 * (visit.time - before.time), most_s))


def _seen_at(record: PageRecord) -> float:
    care = record.upkeep
    return care.seen_at if care is not None and care.seen_at else record.time


def _is_unread(care: Upkeep | None, watched: Watched | None) -> bool:
    """Was a source visited by one who reads none, and is new since its last reading, or was never read?

    A barren front page is read no more.
    """
    if care is None or watched is None or is_barren(watched):
        return False
    return watched.read_at < care.captured_at


def _opened(kind: str, url: str, response: Response) -> tuple[str, Iterable[Entry], PollHints]:
    """The entries of a source, with what it is ("": no source) and when it asks to be read."""
    if kind != FEED:
        sitemap = sitemap_of(url, response)
        if sitemap.kind:
            return (INDEX if sitemap.kind == "index" else SITEMAP), sitemap.entries, PollHints()
    feed = read_feed(payload(response), url, response.headers.get("content-type", ""))  # a sitemap may be one
    return (FEED if feed.kind else ""), feed.entries, feed.hints


def _all_known(urls: list[str]) -> list[float | None]:
    return [1.0] * len(urls)
