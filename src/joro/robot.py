"""How does a page get from the web into the collection? READ FIRST: `call_on` is the pipeline.

In:    a collection and seeds.
Out:   archive and frontier, moving together: what the frontier calls visited lies in the archive.
Never: two requests to one server at once; a request sooner than politeness allows; a visit lost or
       archived twice, whatever moment the power goes.

    seeds ─┐                                                 ┌───────── links ─────────┐
           ▼                                                 ▼                         │
       boundary → frontier → turns → exclusions → visitor → archive → outline ─────────┘
        (ours?)   (which page) (whose turn) (allowed?) (fetch)  (WARC)   (parse)

Paper: S3 (one connection to a server; seen URLs and exclusions inside the unit), S1 5.1.3 (robot).
"""

from __future__ import annotations

import asyncio

from joro import __version__
from joro.archive.read import Position, replay, response_of
from joro.archive.recover import mend
from joro.archive.warc import WarcWriter
from joro.clock import Clock
from joro.coordinate.exchange import Exchange, FoundLink
from joro.coordinate.report import Report
from joro.coordinate.share import Share
from joro.discover.scope import Boundary
from joro.fetch.exclusion import Errand, Exclusions
from joro.fetch.politeness import wait_s
from joro.fetch.robotstxt import SIZE_LIMIT_BYTES
from joro.fetch.visit import Visitor, outcome_of, user_agent
from joro.model import ANSWERED, PASSING, Outcome, Page, Visit
from joro.parse.page import outline_of
from joro.parse.payload import payload
from joro.schedule.turns import Turns
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.url import server_of

#: The share of a robot that collects everything itself.
ALONE = Share()
#: A commit is due after so many visits even before `commit_every_s`: bounds the work a crash costs.
COMMIT_EVERY_VISITS = 500
#: How long visits under way may go on after `stop`.
GRACE_S = 5.0


class Robot:
    """Collects one share of the servers, in one event loop: `collect(seeds)` until done, or until `stop()`.

    A robot with others beside it never ends by itself: it may get mail.
    """

    def __init__(
        self, collection: Collection, clock: Clock, *, share: Share = ALONE, page_limit: int | None = None
    ) -> None:
        settings = self._settings = collection.config
        name = settings.identity.name
        agent = user_agent(settings.identity, __version__)
        self._clock = clock
        self._page_limit = page_limit
        self.visits = 0  # of this run; the frontier counts those of the collection
        self._tries: dict[str, int] = {}
        self._committed_at = clock.now()
        self._uncommitted = 0
        self._not_before = 0.0
        self._boundary = Boundary(settings.scope)
        self._turns = Turns()
        self._share = share
        self.frontier = Frontier(collection.frontier / share.folder)
        self.exchange = Exchange(collection.frontier / "exchange", share, self.frontier)
        if not self.frontier.was_closed:
            # Visits after the last commit are forgotten: whoever was visited then must not be again so soon.
            self._not_before = clock.now() + settings.politeness.interval_s
        self._replay(collection)
        self._exclusions = Exclusions(self.frontier, settings.politeness, agent=name, clock=clock)
        self._visitor = Visitor(settings.fetch, user_agent=agent, clock=clock)
        limit = settings.archive.warc_limit_bytes
        self._archive = WarcWriter(
            collection.archive, limit_bytes=limit, clock=clock, robot=agent, process=share.number
        )
        self._calls: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None

    async def call_on(self, server: str) -> None:
        """One turn of one server: one request, all that it leads to, and when to come again."""
        errand = self._exclusions.errand(server)
        page = self._next_page(server) if errand is None else None
        if errand is not None:
            visit = await self._visitor.visit(Page(errand.url, 0, server))
            self._learn_rules(errand, visit)
        elif page is not None:
            visit = await self._visitor.visit(page)
            self._learn(visit)
        else:
            self._turns.give_back(server, None)
            return
        self._turns.give_back(server, self._ready_at(visit))
        self._commit_if_due()

    def _next_page(self, server: str) -> Page | None:
        """The first waiting page that robots.txt allows; those before it are done with."""
        rules = self._exclusions.rules(server)
        while rules is not None and (page := self._take(server)) is not None:
            if rules.allows(page.url):
                return page
            self.frontier.done(Visit(page, self._clock.now(), self._exclusions.refusal(server)))
        return None

    def _take(self, server: str) -> Page | None:
        page = self.frontier.take(server)
        if page is None:
            self._settle()  # its next page may be among the links just found
            page = self.frontier.take(server)
        return page

    def _learn(self, visit: Visit) -> None:
        """Archive the answer, register its links, close the page; a passing failure is tried again later."""
        url = visit.page.url
        tries = self._tries.pop(url, 0)
        if visit.outcome in PASSING and tries < self._settings.politeness.retry_limit:
            self._tries[url] = tries + 1
            self.frontier.put_back(visit.page)
            return
        if visit.outcome in ANSWERED:
            self._archive.append(visit)
        self._close(visit)
        self.visits += 1
        self._uncommitted += 1

    def _close(self, visit: Visit) -> None:
        """What visits and replayed captures have in common."""
        if visit.response is not None and visit.outcome in (Outcome.OK, Outcome.REDIRECT):
            outline = outline_of(visit.page.url, visit.response, self._settings.identity.name)
            self._register(outline.to_follow, visit.page)
        self.frontier.done(visit)

    def _register(self, urls: list[str], source: Page) -> None:
        """Take in the links of a page: those of our share, and those to be sent to another robot."""
        hops = source.hops + 1
        urls = self._boundary.within(urls, hops)
        if self._share.count > 1:
            urls = self._send_foreign(urls, hops, source.url)
        if self.frontier.add(urls, hops, found_on=source.url):
            self._settle()

    def _send_foreign(self, urls: list[str], hops: int, found_on: str) -> list[str]:
        ours = []
        for url in urls:
            owner = self._share.owner(server_of(url))
            if owner == self._share.number:
                ours.append(url)
            elif self.frontier.is_unfamiliar(url):
                self.exchange.offer(owner, FoundLink(url, hops, 0, found_on))
        return ours

    def _settle(self) -> None:
        """Give servers a turn that have pages waiting now and had none before."""
        for server in self.frontier.settle(per_server=self._settings.scope.pages_per_server):
            self._turns.enter(server, self.frontier.server(server).ready_at)

    def _learn_rules(self, errand: Errand, visit: Visit) -> None:
        """Take in a robots.txt; a passing failure is tried again in the server's next turn."""
        failures = self.frontier.server(visit.page.server).failures
        if visit.outcome in PASSING and failures < self._settings.politeness.retry_limit:
            self._exclusions.retry(errand)
            return
        if visit.outcome in ANSWERED:
            self._archive.append(visit)
        body = payload(visit.response, SIZE_LIMIT_BYTES) if visit.response is not None else b""
        server = self._exclusions.learn(errand, visit, body)
        self._turns.enter(server, self.frontier.server(server).ready_at)

    def _ready_at(self, visit: Visit) -> float:
        """When the server of a visit just ended may be visited again."""
        server = visit.page.server
        record = self.frontier.server(server)
        record.failures = record.failures + 1 if visit.outcome in PASSING else 0
        rules = self._exclusions.rules(server)
        delay = rules.crawl_delay_s if rules is not None else None
        record.ready_at = self._clock.now() + wait_s(self._settings.politeness, visit, delay, record.failures)
        return record.ready_at

    def _commit_if_due(self) -> None:
        late = self._clock.now() - self._committed_at >= self._settings.archive.commit_every_s
        if late or self._uncommitted >= COMMIT_EVERY_VISITS:
            self._commit()

    def _commit(self) -> None:
        """The archive first: after a crash it may be ahead of the frontier, never behind."""
        position = self._archive.flush()
        for link in self.exchange.before_commit():
            self.frontier.add([link.url], link.hops, cgi_hops=link.cgi_hops, found_on=link.found_on)
        self._settle()
        self.frontier.commit((position.name, position.offset) if position.name else None)
        self.exchange.after_commit()
        self._enter(self.frontier.wake())
        self._committed_at = self._clock.now()
        self._uncommitted = 0

    def _enter(self, servers: list[str]) -> None:
        for server in servers:
            self._turns.enter(server, max(self._not_before, self.frontier.server(server).ready_at))

    def _replay(self, collection: Collection) -> None:
        """After a crash: what the archive holds beyond the last commit enters the frontier."""
        last = self.frontier.position
        since = Position(*last) if last else None
        mend(collection.archive, since, process=self._share.number)
        for record, position in replay(collection.archive, since, process=self._share.number):
            last = (position.name, position.offset)
            page = self.frontier.take_url(record.url)
            if page is not None:
                response = response_of(record)
                outcome = outcome_of(response.status, response.headers)
                self._close(Visit(page, record.time, outcome, response=response))
                self.frontier.settle(per_server=self._settings.scope.pages_per_server)
        self.exchange.before_commit()
        self.frontier.commit(last)
        self.exchange.after_commit()

    async def collect(self, seeds: list[str]) -> None:
        """Collect until nothing is left to visit, the page limit is reached, or `stop` is called."""
        try:
            ours = [url for url in seeds if self._share.owner(server_of(url)) == self._share.number]
            self.frontier.add(self._boundary.within(ours, 0), 0)
            self._commit()
            self._enter(self.frontier.awake())
            self._start_calls()
            while not self._is_over() and (self._share.count > 1 or not self.is_idle):
                await self._wait()
                self._start_calls()
            await self._wind_down()
        finally:
            await self._leave()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Start nothing new; `collect` returns when the visits under way have ended or been given up."""
        self._stopping = True
        self._wake.set()

    @property
    def is_idle(self) -> bool:
        """Nothing under way and nothing to do, unless mail arrives."""
        return not (self._calls or len(self._turns) or self.frontier.has_found) and self.exchange.is_empty

    def report(self) -> Report:
        """This robot in numbers."""
        counts = self.frontier.counts
        return Report(
            self.visits,
            counts.found,
            counts.visited,
            counts.bytes,
            counts.outcomes,
            self._visitor.open_sockets,
            self.is_idle,
            self.exchange.sent,
            self.exchange.read,
        )

    def _is_over(self, under_way: int = 0) -> bool:
        full = self._page_limit is not None and self.visits + under_way >= self._page_limit
        return self._stopping or self._failure is not None or full

    def _start_calls(self) -> None:
        """Send someone to every server that is ready, as long as sockets are free."""
        now = self._clock.now()
        while len(self._calls) < self._settings.fetch.sockets and not self._is_over(len(self._calls)):
            server = self._turns.take(now)
            if server is None and self.frontier.has_found:
                self._settle()
                server = self._turns.take(now)
            if server is None:
                return
            call = asyncio.create_task(self.call_on(server))
            self._calls.add(call)
            call.add_done_callback(self._called)

    def _called(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        if not call.cancelled() and call.exception() is not None:
            self._failure = self._failure or call.exception()
        self._start_calls()
        self._wake.set()

    async def _wait(self) -> None:
        """Until a call has ended, a server is ready, or a commit is due."""
        due_at = (
            self._turns.next_ready_at() if len(self._calls) < self._settings.fetch.sockets else float("inf")
        )
        due_at = min(due_at, self._committed_at + self._settings.archive.commit_every_s)
        self._wake.clear()
        try:
            async with asyncio.timeout(max(0.0, due_at - self._clock.now())):
                await self._wake.wait()
        except TimeoutError:
            self._commit_if_due()

    async def _wind_down(self) -> None:
        """Let the visits under way end, for a while; a page cut short stays waiting in the frontier."""
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=GRACE_S if self._stopping else None)
        for call in set(self._calls):
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _leave(self) -> None:
        await self._visitor.close()
        if self._failure is None:
            self._commit()
            self._archive.close()
            self.frontier.close()
        else:
            self.frontier.abandon()
