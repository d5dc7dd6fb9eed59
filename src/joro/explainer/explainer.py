"""Why is this page in the collection, or why not, and what happens to it next?

In:    a collection, also while robots work in it, and a canonical URL.
Out:   how the page was found, every rule that decides about it, its visits, when it is due.
Never: asks the network, or changes anything: what it tells is as of the robots' last commit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import msgspec
import numpy as np
from msgspec.structs import replace

from joro.archive.index import CaptureIndex
from joro.archive.read import response_at
from joro.archive.times import warc_date
from joro.coordinate.share import Share
from joro.discover.news import is_hub
from joro.discover.scope import Boundary
from joro.discover.traps import WATCHED_FROM, Traps
from joro.discover.wanted import Wanted
from joro.discover.watch import Watched, is_source
from joro.explainer.portraits import Portraits, known_prior, rules_in
from joro.fetch.guard import Guard
from joro.fetch.pace import standing
from joro.fetch.politeness import Manners, interval_s, promised_until, reasons
from joro.index.folding import entry_with_family
from joro.index.segment import Reader, place
from joro.model import Capture, Outcome, Page
from joro.parse.missing import is_sent_home, target_of
from joro.schedule import change, cycle, prior
from joro.schedule.figures import ServerFigures
from joro.store.accounts import FAILED
from joro.store.collection import Collection
from joro.store.frontier import Frontier, Queued
from joro.store.layout import share_count, shares
from joro.store.orders import TAKEDOWN, OrderBook
from joro.store.queue import URGENT
from joro.store.records import UNHEARD, PageRecord, ServerRecord
from joro.url import fingerprint, host_of, is_address, server_of

#: Longer chains cannot be: scope.hops is at most 255.
LONGEST_CHAIN = 256


@dataclass(frozen=True)
class Step:
    """A page on the way from a seed to the page in question; "" where its record is missing."""

    url: str
    hops: int


@dataclass(frozen=True)
class Decision:
    """What one rule says: `passes` is None while it cannot tell."""

    rule: str
    passes: bool | None
    reason: str


@dataclass(frozen=True)
class Pause:
    """Politeness in force at the page's server."""

    server: str
    interval_s: float
    crawl_delay_s: float | None
    window: str
    failures: int
    ready_at: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class LastVisit:
    """How the latest visit ended, whether or not it left a capture."""

    time: float
    outcome: str
    status: int


@dataclass(frozen=True)
class Keeping:
    """How a page is kept fresh."""

    visits: int  # that could tell whether it had changed
    changes: int  # of these, visits that found it changed
    interval_s: float  # wished between two visits
    due_at: float  # or later, if visits became dearer since
    absences: int  # visits in a row that found it gone
    failures: int = 0  # visits in a row that failed


@dataclass(frozen=True)
class Source:
    """What a page is watched for, because it tells of others."""

    kind: str  # feed, sitemap, index, front
    readings: int  # so far


@dataclass(frozen=True)
class Cycle:
    """All pages of a server are visited in so many days, because it has some in these languages."""

    languages: tuple[str, ...]  # those of `refresh.languages` that were found there
    days: int


@dataclass(frozen=True)
class Standing:
    """How a page stands in search."""

    time: float | None  # of the capture that is searchable; None: none is
    soft_404: bool = False  # it says that there is no such page, or leads to the front page instead
    copy_of: str = ""  # the page known first of those that say nearly the same; "" if it is this one
    similar: int = 0  # other searchable pages that say nearly the same
    hidden_by: str = ""  # the order because of which none is


@dataclass(frozen=True)
class Hidden:
    """Captures that are in the archive, and that an order withholds."""

    order: str
    captures: int
    is_to_go: bool  # `joro takedown collect` erases them


@dataclass(frozen=True)
class Explanation:
    """All there is to know about one URL."""

    url: str
    state: str  # unknown, waiting, visited
    chain: tuple[Step, ...]  # from the seed to the page itself
    decisions: tuple[Decision, ...]
    politeness: Pause
    last_visit: LastVisit | None
    captures: tuple[Capture, ...]
    search: Standing
    change_interval_s: float | None  # None: not estimated yet
    upkeep: Keeping | None  # None: not visited again
    due_at: float | None
    due: str
    server: ServerFigures | None = None  # how its server's pages are kept fresh; None: none is
    hidden: tuple[Hidden, ...] = ()  # what `captures` leaves out
    source: Source | None = None  # None: no page that is watched
    cycle: Cycle | None = None  # of its server; None: it has none

    @property
    def refusal(self) -> Decision | None:
        """The first rule that says no."""
        return next((decision for decision in self.decisions if decision.passes is False), None)


def explain(collection: Collection, url: str, now: float) -> Explanation:
    """All there is to know about a canonical URL."""
    with ExitStack() as stack:
        count = share_count(collection.frontier)
        frontiers = [Frontier(folder, read_only=True) for folder in shares(collection.frontier, count)]
        for frontier in frontiers:
            stack.callback(frontier.abandon)
        return _Inquiry(collection, frontiers, url, now).explanation()


class _Sight(msgspec.Struct, array_like=True):
    """What watching remembers of a page, as far as it is told."""

    watched: Watched | None = None
    hops: int = 0  # how far from a seed news is
    depth: int = 0
    is_guess: bool = False
    announced: float = 0.0  # when it was last called changed
    redirects: int = 0
    deaf_until: float = 0.0  # what is called changed before is looked for then


class _Inquiry:
    """One question and where to look for its answers."""

    def __init__(self, collection: Collection, frontiers: list[Frontier], url: str, now: float) -> None:
        self._collection = collection
        self._settings = collection.config
        self._frontiers = frontiers
        self._home = frontiers[Share(0, len(frontiers)).owner(server_of(url))] if frontiers else None
        self._now = now
        self._url = url
        self._server = server_of(url)
        self._boundary = Boundary(self._settings.scope)
        self._orders = OrderBook(collection.orders, lambda: now)
        self._captures = CaptureIndex(collection.archive, withheld=self._orders.is_withheld)
        self._manners = Manners(self._settings.politeness)
        self._record = self._home.server(self._server) if self._home else ServerRecord()
        self._robots = self._home.robots(self._server) if self._home else None
        self._queued = self._home.queued(url) if self._home else None
        self._visited = self._visited_page(fingerprint(url))

    def explanation(self) -> Explanation:
        decisions = tuple(self._decisions())
        due_at, due = self._due(next((each for each in decisions if each.passes is False), None))
        visited = self._visited
        captures = tuple(self._captures.versions(self._url))
        return Explanation(
            url=self._url,
            state="waiting" if self._queued else "visited" if visited else "unknown",
            chain=tuple(self._chain()),
            decisions=decisions,
            politeness=self._politeness(),
            last_visit=LastVisit(visited.time, visited.outcome, visited.status) if visited else None,
            captures=captures,
            search=self._standing(captures),
            change_interval_s=self._change_interval_s(),
            upkeep=self._keeping(),
            due_at=due_at,
            due=due,
            server=self._server_figures(),
            hidden=tuple(self._hidden()),
            source=self._source(),
            cycle=self._cycle(),
        )

    def _source(self) -> Source | None:
        watched = self._sight.watched
        if watched is None or not (is_source(watched) or is_hub(watched)):
            return None
        return Source(watched.kind, watched.readings)

    def _cycle(self) -> Cycle | None:
        chosen, there = self._settings.refresh.languages, self._record.languages
        languages = tuple(each for each in chosen if cycle.holds_any(there, [each]))
        return Cycle(languages, self._settings.refresh.cycle_days) if languages else None

    def _hidden(self) -> Iterator[Hidden]:
        versions = CaptureIndex(self._collection.archive).versions(self._url)
        withheld = Counter(order for each in versions if (order := self._orders.order_about(each)))
        for order, number in withheld.items():
            yield Hidden(order.sentence, number, order.act == TAKEDOWN)

    def _server_figures(self) -> ServerFigures | None:
        if self._home is None or not self._record.wishes:
            return None
        return Portraits(self._home, self._settings, self._manners).of(self._server, self._record)

    def _standing(self, captures: tuple[Capture, ...]) -> Standing:
        entry, family = entry_with_family(
            Reader(place(self._collection.index)), self._url, self._orders.hides()
        )
        if entry is not None:
            seen = entry.url, entry.time, entry.digest
            if (order := self._orders.latest().withholds(*seen, self._now)) is not None:
                return Standing(None, hidden_by=order.sentence)
        is_missing = (entry is not None and entry.soft_404) or self._is_sent_home(captures)
        if entry is None or family is None:
            return Standing(entry.time if entry else None, is_missing)
        first = family.first.url
        return Standing(entry.time, is_missing, first if first != self._url else "", family.pages - 1)

    def _is_sent_home(self, captures: tuple[Capture, ...]) -> bool:
        """Does its newest answer lead to the front page?"""
        if not captures or not 300 <= captures[-1].status < 400:
            return False
        response = response_at(self._collection.archive, captures[-1], self._captures)
        return is_sent_home(self._url, target_of(self._url, response))

    def _change_interval_s(self) -> float | None:
        care = self._visited.upkeep if self._visited is not None else None
        if care is None or not change.is_watched(care.history):
            return None
        history = change.unpack([care.history])
        others = np.maximum(np.array([self._record.said]) - prior.said(history), [0.0, -np.inf])
        chances = change.posterior(history, known_prior(self._home).expected(others))
        return 1.0 / float(change.rate_per_s(chances)[0])

    def _keeping(self) -> Keeping | None:
        care = self._visited.upkeep if self._visited is not None else None
        if care is None:
            return None
        history = change.unpack([care.history])[0]
        visits, changes = int(history["visits"]), int(history["changes"])
        return Keeping(visits, changes, care.interval_s, care.due, care.absences, care.failures)

    def _visited_page(self, mark: int) -> PageRecord | None:
        """Its record, in whichever share it is."""
        return next((found for each in self._frontiers if (found := each.visited(mark))), None)

    @property
    def _page(self) -> Page:
        """The page as it is known; a stranger is judged as a seed.

        One that waits once more, or is news, may wait nearer to a seed, and is as far away as it was.
        """
        if (known := self._visited) is not None:
            return Page(self._url, known.hops, self._server, known.cgi_hops)
        page = self._queued.page if self._queued is not None else Page(self._url)
        return replace(page, hops=self._sight.hops) if page.hops == URGENT else page

    @property
    def _sight(self) -> _Sight:
        packed = self._home.sources.of_page(self._url) if self._home is not None else None
        return msgspec.msgpack.decode(packed, type=_Sight) if packed is not None else _Sight()

    def _chain(self) -> list[Step]:
        known: PageRecord | Queued | None = self._queued or self._visited
        if known is None:
            return []
        steps = [Step(self._url, self._page.hops)]
        while known is not None and known.found_on and len(steps) < LONGEST_CHAIN:
            known = self._visited_page(known.found_on)
            steps.append(Step(known.url, known.hops) if known else Step("", max(steps[-1].hops - 1, 0)))
        return steps[::-1]

    def _decisions(self) -> Iterator[Decision]:
        orders = self._orders.latest()
        if (order := orders.forbids(self._url, self._now)) is not None:
            yield Decision("orders", False, f"must not be visited: {order.sentence}")
        elif (order := orders.forbids(f"{self._server}/robots.txt", self._now)) is not None:
            reason = f"no page of its server is visited, for its robots.txt must not be: {order.sentence}"
            yield Decision("orders", False, reason)
        yield self._scope()
        yield self._quota()
        yield self._trap()
        yield self._robots_txt()
        yield self._address()
        yield self._wanted()

    def _scope(self) -> Decision:
        page = self._page
        refusal = self._boundary.refusal(page.url, page.hops, page.cgi_hops)
        if refusal:
            return Decision("scope", False, f"does not belong to the collection: {refusal}")
        where = f", {_links(page.hops)} from a seed" if page.hops else " as a seed"
        return Decision("scope", True, f"belongs to the collection{where}")

    def _quota(self) -> Decision:
        found, quota = self._record.found, self._boundary.quota(self._server)
        known = self._queued is not None or self._visited is not None
        reason = f"{_pages(found)} of its server known, scope.pages_per_server = {quota}"
        return Decision("quota", known or found < quota, reason)

    def _trap(self) -> Decision:
        traps = Traps(self._home.trap_state) if self._home else Traps()
        is_watched = self._record.collected >= WATCHED_FROM
        verdict = traps.verdict(self._url) or (None if is_watched else traps.shuns(self._server))
        return Decision("trap", verdict is None, verdict or "no sign of a trap")

    def _robots_txt(self) -> Decision:
        settings = self._manners.of(self._server)
        if not settings.robots_txt:
            return Decision("robots.txt", True, "not asked for, politeness.robots_txt = false")
        if self._robots is None:
            return Decision("robots.txt", None, "not read yet; it will be before the first visit")
        if self._is_refused:
            return Decision("robots.txt", None, "not asked for either, because of its address")
        rules = rules_in(self._robots, self._settings.identity.name)
        rule = rules.rule_for(self._url) or "no line speaks of this page"
        age_s = self._now - self._robots.time
        stale = ", to be read again before the next visit" if age_s > settings.robots_age_s else ""
        status = self._robots.status
        silence = UNHEARD.get(status, Outcome.UNREACHABLE).value
        answer = f"status {status}" if status > 0 else f"no answer: {silence}"
        when = f"asked {duration(age_s)} ago" if self._robots.time else "asked before"
        return Decision("robots.txt", rules.allows(self._url), f"{rule} ({answer}, {when}{stale})")

    @property
    def _is_refused(self) -> bool:
        """Did its server's name lead to where we must not go, when its robots.txt was to be read?"""
        return self._robots is not None and UNHEARD.get(self._robots.status) is Outcome.FORBIDDEN_ADDRESS

    def _address(self) -> Decision:
        host = host_of(self._url)
        outcome = self._visited.outcome if self._visited else ""
        if is_address(host):
            refusal = Guard(self._settings.fetch.allow_addresses).refusal(host.strip("[]"))
            return Decision("address", refusal is None, refusal or f"{host} may be visited")
        if outcome == Outcome.FORBIDDEN_ADDRESS.value or self._is_refused:
            return Decision("address", False, "its name led to a private or special address")
        return Decision("address", None, "checked when its name is looked up, at each visit")

    def _wanted(self) -> Decision:
        if self._visited is not None and self._visited.outcome == Outcome.UNWANTED.value:
            if not self._visited.status:
                return Decision("wanted", None, "left out unread, as an order or the scope said at that time")
            return Decision("wanted", False, "its language or words are not wanted, so it was not kept")
        wanted = Wanted(self._settings.scope)
        if wanted.needs_language or wanted.needs_text:
            kept = self._visited is not None or None
            return Decision("wanted", kept, "language and words are looked at when it has been fetched")
        return Decision("wanted", True, "no rule on languages or words")

    def _politeness(self) -> Pause:
        settings, record = self._manners.of(self._server), self._record
        robots = self._robots if settings.robots_txt else None
        delay = rules_in(robots, self._settings.identity.name).crawl_delay_s if robots else None
        pause = interval_s(settings, delay, standing(record.recent))
        return Pause(
            self._server,
            pause,
            delay,
            settings.window,
            record.failures,
            self._ready_at(),
            tuple(reasons(settings, record, pause, delay)),
        )

    def _ready_at(self) -> float:
        ready_at = promised_until(self._record, self._now)
        return self._manners.next_open(self._server, max(self._now, ready_at))

    def _due(self, refusal: Decision | None) -> tuple[float | None, str]:
        if refusal is not None and refusal.rule == "orders":
            return None, "not due, as things are: orders says no"
        if self._queued is not None:
            return self._turn(self._queued.before, refusal)
        never, care = "not due again by itself", self._visited.upkeep if self._visited is not None else None
        when = "when a robot keeps pages fresh (joro refresh, joro crawl --keep-fresh)"
        is_barred = refusal is not None and refusal.rule in ("scope", "trap")
        if care is not None and not is_barred and is_source(self._sight.watched):
            return care.due, "read again when a robot watches feeds and sitemaps (joro crawl --keep-fresh)"
        if care is not None and not is_barred:
            return care.due, f"{'looked for again' if care.absences else 'visited again'} {when}"
        if self._visited is not None and self._visited.outcome in FAILED and not is_barred:
            return None, f"{never}; joro retry collects it again"
        if refusal is not None:
            return None, f"not due, as things are: {refusal.rule} says no"
        if (promised_at := self._promised_at) is not None:
            return promised_at, f"looked for once more, as its server calls it changed, {when}"
        if self._visited is not None:
            return None, f"{never}; joro refresh keeps pages fresh, joro retry collects it again"
        return None, "not due before someone gives it as a seed, or a page links to it"

    @property
    def _promised_at(self) -> float | None:
        """When a page given up as gone is looked for once more, if it was called changed since."""
        visited, sight = self._visited, self._sight
        if visited is None or visited.outcome != Outcome.GONE.value or sight.announced <= visited.time:
            return None
        return sight.deaf_until

    def _turn(self, before: int, refusal: Decision | None) -> tuple[float | None, str]:
        if refusal is not None and refusal.rule in ("scope", "robots.txt", "trap", "address"):
            return None, f"not visited when its turn comes: {refusal.rule} says no"
        first = f"{_pages(before)} of its server first" if before else "the next page of its server"
        return self._ready_at() + before * self._politeness().interval_s, first


def _links(hops: int) -> str:
    return "1 link" if hops == 1 else f"{hops} links"


def _pages(number: int) -> str:
    return "1 page" if number == 1 else f"{number:,} pages"


def moment(time: float) -> str:
    """A time as people read it."""
    return warc_date(time)[:19].replace("T", " ") + " UTC"


def duration(seconds: float) -> str:
    """A length of time, in the largest unit of which there are two."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
