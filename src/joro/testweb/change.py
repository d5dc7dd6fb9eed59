"""When does a page change?

In:    a page and a moment of virtual time.
Out:   the version it shows then, since when and until when; its true rate; all changes in a period.
Never: remembers anything: time is cut into cells, and what happens in a cell is drawn from (seed, page,
       cell) alone, so any moment of any page costs the same.

Kinds of page:
  steady    never changes
  poisson   main text changes as a Poisson process of known rate
  burst     the same rate, but changes come in groups, as real histories do
  cosmetic  only the advertisement and the date change; the main text stays
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from joro.model import DAY_S
from joro.testweb.chance import Stream, draw, normal, source, uniform
from joro.testweb.graph import is_leaf
from joro.testweb.plan import Plan
from joro.testweb.settings import EPOCH

KINDS = {"steady": 0.20, "poisson": 0.55, "burst": 0.10, "cosmetic": 0.15}

#: Changes per day are log-normal: median .053, mean .33 (the population fitted to S0-12).
RATE_MEDIAN_PER_DAY = 0.053
RATE_SIGMA = 1.913
RATE_LIMIT_PER_DAY = 288.0
#: Mean events in one cell: few enough to draw quickly, enough that an empty cell is rare (13 %).
EVENTS_PER_CELL = 2.0
BURST_SIZE = 5.0
BURST_GAP_S = 3_600.0
#: Pages were made before virtual time began, this long ago in the mean.
AGE_S = 600 * DAY_S
#: Of the pages nobody depends on, these vanish some day (mean 60 days after the first one).
GONE_SHARE, GONE_MEAN_S = 0.03, 60 * DAY_S


@dataclass(frozen=True)
class State:
    """How a page stands at one moment."""

    version: int  # of the main text; 0: as it was made
    advertisement: int  # of the decoration
    since: float  # virtual time of the last change of either
    until: float  # virtual time of the next one


class Changes:
    """The change process of every page of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._seed = plan.settings.seed
        self._steady = plan.settings.profile == "bench"

    def kind(self, page: int) -> str:
        """Which process a page follows; copies follow their original's."""
        if self._steady:
            return "steady"
        pick = uniform(self._seed, Stream.RATE, self.original(page), 1)
        for kind, share in KINDS.items():
            if pick < share:
                return kind
            pick -= share
        return "poisson"

    def rate_per_day(self, page: int) -> float:
        """λ: mean number of changes a day (of a cosmetic page: of its decoration)."""
        if self.kind(page) == "steady":
            return 0.0
        deviation = normal(self._seed, Stream.RATE, self.original(page), 2)
        return min(RATE_LIMIT_PER_DAY, RATE_MEDIAN_PER_DAY * math.exp(RATE_SIGMA * deviation))

    def original(self, page: int) -> int:
        """The page this one copies, or itself."""
        host = self._plan.host_of(page)
        if host.copy_of < 0:
            return page
        return self._plan.hosts[host.copy_of].first + page - host.first

    def made(self, page: int) -> float:
        """When the page came into being, some time before virtual time began."""
        return (
            EPOCH - DAY_S - AGE_S * -math.log(1.0 - uniform(self._seed, Stream.RATE, self.original(page), 3))
        )

    def gone(self, page: int) -> float:
        """When the page vanishes; infinity for nearly all."""
        host = self._plan.host_of(page)
        if self._steady or not is_leaf(host, page - host.first):
            return math.inf
        if uniform(self._seed, Stream.GONE, page, 1) >= GONE_SHARE:
            return math.inf
        return EPOCH + DAY_S - GONE_MEAN_S * math.log(1.0 - uniform(self._seed, Stream.GONE, page, 2))

    def state(self, page: int, now: float) -> State:
        """What the page shows at `now`."""
        page = self.original(page)
        kind = self.kind(page)
        if kind == "steady":
            return State(0, 0, self.made(page), math.inf)
        process = self._process(page, kind)
        since, until = process.last(now, self.made(page)), process.next(now)
        token = draw(self._seed, Stream.VERSION, page, int(since * 1000.0)) if since > self.made(page) else 0
        return State(0, token, since, until) if kind == "cosmetic" else State(token, 0, since, until)

    def changes(self, page: int, since: float, until: float) -> list[float]:
        """The moments in (since, until] at which the page changes (a cosmetic one: its decoration)."""
        page = self.original(page)
        kind = self.kind(page)
        if kind == "steady":
            return []
        made = self.made(page)
        return [time for time in self._process(page, kind).between(since, until) if time > made]

    def _process(self, page: int, kind: str) -> Process:
        return Process(
            self._seed, page, self.rate_per_day(page) / DAY_S, BURST_SIZE if kind == "burst" else 1.0
        )


class Process:
    """Moments drawn cell by cell; in the mean `rate_per_s`, in groups of `burst` in the mean."""

    def __init__(self, seed: int, page: int, rate_per_s: float, burst: float) -> None:
        self._seed = seed
        self._page = page
        self._burst = burst
        self._cell_s = EVENTS_PER_CELL * burst / rate_per_s

    def cell(self, number: int) -> list[float]:
        """All moments in cell `number`, in order."""
        rng = source(self._seed, Stream.CHANGE, self._page, number)
        start = EPOCH + number * self._cell_s
        moments = [offset for _ in range(poisson(rng, EVENTS_PER_CELL)) for offset in self._group(rng)]
        return sorted(start + offset for offset in moments)

    def _group(self, rng: Random) -> list[float]:
        offset = rng.random() * self._cell_s
        if self._burst == 1.0:
            return [offset]
        gap_s = min(BURST_GAP_S, self._cell_s / 40)
        group = [offset]
        while rng.random() > 1.0 / self._burst:
            offset += rng.expovariate(1.0 / gap_s)
            group.append(offset % self._cell_s)  # wraps: the cell keeps its own, the rate stays exact
        return group

    def last(self, now: float, earliest: float) -> float:
        """The last moment at or before `now`, or `earliest` when there is none after it."""
        number = self._number(now)
        while EPOCH + (number + 1) * self._cell_s > earliest:
            before = [moment for moment in self.cell(number) if moment <= now]
            if before:
                return max(before[-1], earliest)
            number -= 1
        return earliest

    def next(self, now: float) -> float:
        """The first moment after `now`."""
        number = self._number(now)
        while True:
            for moment in self.cell(number):
                if moment > now:
                    return moment
            number += 1

    def between(self, since: float, until: float) -> list[float]:
        """All moments in (since, until]."""
        cells = range(self._number(since), self._number(until) + 1)
        return [moment for number in cells for moment in self.cell(number) if since < moment <= until]

    def _number(self, time: float) -> int:
        return math.floor((time - EPOCH) / self._cell_s)


def poisson(rng: Random, mean: float) -> int:
    """A Poisson number, by Knuth's product (for small means)."""
    limit, product, count = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        count += 1
    return count
