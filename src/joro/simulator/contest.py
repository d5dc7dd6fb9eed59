"""Who keeps pages freshest with the same visits?

In:    a world, budgets, names of policies.
Out:   a row for each policy and budget: freshness by page and by importance, versions captured, and how near
       it comes to what would be possible with all change rates known.
Never: lets one policy see more than another: same world, same changes in law, same visits. Only the oracle
       is told the change rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from joro.model import DAY_S
from joro.schedule.revisit import POLICIES
from joro.simulator.freshness import Course, Outcome, crawl
from joro.simulator.learner import Learner, Settings
from joro.simulator.rivals import Chooser, Nutch, Oracle, StormCrawler, optimum
from joro.simulator.world import RecordedWorld, World

#: All who can take part; the first four are ours.
NAMES = (*POLICIES, "nutch", "stormcrawler", "oracle")
#: Recorded histories are replayed in coarser rounds: over years, six hours are little.
RECORDED_ROUND_S = 6 * 3_600.0
#: First visits to recorded pages are spread over one round of uniform visits, and over no more than this
#: or half of the time.
LONGEST_START_S = 300 * DAY_S
USUAL = Settings()


@dataclass(frozen=True)
class Row:
    """How one policy did with one budget."""

    policy: str
    budget: float  # as a multiple of all changes
    outcome: Outcome
    optimum: float | None  # weighted freshness with all rates known, and no signals; none for recorded pages

    @property
    def share(self) -> float | None:
        """Weighted freshness as a share of what is possible."""
        return None if self.optimum is None else self.outcome.weighted / self.optimum


def contest(
    world: World,
    names: Iterable[str],
    budgets: Iterable[float],
    course: Course,
    *,
    settings: Settings = USUAL,
    progress: Callable[[float], object] | None = None,
) -> Iterator[Row]:
    """Let everybody crawl the world with every budget; `progress` hears of each crawl what share was done."""
    names = tuple(names)
    for budget in budgets:
        budget_per_s = budget * float(world.change_per_s.sum())
        here = staggered(world, budget_per_s, course) if isinstance(world, RecordedWorld) else world
        best = None if here is not world else optimum(world, world.importance, budget_per_s)[1]
        for name in names:
            chooser = make(name, here, budget_per_s, course.seed, settings)
            yield Row(name, budget, crawl(here, chooser, budget_per_s, course, progress), best)


def make(name: str, world: World, budget_per_s: float, seed: int = 0, settings: Settings = USUAL) -> Chooser:
    """Somebody who chooses, by name."""
    if name == "nutch":
        return Nutch(len(world))
    if name == "stormcrawler":
        return StormCrawler(len(world))
    if name == "oracle":
        return Oracle(world, world.importance, budget_per_s)
    rule = replace(settings.rule, policy=name)
    return Learner(world.importance, world.server, budget_per_s, replace(settings, rule=rule), seed)


def unweighted(world: World) -> World:
    """The same world, where all pages are equally important."""
    return replace(world, importance=np.ones(len(world)))


def staggered(world: RecordedWorld, budget_per_s: float, course: Course) -> RecordedWorld:
    """The recorded world with first visits at random moments: with one visit a year, it matters when.

    Pages known from the start are met in the course of one round of uniform visits, and in the first half of
    the time: whoever is met after its end cannot be judged.
    """
    span_s = min(len(world) / budget_per_s, LONGEST_START_S, course.end_s / 2)
    moments = np.random.default_rng(course.seed).random(len(world)) * span_s
    return replace(world, born_s=np.where(world.born_s <= 0, moments, world.born_s))


def recorded_course(days: float, seed: int = 0) -> Course:
    """The course for recorded pages: all of the time counts, also that of learning."""
    return Course(days=days, measured_from=0.0, round_s=RECORDED_ROUND_S, seed=seed)
