"""Can the robot keep all pages as fresh as they wish, and what gives way if not?

In:    the servers' records: what their pages wish, how long downloads take, what was missed.
Out:   the plan that holds until the next round, the price of a visit, and a report of both for people.
Never: sees a page; changes an interval without saying so.
Paper: S0-04 to S0-07, S0-01: refresh first, the surplus sockets to discovery.
"""

from __future__ import annotations

import logging
import math
from array import array
from collections import deque
from collections.abc import Callable
from itertools import islice

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from joro.clock import Clock
from joro.config import Refresh
from joro.config.servers import servers_like
from joro.robot.limits import NO_SURCHARGE, Limits
from joro.robot.planned import PlanReport as PlanReport
from joro.robot.planned import report_of
from joro.robot.policy import Policy
from joro.schedule import change, cycle, figures, late, prior
from joro.schedule.feasible import Rule
from joro.schedule.plan import Plan, Round, Timing
from joro.schedule.sockets import Order, Pool, Pools, least_share, priority
from joro.store.frontier import Frontier
from joro.store.records import ServerRecord, Upkeep
from joro.url import fingerprint, server_of

log = logging.getLogger(__name__)

#: Before the first page has a wish no server can give anything; no price fits a budget of nothing.
LEAST_BUDGET_PER_S = 1e-12
#: Pages looked at in a round, to learn what pages are like and what a visit must be worth.
SAMPLE = 4_096
#: Pages are looked at again after so much of the time until their visit, as long as prices move.
LOOKED_AT = 0.6
#: When intervals have stayed within so much of each other for a day, dates stand.
STEADY = 0.85
#: Servers looked at in one go while other work waits.
SLICE = 1_000
_decode = msgspec.msgpack.Decoder(ServerRecord).decode


class Planner:
    """Plans one robot's refreshing, round after round."""

    def __init__(
        self,
        frontier: Frontier,
        settings: Refresh,
        clock: Clock,
        *,
        sockets: int,
        minimum_s: Callable[[str, ServerRecord], float],
        share: int = 1,
        discovers: bool = True,
    ) -> None:
        self._frontier = frontier
        self._settings = settings
        self._clock = clock
        self.sockets = sockets
        self._minimum_s = minimum_s
        self._share = share  # robots that share the budget
        self._order = Order[settings.order.upper()]
        self._planned_at = clock.now()
        self._least_discovery = least_share(sockets, settings.discovery_percent if discovers else 0)
        self._access_s: dict[str, float] = {}  # of servers asked about since the last round
        self.policy = Policy(settings)
        self._said = _Sayings()
        self._surcharge = NO_SURCHARGE
        self._is_important = servers_like(settings.important) if settings.important else None
        self._unrest = _Unrest()
        self._walk: _Walk | None = None
        self.cycle_s = int(settings.cycle_days * cycle.DAY_S)
        self._cycled: NDArray[np.uint64] = np.empty(0, np.uint64)  # servers that have a cycle
        self.plan: Plan | None = None
        self.report: PlanReport | None = None

    def resume(self) -> None:
        """After a restart: count all pages anew, and plan before the first of them is visited.

        What all of them wish is in the servers' records; what pages are like is learned from a sample.
        """
        self.round()

    def page_intervals_s(
        self, servers: NDArray[np.uint64], wished_s: ArrayLike, weights: ArrayLike
    ) -> NDArray[np.float64]:
        """The intervals that can be kept."""
        if self.plan is None:
            return np.asarray(wished_s, np.float64)
        names = servers.tolist() if self.plan.own else ()
        return np.asarray(self.plan.page_intervals_s(names, wished_s, weights), np.float64)

    def worth(self, servers: NDArray[np.uint64], weights: ArrayLike) -> NDArray[np.float64]:
        """How much pages matter for what a visit to their servers costs; the policy's price is for others.

        A page whose server would be asked for more than it bears pays k times as much, so it is worth a k-th.
        """
        counts = np.asarray(weights, np.float64)
        return counts / self._surcharge.of(servers) if self._surcharge.is_paid else counts

    @property
    def pools(self) -> Pools | None:
        """The sockets each pool may have, until the next round."""
        return self.plan.pools if self.plan is not None else None

    def pool_of(self, server: str) -> Pool:
        """What a server would be visited for next."""
        record = self._frontier.server(server)
        if not record.due and not self._frontier.is_urgent(server):
            return Pool.DISCOVERY
        is_apart = self.plan is not None and self.plan.is_apart(fingerprint(server))
        return Pool.INFEASIBLE if is_apart else Pool.REFRESH

    def is_urgent(self, server: str) -> bool:
        """Does a page wait there that is to be visited before all others?"""
        return self._frontier.is_urgent(server)

    def rank(self, server: str, ready_at: float) -> float:
        """The key of a waiting server: the smallest gets the next socket; infinite without refreshing.

        News waits for nobody: servers with urgent pages come first, by how long they have waited.
        """
        if self.is_urgent(server):
            return -math.inf
        record = self._frontier.server(server)
        if not record.wishes:
            return math.inf
        return priority(self._order, ready_at, self._access_interval_s(server, record), record.download_s)

    def _access_interval_s(self, server: str, record: ServerRecord) -> float:
        if self.plan is None:
            return max(self._minimum_s(server, record), 1.0)
        interval = self._access_s.get(server)
        if interval is None:
            minimum, name = self._minimum_s(server, record), fingerprint(server)
            if name in self.plan.priced:  # prices keep it at what it bears; wishes tell of older prices
                minimum += record.longest_download_s
            interval = self.plan.access_interval_s(name, record.wishes, minimum, self._weight_of(server))
            self._access_s[server] = interval
        return interval

    @property
    def is_due(self) -> bool:
        """Is it time for a round?"""
        return self._clock.now() - self._planned_at >= self._settings.plan_every_s

    def advance(self) -> None:
        """Plan anew, when it is time, over all servers as of the last commit: some of them at each call.

        A hundred thousand at once would keep everybody waiting for seconds.
        """
        if self._walk is None and self.is_due:
            self._walk = _Walk(self._settings.when_infeasible)
        if self._walk is not None and self._go_on(self._walk, SLICE):
            self._conclude(self._walk)
            self._walk = None

    def round(self) -> PlanReport:
        """Plan anew at once, over all servers as of the last commit."""
        walk, self._walk = _Walk(self._settings.when_infeasible), None
        while not self._go_on(walk, SLICE):
            pass
        return self._conclude(walk)

    def _go_on(self, walk: _Walk, servers: int) -> bool:
        """Look at so many more; True when all have been seen."""
        seen = 0
        for key, packed in islice(self._frontier.scan(b"s", walk.next_key), servers):
            server, record = key[1:].decode(), _decode(packed)
            missed, weight = self._count_missed(server, record), self._weight_of(server)
            walk.add(fingerprint(server), record, self._minimum_s(server, record), missed, weight)
            if weight != 1.0:
                walk.important.append(fingerprint(server))
            if self.has_cycle(record):
                walk.cycled.append(fingerprint(server))
            walk.next_key = key + b"\0"
            seen += 1
        return seen < servers

    def _count_missed(self, server: str, written: ServerRecord) -> int:
        """Visits missed since the last round, by pages whose visits came home and by pages that still wait.

        What was told of a page while it waits is not told again when its visit comes home.
        """
        if not (written.missed or written.waiting or written.missed_waiting or written.missed_lately):
            return 0
        record = self._frontier.server(server)
        if not record.due:
            record.waiting.clear()  # with what others have let wait, or taken away, uncounted
        waiting = late.missed(record.waiting, self._clock.now(), self._kept_s(server))
        missed = max(record.missed + waiting - record.missed_waiting, 0)
        record.missed_waiting = record.missed_waiting + missed - record.missed if record.due else 0
        record.missed, record.missed_lately = 0, missed
        return missed

    def _kept_s(self, server: str) -> Callable[[float], float]:
        """The interval that is kept of one that a page of the server wishes."""
        plan, name, weight = self.plan, fingerprint(server), self._weight_of(server)

        def kept_s(wished_s: float) -> float:
            return wished_s if plan is None else float(plan.page_intervals_s([name], [wished_s], [weight])[0])

        return kept_s

    def _weight_of(self, server: str) -> float:
        """How much a page of a server matters; a usual one counts 1."""
        is_important = self._is_important is not None and self._is_important(server)
        return float(self._settings.importance) if is_important else 1.0

    def _conclude(self, walk: _Walk) -> PlanReport:
        margin, least = self._settings.socket_margin_percent / 100, self._least_discovery
        self._said = walk.said
        self._cycled = np.array(walk.cycled, np.uint64)
        affordable = walk.planning.affordable_per_s(self.sockets, margin=margin, least_discovery=least)
        limits = self._study(walk, self._budget_per_s(affordable))
        self._surcharge, priced = limits.settled(self.policy.price) if limits else (NO_SURCHARGE, None)
        self.plan = walk.planning.plan(self.sockets, margin=margin, least_discovery=least, priced=priced)
        self._access_s.clear()
        self._planned_at = self._clock.now()
        self._unrest.add(self._planned_at, self.policy.price, self.plan.revision.strength)
        self.report = structs.replace(
            report_of(self.plan, self._planned_at, self.sockets, self.policy.price),
            asked_per_day=self._settings.visits_per_day / self._share,
            affordable_per_day=86_400.0 * self._usable_per_s(walk.planning, affordable),
        )
        self._frontier.keep(figures.KEPT_AS, msgspec.json.encode(self.report))
        self._frontier.keep(prior.KEPT_AS, prior.packed(self.policy.expectation))
        (log.warning if self.report.is_revised or self.report.missed else log.info)("%s", self.report)
        return self.report

    def _study(self, walk: _Walk, budget_per_s: float) -> Limits | None:
        """Look at a few thousand pages anywhere; what they may cost is their part of the budget.

        Those that were missing when they were last asked for leave the others what they do not take.
        """
        cared = [(each, each.upkeep) for each in self._frontier.sample(SAMPLE) if each.upkeep is not None]
        sample = [(record, care) for record, care in cared if not care.polled]
        there = [record for record, care in sample if not is_missing(care)]
        cares = [care for _, care in sample if not is_missing(care)]
        if not there:
            return None
        taken_per_s = sum(1 / care.interval_s for _, care in sample if is_missing(care) and care.interval_s)
        histories = change.unpack([care.history for care in cares])
        weights = np.array([care.weight for care in cares], np.float32)
        servers = np.array([fingerprint(server_of(record.url)) for record in there], np.uint64)
        others = self.said_of(servers) - prior.said(histories)
        share = len(sample) / max(walk.pages, len(sample))
        left_per_s = max(budget_per_s * share - taken_per_s, LEAST_BUDGET_PER_S)
        limits = self._limits(walk) if self._settings.policy == "optimal" else None
        self.policy.study(
            histories, weights, np.maximum(others, [0.0, -np.inf]), left_per_s,
            limits.priced(servers) if limits is not None else None,
        )  # fmt: skip
        return limits

    def _limits(self, walk: _Walk) -> Limits:
        names = walk.planning.names
        weights = np.ones(len(names))
        weights[np.isin(names, np.array(walk.important, np.uint64))] = self._settings.importance
        limits = Limits(walk.planning, self._settings.least_interval_s, self.said_of(names), weights)
        limits.learn(self._surcharge, self._clock.now() - self._planned_at)
        return limits

    def cycle_dues(self, servers: NDArray[np.uint64], visited_at: ArrayLike) -> NDArray[np.float64]:
        """When pages visited then are due by the cycle of their servers; infinity where there is none."""
        dues = np.full(len(servers), np.inf)
        if len(self._cycled):
            here = np.isin(servers, self._cycled)
            dues[here] = cycle.dues_at(servers[here], np.asarray(visited_at)[here], self.cycle_s)
        return dues

    @property
    def looked_at_share(self) -> float:
        """After which share of the time until its visit a page is looked at again; 1: not before.

        Intervals go with the root of the price. One that did not move for a day will not move far while a
        page waits; if it does all the same, a page comes late once.
        """
        return self._unrest.share

    @property
    def look_within_s(self) -> tuple[float, float]:
        """How soon dates are looked at again, of pages with a price and of those visited once.

        Drawn intervals stand. Where languages are chosen, a server may come to have a cycle at any time.
        """
        if self.policy.is_drawn:
            return 0.0, math.inf
        within_s = self.cycle_s / 2 if self._settings.languages else math.inf
        return within_s, within_s

    def has_cycle(self, record: ServerRecord) -> bool:
        """Is a server gone through whole in every cycle?"""
        chosen = self._settings.languages
        return bool(chosen) and bool(record.languages) and cycle.holds_any(record.languages, chosen)

    def said_of(self, servers: NDArray[np.uint64]) -> prior.Said:
        """What the pages of servers, by fingerprint, had said when the last round began."""
        return self._said.of(servers)

    def _usable_per_s(self, planning: Round, affordable_per_s: float) -> float:
        """Visits that can be made and have a use: no page has one more often than in the least interval."""
        most_per_s = planning.pages / self._settings.least_interval_s
        return min(float(np.minimum(planning.limits_per_s, most_per_s).sum()), affordable_per_s)

    def _budget_per_s(self, affordable_per_s: float) -> float:
        wanted = self._settings.visits_per_day / 86_400.0 / self._share
        budget = min(wanted, affordable_per_s) if wanted else affordable_per_s
        return max(budget, LEAST_BUDGET_PER_S)


class _Unrest:
    """How far prices have moved within a day."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, float]] = deque()
        self._since = math.inf

    def add(self, now: float, price: float, strength: float) -> None:
        """After a round."""
        self._since = min(self._since, now)
        self._steps.append((now, math.log(max(price, 1e-300)) + 2.0 * math.log(max(strength, 1.0))))
        while self._steps[0][0] < now - cycle.DAY_S:
            self._steps.popleft()

    @property
    def share(self) -> float:
        if not self._steps or self._steps[-1][0] - self._since < cycle.DAY_S:
            return LOOKED_AT
        logs = [log for _, log in self._steps]
        share = 1.0 - (max(logs) - min(logs)) / 2
        return 1.0 if share > STEADY else max(share, LOOKED_AT)


class _Walk:
    """A round under way: what the servers seen so far come to."""

    def __init__(self, rule: str) -> None:
        self.planning = Round(Rule(rule))
        self.said = _Sayings()
        self.cycled = array("Q")
        self.important = array("Q")
        self.pages = 0
        self.next_key = b"s"

    def add(self, server: int, record: ServerRecord, minimum_s: float, missed: int, weight: float) -> None:
        self.pages += sum(count for count, _ in record.wishes.values())
        self.said.add(server, record.said)
        timing = Timing(record.download_s, record.longest_download_s)
        self.planning.add(server, record.wishes, timing, minimum_s, missed, weight=weight)


class _Sayings:
    """What the pages of many servers said, in columns: a dictionary takes ten times as much."""

    def __init__(self) -> None:
        self._names = array("Q")
        self._said = array("d")
        self._sorted: tuple[NDArray[np.uint64], prior.Said] | None = None

    def add(self, server: int, said: tuple[float, float]) -> None:
        if said[0]:
            self._names.append(server)
            self._said.extend(said)

    def of(self, servers: NDArray[np.uint64]) -> prior.Said:
        names, said = self._in_order()
        found = np.zeros((len(servers), 2))
        if len(names):
            places = np.minimum(np.searchsorted(names, servers), len(names) - 1)
            known = names[places] == servers
            found[known] = said[places[known]]
        return found

    def _in_order(self) -> tuple[NDArray[np.uint64], prior.Said]:
        """The same by name, once all are in; what they came in as is no longer held."""
        if self._sorted is None:
            names, said = np.array(self._names, np.uint64), np.array(self._said).reshape(-1, 2)
            order = np.argsort(names)
            self._sorted = names[order], said[order]
            self._names, self._said = array("Q"), array("d")
        return self._sorted


def is_missing(care: Upkeep) -> bool:
    """Was the page, or a part of it, not there when it was last asked for?"""
    return care.absences > 0 or care.torn or care.failures > 0
