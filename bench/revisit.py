"""How near do our revisit policies come to the best possible, not knowing how often pages change?

Made-up pages on servers with the statistics of S0, rates spread by a factor of seven and importance by one
of three; a budget of visits of a tenth and of a quarter of all changes; 240 days in rounds of an hour, of
which the first half serves to learn. Several worlds; figures are means over them. The measure is what a
crawler could reach that was told every rate (`optimum.solve`).

Signals: 38 % of the servers announce nine of ten changes, and one of eleven announcements is false, 9 %
announce only what never happened; against the same world with closed ears. And worlds where half of the
servers do nothing but lie.

Recorded changes, where there are some (`JORO_HISTORIES`, or `../shared/data/page-changes.tsv.xz`): our policy
less the better of uniform visits and StormCrawler's rule, on the half of the pages nothing was tuned on.

Left out: politeness, failures, the cost of reading sitemaps. `JORO_REVISIT_PAGES` makes smaller worlds.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from joro.simulator.contest import Row, contest, recorded_course, unweighted
from joro.simulator.freshness import Course
from joro.simulator.histories import DAYS, recorded
from joro.simulator.learner import Settings
from joro.simulator.rivals import optimum
from joro.simulator.world import BROKEN_SERVERS, GOOD_SERVERS, World, made_up

PAGES = int(os.environ.get("JORO_REVISIT_PAGES", "40000"))
SEEDS = (1, 2, 3)
BUDGETS = (0.1, 0.25)
RECORDED_BUDGETS = (0.25, 1.0, 3.0)
#: Starts differ by half a point: fewer of them would say little.
RECORDED_SEEDS = tuple(range(1, 21))
#: Servers that announce what never happened, in the world in which it would hurt most.
MANY_BROKEN = 0.5
#: They do not ask how important a page is, so that one crawl gives both of their figures.
BLIND = ("interval", "uniform", "nutch", "stormcrawler")
#: Of these, who comes near us; the others are far behind in the first world, and that is enough.
NEAR = ("uniform", "nutch", "stormcrawler")
HISTORIES = Path(__file__).parents[2] / "shared" / "data" / "page-changes.tsv.xz"

Figures = dict[str, tuple[float, str]]
#: (weighted?, budget, policy) → seed → percent of the optimum
Shares = dict[tuple[bool, float, str], dict[int, float]]


def figures() -> Figures:
    """Shares of the optimum, gain and cost of signals, margins on recorded pages."""
    return {**_shares(), **_signals(), **_recorded()}


def _shares() -> Figures:
    shares: Shares = {}
    for seed in SEEDS:
        for is_weighted, row, share in _world_shares(made_up(PAGES, seed), seed):
            shares.setdefault((is_weighted, row.budget, row.policy), {})[seed] = 100 * share
    _print(shares)
    found: Figures = {}
    for word, is_weighted in (("share_of_optimum", True), ("unweighted", False)):
        for budget in BUDGETS:
            mean = statistics.mean(shares[is_weighted, budget, "optimal"].values())
            found[f"revisit.{word}_{round(100 * budget):03d}"] = mean, "%"
    return found | {"revisit.rivals_margin": (_margin(shares), "points")}


def _world_shares(world: World, seed: int) -> Iterator[tuple[bool, Row, float]]:
    course, equal = Course(seed=seed), unweighted(world)
    is_first = seed == SEEDS[0]
    ours = ("optimal", "gamma", "oracle") if is_first else ("optimal",)
    blind = BLIND if is_first else NEAR
    for row in contest(world, (*ours, *blind), BUDGETS, course):
        yield True, row, row.share or 0.0
        if row.policy in BLIND:
            yield False, row, row.outcome.fresh / _possible(equal, row.budget)
    for row in contest(equal, ours, BUDGETS, course):
        yield False, row, row.share or 0.0


def _possible(world: World, budget: float) -> float:
    return optimum(world, world.importance, budget * float(world.change_per_s.sum()))[1]


def _margin(shares: Shares) -> float:
    """How far we are above the best rival where that is least: in any world and budget, weighted or not."""
    margins = []
    for (is_weighted, budget, name), by_seed in shares.items():
        if name not in ("optimal", "oracle"):
            ours = shares[is_weighted, budget, "optimal"]
            margins += [ours[seed] - theirs for seed, theirs in by_seed.items()]
    return min(margins)


def _print(shares: Shares) -> None:
    print(f"  % of the optimum, {PAGES:,} pages, mean ± spread over seeds {SEEDS}")
    columns = list(dict.fromkeys(key[:2] for key in shares))
    titles = (f"{budget:g} {'weighted' if weighted else 'unweighted'}" for weighted, budget in columns)
    print(f"  {'':<14}" + "".join(f"{title:>18}" for title in titles))
    for name in dict.fromkeys(key[2] for key in shares):
        every = [list(shares[*column, name].values()) for column in columns]
        cells = (f"{statistics.mean(each):.2f} ± {statistics.pstdev(each):.2f}" for each in every)
        print(f"  {name:<14}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def _signals() -> Figures:
    gains = [_heeding(seed, GOOD_SERVERS, BROKEN_SERVERS) for seed in SEEDS]
    losses = [-_heeding(seed, 0.0, MANY_BROKEN) for seed in SEEDS]
    print("  points gained by signals:", *(f"{gain:.2f}" for gain in gains))
    print("  points lost by broken ones:", *(f"{loss:.2f}" for loss in losses))
    return {
        "revisit.signals_gain": (statistics.mean(gains), "points"),
        "revisit.broken_signals_cost": (statistics.mean(losses), "points"),
    }


def _heeding(seed: int, good: float, broken: float) -> float:
    """Points of weighted freshness that it brings to heed signals."""
    world = made_up(PAGES // 2, seed, good=good, broken=broken)
    heeded, ignored = (
        next(contest(world, ("optimal",), (0.25,), Course(seed=seed), settings=Settings(signals=signals)))
        for signals in (True, False)
    )
    return 100 * (heeded.outcome.weighted - ignored.outcome.weighted)


def _recorded() -> Figures:
    file = Path(os.environ.get("JORO_HISTORIES", HISTORIES))
    if not file.exists():
        print("  no recorded changes here: JORO_HISTORIES names none")
        return {}
    world = recorded(file, "testing")
    fresh: dict[tuple[float, str], list[float]] = {}
    for seed in RECORDED_SEEDS:
        names = ("optimal", "uniform", "stormcrawler")
        for row in contest(world, names, RECORDED_BUDGETS, recorded_course(DAYS, seed)):
            fresh.setdefault((row.budget, row.policy), []).append(100 * row.outcome.fresh)
    return {
        f"revisit.recorded_margin_{round(100 * budget):03d}": (_recorded_margin(fresh, budget), "points")
        for budget in RECORDED_BUDGETS
    }


def _recorded_margin(fresh: dict[tuple[float, str], list[float]], budget: float) -> float:
    ours, *others = (fresh[budget, name] for name in ("optimal", "uniform", "stormcrawler"))
    cells = (f"{statistics.mean(each):.2f} ± {statistics.pstdev(each):.2f}" for each in (ours, *others))
    least = min(one - max(two) for one, *two in zip(ours, *others, strict=True))
    print(
        f"  recorded, budget {budget:g}: optimal, uniform, stormcrawler", *cells, f"least margin {least:.2f}"
    )
    return statistics.mean(ours) - max(statistics.mean(each) for each in others)
