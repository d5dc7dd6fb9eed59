"""Do we find what S0 found?

In:    a fitted population, and what of S0's experiment to repeat.
Out:   the outcomes of its trials, and its statements beside ours.
Never: calls something equal without saying within what.
Paper: S0 3.1, 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from joro.model import DAY_S
from joro.schedule.sockets import MARGIN, Order, bound
from joro.simulator.engine import BY_COMPLETION, BY_START
from joro.simulator.population import MINIMUM_S, SERVERS, Population, fitted
from joro.simulator.trial import Outcome, Trial, run

#: Numbers of sockets, as multiples of the need: around the bound every step counts.
FEASIBLE_TIMES = (0.25, 0.5, 0.75, 0.95, 1.0, 1.05, 1.1, MARGIN, 2.0, 3.0, 10.0, 30.0)
ALL_TIMES = (0.25, 0.5, 0.75, 1.0, MARGIN, 2.0, 3.0, 10.0)
STAGGERED_TIMES = (0.75, 1.0, 1.1, MARGIN, 3.0)
VARIANT_TIMES = (1.1, MARGIN, 2.0, 3.0, 4.0)
#: What we would call S0's "about three times".
THREE_TIMES, TWICE = (2.5, 3.5), 2.0
#: Where servers begin when they do not all begin at once.
PHASE_SEED = 5


@dataclass(frozen=True)
class Settings:
    """What of S0's experiment is repeated."""

    days: float = 1.0
    orders: tuple[Order, ...] = tuple(Order)
    sockets: tuple[int, ...] = ()  # none: multiples of the need
    seed: int = 1
    servers: int = SERVERS


@dataclass(frozen=True)
class Series:
    """Trials of one population that belong together."""

    population: Population
    trials: list[Trial]

    @property
    def cost(self) -> float:
        """Visits asked for: what progress is measured in."""
        return sum(trial.days * self.population.visits_per_day for trial in self.trials)


@dataclass(frozen=True)
class Variant:
    """Another reading of S0: which servers are feasible, how long they idle."""

    name: str
    rule: int
    minimum_s: float
    tested_minimum_s: float  # the pause that e_max must leave room for


VARIANTS = (
    Variant("period of the start, e_max + 1 s ≤ I, pause 1 s (ours)", BY_START, MINIMUM_S, MINIMUM_S),
    Variant("period of the end, e_max + 1 s ≤ I, pause 1 s", BY_COMPLETION, MINIMUM_S, MINIMUM_S),
    Variant("period of the end, e_max ≤ I, no pause", BY_COMPLETION, 0.0, 0.0),
    Variant("period of the end, e_max ≤ I, pause 1 s", BY_COMPLETION, MINIMUM_S, 0.0),
    Variant("period of the start, e_max ≤ I, pause 1 s", BY_START, MINIMUM_S, 0.0),
)


@dataclass
class Experiment:
    """The trials, and what they gave; filled by `perform`."""

    settings: Settings
    everyone: Population
    feasible: Population
    all_at_once: list[Outcome] = field(default_factory=list)  # of the feasible servers
    staggered: list[Outcome] = field(default_factory=list)  # of the same
    with_all: list[Outcome] = field(default_factory=list)  # of all servers, all at once
    variants: list[list[Outcome]] = field(default_factory=list)  # EDF under each of VARIANTS

    @property
    def variant_days(self) -> float:
        """What a reading of S0 changes shows within a day."""
        return min(self.settings.days, 1.0)

    def series(self) -> list[tuple[list[Outcome], Series]]:
        """What is to be done, and where its outcomes go."""
        self.variants = [[] for _ in VARIANTS]
        plan = [
            (self.all_at_once, self._series(self.feasible, FEASIBLE_TIMES)),
            (self.staggered, self._series(self.feasible, STAGGERED_TIMES, PHASE_SEED)),
            (self.with_all, self._series(self.everyone, ALL_TIMES)),
        ]
        for outcomes, variant in zip(self.variants, VARIANTS, strict=True):
            plan.append((outcomes, self._variant(variant)))
        return plan

    def _series(
        self, population: Population, times: Sequence[float], phase_seed: int | None = None
    ) -> Series:
        chosen = self.settings
        numbers = chosen.sockets or tuple(dict.fromkeys(_sockets(population, each) for each in times))
        trials = [
            Trial(number, order, chosen.days, phase_seed) for number in numbers for order in chosen.orders
        ]
        return Series(population, trials)

    def _variant(self, variant: Variant) -> Series:
        population = self.everyone.select(self.everyone.feasible(variant.tested_minimum_s))
        trials = [
            Trial(
                _sockets(population, each),
                Order.EDF,
                self.variant_days,
                None,
                variant.minimum_s,
                variant.rule,
            )
            for each in VARIANT_TIMES
        ]
        return Series(population, trials)


def _sockets(population: Population, times: float) -> int:
    return max(math.ceil(times * population.need - 1e-9), 1)


def experiment(settings: Settings) -> Experiment:
    """Make the population; nothing is simulated yet."""
    everyone = fitted(settings.seed, settings.servers)
    return Experiment(settings, everyone, everyone.select(everyone.feasible()))


def perform(one: Experiment, started: Callable[[float], object], progress: Callable[[float], object]) -> None:
    """Simulate; `started` is told of all visits to come, `progress` of those that have passed."""
    plan = one.series()
    started(sum(series.cost for _, series in plan))
    for outcomes, series in plan:
        per_day = series.population.visits_per_day
        for trial in series.trials:
            outcomes.append(run(series.population, trial, lambda days: progress(days * per_day)))  # noqa: B023


@dataclass(frozen=True)
class Statement:
    """What S0 says, and what we find."""

    what: str
    published: str
    ours: str
    tolerance: str  # "" for what is true or not
    agrees: bool


def scaled(servers: int) -> str:
    """What S0's numbers are when there are not as many servers as S0 had; "" when there are."""
    if servers == SERVERS:
        return ""
    return (
        f"S0 had {SERVERS:,} servers. Of its numbers of servers, sockets, downloads and Mbit/s, the part is"
        f" given that is due to {servers:,}; S0 prints none of these."
    )


def statements(one: Experiment) -> list[Statement]:
    """S0's figures and findings beside ours."""
    return [*_figures(one), *_findings(one)]


def _figures(one: Experiment) -> list[Statement]:
    everyone, feasible = one.everyone, one.feasible
    share = len(everyone) / SERVERS  # of a smaller population, the part that is its due
    interval_s, mean_s, longest_s = everyone.interval_s, everyone.mean_s, everyone.longest_s
    by_longest, by_mean = int((longest_s > interval_s).sum()), int((mean_s > interval_s).sum())
    mbit_per_s = feasible.visits_per_day * feasible.page_bytes * 8 / DAY_S / 1e6
    ratio = everyone.visits_per_day / feasible.visits_per_day
    return [
        _near("mean access interval, days", 5.5, float(interval_s.mean()) / DAY_S, 0.02),
        _near("servers to be visited every minute, %", 1.0, 100 * float((interval_s < 60).mean()), 0.1),
        _near("mean download time, s", 1.0, float(mean_s.mean()), 0.05),
        _near("mean of the longest download times, s", 5.8, float(longest_s.mean()), 0.05),
        _near("servers infeasible by the longest time", 380 * share, by_longest, 0.1),
        Statement(
            "servers infeasible by the mean time",
            f"< {_number(10 * share)}",
            f"{by_mean}",
            "",
            by_mean < 10 * share,
        ),
        _near("bound of sockets, all servers", 62 * share, bound(everyone.need), 0.1),
        _near("bound of sockets, feasible servers", 28 * share, bound(feasible.need), 0.1),
        _near(
            "downloads a day, feasible servers, millions", 4.33 * share, feasible.visits_per_day / 1e6, 0.15
        ),
        _near("their bandwidth at 22 KB a page, Mbit/s", 8.7 * share, mbit_per_s, 0.15),
        _near("bandwidth with the infeasible ones, times that", 2.0, ratio, 0.15),
    ]


def _near(what: str, published: float, ours: float, tolerance: float) -> Statement:
    agrees = abs(ours - published) <= tolerance * published
    return Statement(what, _number(published), _number(ours), f"± {100 * tolerance:.0f} %", agrees)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _findings(one: Experiment) -> list[Statement]:
    return [*_least_below(one), *_nothing_missed(one), *_at_thirty_times(one), *_left_with_all(one)]


def _least_below(one: Experiment) -> Iterator[Statement]:
    if len(one.settings.orders) < 2 or Order.SJF not in one.settings.orders:
        return  # nobody to compare with
    if least := least_missed(below(one.all_at_once, one.feasible.need)):
        names = ", ".join(sorted(order.name for order in least))
        yield Statement("loses least below the bound", "SJF", names, "", least == {Order.SJF})


def _nothing_missed(one: Experiment) -> Iterator[Statement]:
    need, low, high = one.feasible.need, *THREE_TIMES
    for order in [each for each in (Order.EDF, Order.FREQ) if each in one.settings.orders]:
        times = nothing_missed_from(one.all_at_once, order, need)
        missed_at = missed_up_to(one.all_at_once, order, need)
        # A single socket less is as near as can be.
        if times is not None and times > low and missed_at < min(TWICE, times - 1.001 / need):
            continue  # perhaps far fewer would do: nobody tried
        ours = "never" if times is None else f"{'' if missed_at else '≤ '}{times:.2f} × the need"
        is_same = times is not None and low <= times <= high
        yield Statement(f"{order.name} loses nothing from", "≈ 3 × the bound", ours, "± 0.5", is_same)


def _at_thirty_times(one: Experiment) -> Iterator[Statement]:
    for each in one.all_at_once:
        times = each.trial.sockets / one.feasible.need
        if times >= 29 and each.trial.order in (Order.FCFS, Order.SJF):
            what = f"{each.trial.order.name} loses some at {times:.0f} × the need"
            yield Statement(what, "> 0", f"{each.missed:,}", "", each.missed > 0)


def _left_with_all(one: Experiment) -> Iterator[Statement]:
    enough = 2 * one.everyone.need
    ample = [each for each in one.with_all if each.trial.order is Order.EDF and each.trial.sockets >= enough]
    if ample:
        published = 1.6e8 / 300 * len(one.everyone) / SERVERS
        ours = min(each.missed for each in ample) / one.settings.days
        yield _near("missed a day of all servers, with sockets enough", published, ours, 0.2)


def below(outcomes: Sequence[Outcome], need: float) -> list[Outcome]:
    """Trials with too few sockets, but not next to the bound, where the order is turning."""
    return [each for each in outcomes if each.trial.sockets <= 0.9 * need]


def least_missed(outcomes: Sequence[Outcome]) -> set[Order]:
    """The orders that lost least with some number of sockets."""
    winners = set()
    for number in {each.trial.sockets for each in outcomes}:
        rivals = [each for each in outcomes if each.trial.sockets == number]
        winners.add(min(rivals, key=lambda each: each.missed).trial.order)
    return winners


def nothing_missed_from(outcomes: Sequence[Outcome], order: Order, need: float) -> float | None:
    """The smallest multiple of the need tried from which on this order missed nothing."""
    mine = sorted(
        (each for each in outcomes if each.trial.order is order), key=lambda each: -each.trial.sockets
    )
    best = None
    for each in mine:
        if each.missed:
            break
        best = each.trial.sockets / need
    return best


def missed_up_to(outcomes: Sequence[Outcome], order: Order, need: float) -> float:
    """The largest multiple of the need tried with which this order missed something; 0 when it never did."""
    mine = (each for each in outcomes if each.trial.order is order and each.missed)
    return max((each.trial.sockets / need for each in mine), default=0.0)
