"""How does a page get from the web into the collection? READ FIRST: `call_on` is the pipeline.

In:    a collection and seeds.
Out:   archive and frontier, moving together: what the frontier calls visited lies in the archive.
Never: two requests to one server at once; a request sooner than politeness allows; a visit lost or
       archived twice, whatever moment the process is killed.

    seeds ─┐ ┌───────────────────────────── links ────────────────────────────┐
           ▼ ▼                                                                │
       boundary → frontier → turns → exclusions → visitor → reading → archive ┘
        (ours?) (which page) (whose turn) (allowed?) (fetch) (parse, keep?) (WARC)

Paper: S3 (one connection to a server; seen URLs and exclusions inside the unit), S1 5.1.3 (robot).
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable
from itertools import groupby
from operator import attrgetter

from msgspec.structs import replace

from joro import __version__
from joro.archive.warc import WarcWriter
from joro.clock import Clock
from joro.coordinate.beat import Link
from joro.coordinate.exchange import Exchange
from joro.coordinate.post import Neighbours
from joro.coordinate.report import Report
from joro.coordinate.share import Share
from joro.discover.scope import Boundary
from joro.discover.traps import Traps
from joro.fetch.address import AddressLimits
from joro.fetch.callers import Callers
from joro.fetch.exclusion import Errand, Exclusions, as_heard
from joro.fetch.guests import Guests
from joro.fetch.politeness import Manners
from joro.fetch.robotstxt import ALLOW_ALL, SIZE_LIMIT_BYTES, Robots
from joro.fetch.visit import Later, Visitor, longest_s, user_agent, validators
from joro.model import ANSWERED, PASSING, Outcome, Page, Visit
from joro.parse.payload import Payload, unwrap
from joro.robot.aftermath import aftermath
from joro.robot.arrivals import Arrival, Arrivals
from joro.robot.commits import Commits
from joro.robot.endless import is_one_too_many
from joro.robot.gate import Gate
from joro.robot.keeper import Keeper
from joro.robot.longest import LongestFirst
from joro.robot.planner import Planner, PlanReport
from joro.robot.premises import Premises
from joro.robot.reading import Reading
from joro.robot.renewal import Renewal, Rules
from joro.robot.standing import Standing
from joro.robot.terms import is_terms, terms_of
from joro.robot.watcher import Watcher
from joro.schedule.turns import Turns
from joro.store.again import sow
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.handover import Movable
from joro.store.orders import OrderBook
from joro.store.queue import URGENT
from joro.store.records import PageRecord, ServerRecord
from joro.url import server_of

#: The share of a robot that collects everything itself.
ALONE = Share()
#: Pages left out in one turn at most: the others want theirs, and memory holds what no commit has written.
LEFT_OUT_AT_ONCE = 500
#: How long visits under way may go on after `stop`.
GRACE_S = 5.0


class Robot:
    """Collects one share of the servers, in one event loop: `collect(seeds)` until done, or until `stop()`.

    A robot with others beside it never ends by itself: it may get mail.
    """

    async def call_on(self, server: str) -> None:
        """One turn of one server: one request, all that it leads to, and when to come again."""
        left_out = self._commits.visits
        refusal = self._refusal_of_all(server)
        if refusal is Outcome.UNWANTED:
            self._gate.enter(self._exclusions.out_of_reach(server))
        errand = self._exclusions.errand(server) if refusal is None else None
        page, before = (Page(errand.url, 0, server), None) if errand else self._next_page(server, refusal)
        if page is None:
            # Its rules may have grown too old this very moment, and there may be more to be left out.
            again = refusal is None and self._exclusions.is_due(server)
            await self._pass(server, again or self._commits.visits > left_out)
            return
        visit = await self._visit(page, before, errand)
        if isinstance(visit, Later):
            at = self._manners.run_ended(server, self.frontier.server(server)) if visit.hung_up else visit.at
            self._postpone(page, errand, at, visit.line)
            return
        if errand is None:
            self._exclusions.used(server)
        await self._arrivals.bring(Arrival(visit, before, errand))

    def _take_in(self, arrivals: list[Arrival]) -> None:
        """All that a few visits lead to, and when to come again."""
        self._forbidden = self._orders.forbids()
        self._learn([one for one in arrivals if one.errand is None])
        for one in arrivals:
            if one.errand is not None:
                one.visit = self._learn_rules(one.errand, one.visit)
            self._gate.give_back(one.visit.page.server, self._ready_at(one.visit), self._exclusions.awaits)
            self.neighbours.note(one.visit, is_page=one.errand is None)
        self._commit_if_due()

    async def _visit(self, page: Page, before: PageRecord | None, errand: Errand | None) -> Visit | Later:
        server, once = page.server, self._manners.has_pauses(page.server)
        fields = validators(self._watcher.validators(before)) if before is not None else ()
        try:
            in_run = self.frontier.server(server).run > 0
            pause_s = self._manners.address_interval_s(server, in_run=in_run)
            return await self._visitor.visit(page, fields, pause_s=pause_s, once=once, in_run=in_run)
        except asyncio.CancelledError:  # we hang up, perhaps before the server has read it: twice the pause
            record = self.frontier.server(server)
            record.ready_at = max(record.ready_at, self._clock.now() + 2.0 * self.usual_s(server))
            self._postpone(page, errand, record.ready_at)
            raise

    def _next_page(self, server: str, of_all: Outcome | None) -> tuple[Page | None, PageRecord | None]:
        """The first waiting page we may visit, and what is known of it; those before it are done with."""
        rules = self._exclusions.rules(server) if of_all is None else ALLOW_ALL
        for _ in range(LEFT_OUT_AT_ONCE):
            if rules is None or (page := self._take(server)) is None:
                break
            before = self._keeper.before(page)
            refusal = of_all or self._refusal(page, before, rules)
            if refusal is None:
                return page, before
            self._leave_out(page, before, refusal)
            if refusal is Outcome.TRAP and of_all is None:
                better = self._traps.admit([page.url])  # perhaps in another spelling
                self.frontier.add(better, page.hops, cgi_hops=page.cgi_hops)
        return None, None

    def _refusal_of_all(self, server: str) -> Outcome | None:
        """Why no page of a server is visited, if none is."""
        if self._forbidden is not None and self._forbidden(f"{server}/robots.txt"):
            return Outcome.UNWANTED
        return Outcome.TRAP if is_one_too_many(server, self._traps, self.frontier) else None

    def _refusal(self, page: Page, before: PageRecord | None, rules: Robots) -> Outcome | None:
        """Why a page is not visited, if it is not. Since it was found, everything may have changed."""
        url = page.url
        if not rules.allows(url):
            return self._exclusions.refusal(page.server)
        if self._forbidden is not None and self._forbidden(url):
            return Outcome.UNWANTED
        found = self._watcher.first_seen(page, before)
        inside = self._boundary.within([url], found.hops, found.cgi_hops)
        if not inside and not is_terms(page, self._boundary):
            return Outcome.UNWANTED
        return Outcome.TRAP if self._traps.verdict(url) is not None else None

    async def _pass(self, server: str, comes_again: bool) -> None:
        """Nobody was asked in this turn; if there is another, then after those of others."""
        self._turns.give_back(server, self._clock.now() if comes_again else None)
        self._commit_if_due()
        await asyncio.sleep(0)

    def _leave_out(self, page: Page, before: PageRecord | None, refusal: Outcome) -> None:
        one = Arrival(Visit(page, self._clock.now(), refusal), before)
        self._reading.read(one)
        self._close(one)
        self._commits.visits += 1

    def _take(self, server: str) -> Page | None:
        passes_due = self.frontier.server(server).due > 0 and self._turns.is_for_new(server)
        page = None
        if passes_due and not self.frontier.is_urgent(server):  # news waits for nobody
            page = self.frontier.take_new(server)
        page = page or self.frontier.take(server)
        if page is None and self.frontier.has_found:
            self._settle()  # its next page may be among the links just found
            page = self.frontier.take(server)
        return page

    def _learn(self, arrivals: list[Arrival]) -> None:
        """Step by step rather than page by page: a step that follows itself finds its code at hand."""
        pages = [one for one in arrivals if not self._is_put_back(one)]
        for one in pages:
            self._reading.read(one)
        for one in pages:
            self._keep(one)
        for one in pages:
            self._close(one)

    def _is_put_back(self, one: Arrival) -> bool:
        """A passing failure is tried again later."""
        page, tries = one.visit.page, self._tries.pop(one.visit.page.url, 0)
        if one.visit.outcome in PASSING and tries < self._manners.of(page.server).retry_limit:
            self._tries[page.url] = tries + 1
            self.frontier.put_back(page)
            self._keeper.put_back(one.visit)
            return True
        return False

    def _keep(self, one: Arrival) -> None:
        """Archive the answer, if we want it."""
        if not one.verdict.keep:
            one.visit = replace(one.visit, outcome=Outcome.UNWANTED)
        elif one.visit.outcome in ANSWERED:
            one.visit.known = self._keeper.known(one.before)
            one.digest = self._archive.append(one.visit, self._reading.facts(one)).digest
        self.visits += 1
        self.revisits += one.before is not None and self._keeper.learns  # else few are looked up
        self._commits.visits += 1

    def _close(self, one: Arrival) -> None:
        """Register the links of a page that was read, and be done with it."""
        visit, before, page, outline = one.visit, one.before, one.page, one.outline
        read_at = self._watcher.learn(visit, page, before, one.digest, outline)
        if outline is not None and one.verdict.follow:
            self._register(outline.to_follow, page)
        main = outline.main if outline is not None else 0
        care = self._keeper.learn(visit, before, one.digest, main, read_at) if self._keeper.learns else None
        self.frontier.done(visit, page.hops, care)

    def _register(self, urls: list[str], source: Page, *, urgent: bool = False) -> None:
        """Take in the links of a page: those of our share, and those to be sent to another robot."""
        if not self._discovers:
            return
        hops = URGENT if urgent else source.hops + 1
        for ours, cgi_hops in self._boundary.follow(source.url, source.hops, source.cgi_hops, urls):
            if not self.neighbours.alone:
                ours = self._send_foreign(ours, source, cgi_hops, urgent)
            if self.frontier.add(ours, hops, cgi_hops=cgi_hops, found_on=source.url) or urgent:
                self._settle()
            if urgent:  # some may wait already, far behind
                self._gate.enter([server_of(url) for url in ours if self.frontier.hasten(url)])

    def _send_foreign(self, urls: list[str], source: Page, cgi_hops: int, urgent: bool) -> list[str]:
        ours = []
        for url in urls if urgent else self.frontier.unfamiliar(urls):
            if self.neighbours.is_ours(url):
                ours.append(url)
            else:
                self.frontier.meet(url)
                self.neighbours.offer(Link(url, source.hops + 1, cgi_hops, source.url, urgent=urgent))
        return ours

    def _settle(self) -> None:
        """Give servers a turn that have pages waiting now and had none before."""
        self._gate.enter(self.frontier.settle(self._boundary.quota, self._traps.admit))

    def _learn_rules(self, errand: Errand, visit: Visit) -> Visit:
        """Take in a robots.txt; a passing failure is tried again in the server's next turn."""
        found = unwrap(visit.response, SIZE_LIMIT_BYTES) if visit.response is not None else Payload(b"")
        visit = as_heard(visit, found.content, found.undecoded, breaks_off=found.cut)
        if visit.outcome in PASSING and errand.tries < self._manners.of(visit.page.server).retry_limit:
            self._exclusions.retry(dataclasses.replace(errand, tries=errand.tries + 1))
            return visit
        if visit.outcome in ANSWERED:
            self._archive.append(visit)
        self._gate.enter([self._exclusions.learn(errand, visit, found.content)])
        self._watcher.rules_learned(errand.server)
        if self._settings.archive.tdmrep:
            self.frontier.add(self.neighbours.sow(terms_of(errand.server, self._boundary)), 0)
        return visit

    def _postpone(self, page: Page, errand: Errand | None, until: float, line: str = "") -> None:
        if errand is not None:
            self._exclusions.retry(errand)
        else:
            self.frontier.put_back(page)
        self._turns.give_back(page.server, until, line)

    def _ready_at(self, visit: Visit) -> float:
        """When the server of a visit just ended may be visited again."""
        server = visit.page.server
        record, delay_s = self.frontier.server(server), self._exclusions.crawl_delay_s(server)
        ready_at = self._manners.finished(record, visit, delay_s, self._clock.now())
        self._commits.has_promised |= self._manners.has_promised(record, visit)
        return ready_at

    def _mean_s(self, server: str, record: ServerRecord) -> float:
        return self._manners.mean_s(server, record, self._exclusions.crawl_delay_s(server))

    def usual_s(self, server: str) -> float:
        """Seconds between two visits to a server."""
        delay_s = self._exclusions.crawl_delay_s(server)
        return self._manners.usual_s(server, self.frontier.server(server), delay_s)

    def __init__(
        self,
        collection: Collection,
        clock: Clock,
        *,
        share: Share = ALONE,
        page_limit: int | None = None,
        discovers: bool = True,
        joined: Callable[[Premises], Neighbours] | None = None,
    ) -> None:
        settings = self._settings = collection.config
        agent, name = user_agent(settings.identity, __version__), settings.identity.name
        self._clock = clock
        self._share = share
        self._page_limit, self._discovers = page_limit, discovers  # new pages, behind links
        self.visits = 0  # of this run; the frontier counts those of the collection
        self.revisits = 0  # those of them to pages visited before
        self._tries: dict[str, int] = {}
        self._commits = Commits(clock, settings.archive.commit_every_s)
        self._stopping = False
        self._wakes_at = 0.0  # when `collect` looks for servers next, at the latest
        self._orders = OrderBook(collection.orders, clock.now)
        self._forbidden = self._orders.forbids()  # as they stood a moment ago
        self._boundary = Boundary(settings.scope, lambda: self._forbidden)
        self._manners = Manners(settings.politeness)
        folder, alone = collection.frontier, share.count == 1
        limits = AddressLimits(folder / "addresses", settings.politeness.per_address, alone=alone)
        self._visitor = Visitor(settings.fetch, user_agent=agent, clock=clock, limits=limits)
        self._callers = Callers(self.call_on, self._next_server, settings.fetch.sockets, clock.real_s)
        self._arrivals = Arrivals(self._take_in)
        self.frontier: Frontier = (Movable if joined else Frontier)(folder / share.folder)
        self._traps = Traps(self.frontier.trap_state, self.frontier.has_server)
        self._exclusions = Exclusions(self.frontier, self._manners.of, agent=name, clock=clock)
        # Who takes in no new pages reads no sources.
        refresh = dataclasses.replace(settings.refresh, watch=settings.refresh.watch and discovers)
        most, mean_s, count = settings.fetch.sockets, self._mean_s, share.count
        planner = Planner(
            self.frontier, refresh, clock, sockets=most, minimum_s=mean_s, share=count, discovers=discovers
        )
        self._keeper = Keeper(self.frontier, refresh, planner, clock)
        longest = LongestFirst(self.frontier, self._mean_s) if joined else None
        self._turns = Turns(planner if refresh.enabled else longest)
        joined = joined or (lambda _: Exchange(collection.frontier / "exchange", share, self.frontier))
        inside = self._callers.wake, self._turns, self._exclusions, self._traps, self._keeper, planner
        self.neighbours = joined(Premises(self, *inside))
        self._gate = Gate(self._turns, self._manners, self.frontier, self.neighbours, clock, self.usual_s)
        self._exclusions.has_pages = self._gate.has_waiting
        self._visitor.closes_at = lambda: self.neighbours.open_until
        self._visitor.opens_at, self._visitor.lines = self._manners.next_open, self._turns
        if share.count > 1:
            guests = Guests(folder / "guests", share.holds, self.usual_s, longest_s(settings.fetch))
            self._visitor.guests, self._gate.promise = guests, guests.promise
        self._exclusions.may_ask, self._manners.stretch = self.neighbours.may_enter, self.neighbours.stretch
        watching = self.frontier, refresh, self._keeper, self._boundary, self.neighbours
        self._watcher = Watcher(*watching, self._register, self._exclusions.rules, discovers=discovers)
        known = self._keeper, self._watcher, self._traps
        self._reading = Reading(settings, *known, lambda server: self.frontier.server(server).visited)
        rules = Rules(self._manners, limits, self._boundary, self._reading, self._gate)
        renewal = Renewal(collection, rules.take_over)
        drops = self._commit, self._traps.shed, self._exclusions.shed
        self._standing = Standing(collection, clock, renewal, drops, tells=share.number == 0)
        self._replay(collection)
        place, limit, number = collection.archive, settings.archive.warc_limit_bytes, share.number
        self._archive = WarcWriter(place, limit_bytes=limit, clock=clock, robot=agent, process=number)

    def _commit_if_due(self) -> None:
        self._forbidden = self._orders.forbids()  # before turns begin, a dozen of them together
        rests, others = self._rests, self.neighbours
        if self._commits.is_due(rests=rests) or others.wants_commit or (rests and others.has_mail()):
            self._commit()

    @property
    def _rests(self) -> bool:
        """Nobody is out, and nobody leaves before mail comes, or before we may."""
        waits = not self.neighbours.alone and not len(self._turns)
        return not len(self._callers) and (self._standing.is_still or waits)

    def _commit(self, *, last: bool = False) -> None:
        """The archive first: after a crash it may be ahead of the frontier, never behind."""
        position = self._archive.flush()
        self._read_mail()
        self._settle()
        due = self._keeper.bring_due()
        for server, state in self._traps.unsaved(all_states=last or self.neighbours.is_parting):
            self.frontier.keep_trap_state(server, state)
        self.frontier.commit((position.name, position.offset) if position.name else None)
        due += self.neighbours.after_commit()
        self._gate.make_room()
        self._gate.enter([*self.frontier.wake(), *due])
        self._keeper.plan_if_due()
        self._commits.done()

    def _read_mail(self) -> None:
        """Close the batches for other robots, and take in the links they sent, by rules that are our own."""
        links = [link for link in self.neighbours.before_commit() if not self._watcher.takes(link)]
        for (hops, cgi_hops, source), some in groupby(links, attrgetter("hops", "cgi_hops", "found_on")):
            ours = self._boundary.within([link.url for link in some], hops, cgi_hops)
            self.frontier.add(ours, hops, cgi_hops=cgi_hops, found_on=source)

    def _replay(self, collection: Collection) -> None:
        """After a crash: what the archive holds beyond the last commit enters the frontier."""
        last = self.frontier.position
        share = self._share.number
        for one, position in aftermath(collection.archive, self.frontier, self._keeper, share):
            last = position
            if one is not None:
                self._reading.read(one)
                self._close(one)
                self.frontier.settle(self._boundary.quota, self._traps.admit)
        self._read_mail()
        self.frontier.settle(self._boundary.quota, self._traps.admit)
        self._keeper.settle()
        self.frontier.commit(last)
        self.neighbours.after_commit()

    async def collect(self, seeds: list[str]) -> None:
        """Collect until nothing is left to visit, the page limit is reached, or `stop` is called."""
        try:
            self._keeper.adopt()
            self.neighbours.start()
            ours = self.neighbours.sow(self._boundary.within(seeds, 0))
            self._watcher.sown(sow(self.frontier, ours, self._settle))
            self._commit()
            self._gate.enter(self.frontier.awake())
            while not self._is_over() and not (self.neighbours.alone and self.is_idle):
                self._standing.look()
                self._commit_if_due()
                self._callers.send()
                await self._callers.wait(self._seconds_to_wait())
                await self._call_off()
            await self._callers.come_home(GRACE_S if self._stopping else None)
        finally:
            await self._leave()
        if failure := self._callers.failure or self.neighbours.failure:
            raise failure

    async def _call_off(self) -> None:
        """Let nobody be out any more when our time with these servers is up."""
        if len(self._callers) and self._clock.now() >= self.neighbours.open_until:
            await self._callers.come_home(0)
            self._arrivals.take_in()

    def stop(self) -> None:
        """Start nothing new; `collect` returns when the visits under way have ended or been given up."""
        self._stopping = True
        self._callers.wake()

    @property
    def is_idle(self) -> bool:
        """Nothing under way and nothing to do, unless mail arrives or pages fall due."""
        busy = len(self._callers) or len(self._turns) or self.frontier.has_found
        return not busy and self.neighbours.is_empty and not self._keeper.enabled

    @property
    def plan(self) -> PlanReport | None:
        """What the last planning round came to."""
        return self._keeper.plan

    def report(self) -> Report:
        """This robot in numbers."""
        counts, mail = self.frontier.counts, self.neighbours
        pages = counts.found, counts.visited, counts.bytes, counts.outcomes
        now = self._visitor.open_sockets, self.is_idle, dict(mail.sent), dict(mail.read)
        word = self._standing.word or mail.word or self._visitor.word
        return Report(self.visits, *pages, *now, revisits=self.revisits, word=word)

    def _is_over(self, under_way: int = 0) -> bool:
        full = self._page_limit is not None and self.visits + under_way >= self._page_limit
        return bool(self._stopping or full or self._callers.failure or self.neighbours.failure)

    def _next_server(self) -> str | None:
        """The server whose turn it is, if anyone may start at all; if more are ready, others are sent too."""
        is_shut = self._standing.is_still or self._clock.now() >= self.neighbours.open_until
        if is_shut or self._is_over(len(self._callers)):
            return None
        server = self._gate.take()
        if server is None and self.frontier.has_found:
            self._settle()
            server = self._gate.take()
        if self._turns.next_ready_at() < self._wakes_at and not self._callers.is_full:
            self._callers.wake()
        return server

    def _seconds_to_wait(self) -> float:
        """Until a server is ready, or a commit or a look around is due."""
        due_at = min(self._commits.due_at(rests=self._rests), self._standing.looks_at)
        closes_at = self.neighbours.open_until
        if self._clock.now() < closes_at:
            nobody = self._callers.is_full or self._standing.is_still
            ready_at = math.inf if nobody else self._turns.next_ready_at()
            due_at = min(due_at, closes_at, ready_at)
        self._wakes_at = due_at
        return due_at - self._clock.now()

    async def _leave(self) -> None:
        await self._callers.come_home(0)  # some are still out if we are called off ourselves
        if self._callers.failure is None:
            self._arrivals.take_in()
        await self._visitor.close()
        if self._callers.failure is None:
            self._commit(last=True)
            self._archive.close()
        await self.neighbours.leave()
        if self._callers.failure is None and not self._gate.is_wary:
            self.frontier.close()
        else:  # also when what a kill made us forget is still fresh
            self.frontier.abandon()
