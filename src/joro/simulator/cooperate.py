"""What would S1's robots have needed under another assignment of servers?

In:    a seed number, or an experiment that was written down.
Out:   the experiment with its assignments (random, S1's rule, our plan for one lane and for 200, and these
       with huge servers split), and a score for each: the slowest robot, the fastest, the spread.
Never: lets an assignment see what only collecting tells.
Paper: S1 6.3, 6.4.

Hours are those of transfers, one server after the other or 200 side by side, as S1 has them; the pause
between two requests to a server is not in them (S1, footnote 13).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from joro.coordinate.assign import Floats, Owners, at_random, loads
from joro.coordinate.balance import Edge, equalise, spanning_tree
from joro.coordinate.distance import between_robots
from joro.coordinate.experiment import Experiment
from joro.coordinate.plan import finish, least, plan
from joro.coordinate.split import split
from joro.simulator.cooperate_world import HOUR_MS, SERVERS, collected_ms, world

RANDOM, EQUALISED, PLANNED = "random", "equalised", "planned"
SPLIT = "planned, huge servers split"
PLANNED_200, SPLIT_200 = "planned for 200 lanes", "planned for 200 lanes, split"
#: Rounds of Give and Move on the probed costs. S1 leaves their number open; after ten little changes.
ROUNDS = 10
FEW = 3
#: Random assignments whose mean is what "at random" takes: one alone depends on who gets the largest.
DRAWS = 100
LANES = 200
#: A server is split that at its nearest robot takes more than this share of what each robot has to do.
SPLIT_FROM = 0.25
#: Directories of a server that is split, and how their sizes fall: the n-th has 1/n.
DIRECTORIES = 64


@dataclass(frozen=True)
class Score:
    """How one assignment did, in hours."""

    name: str
    slowest_h: float
    fastest_h: float
    mean_h: float
    lanes_h: float  # with 200 side by side

    @property
    def slowest_by_fastest(self) -> float:
        return self.slowest_h / self.fastest_h if self.fastest_h > 0.0 else float("inf")

    @property
    def spread(self) -> float:
        """Between slowest and fastest, as a share of the mean."""
        return (self.slowest_h - self.fastest_h) / self.mean_h


@dataclass(frozen=True)
class Trial:
    """One seed: what was tried, what each assignment foretold and what it took."""

    seed: int
    experiment: Experiment
    split: Experiment
    foretold: dict[str, Score]
    taken: dict[str, Score]
    least_h: float  # no assignment without splitting can foretell less
    few_rounds_h: float  # the slowest robot foretold after FEW rounds of Give and Move

    def speed_up(self, name: str, *, taken: bool = True) -> float:
        """How much sooner the last robot is done than at random."""
        scores = self.taken if taken else self.foretold
        return scores[RANDOM].slowest_h / scores[name].slowest_h


def score(name: str, costs_ms: Floats, owners: Owners) -> Score:
    """Of an assignment, when each server costs each robot so much."""
    hours = loads(costs_ms, owners) / HOUR_MS
    lanes_h = float(finish(costs_ms, owners, LANES).max()) / HOUR_MS
    return Score(name, float(hours.max()), float(hours.min()), float(hours.mean()), lanes_h)


def perform(seed: int, servers: int = SERVERS) -> Trial:
    """Probe, assign in every way, collect."""
    one = world(seed, servers)
    truth_ms = collected_ms(one, seed)
    owners = _assigned(one.costs_ms, one.distances, seed)
    spent = {name: truth_ms[each, np.arange(servers)] for name, each in owners.items()}
    foretold = {name: score(name, one.costs_ms, each) for name, each in owners.items()}
    taken = {name: score(name, truth_ms, each) for name, each in owners.items()}
    foretold[RANDOM], taken[RANDOM] = (_at_random(costs, seed) for costs in (one.costs_ms, truth_ms))
    parts, parts_truth_ms = with_parts(one, truth_ms)
    for name, lanes in ((SPLIT, 1), (SPLIT_200, LANES)):
        parts.owners[name] = plan(parts.costs_ms, lanes)
        foretold[name] = score(name, parts.costs_ms, parts.owners[name])
        taken[name] = score(name, parts_truth_ms, parts.owners[name])
    whole = replace(one, owners=owners, spent_ms=spent)
    few = equalise(one.costs_ms, owners[RANDOM], _tree(one.distances), FEW)
    few_h = score(EQUALISED, one.costs_ms, few).slowest_h
    return Trial(seed, whole, parts, foretold, taken, least(one.costs_ms) / HOUR_MS, few_h)


def _tree(distances: Floats) -> list[Edge]:
    return spanning_tree(between_robots(distances))


def _assigned(costs_ms: Floats, distances: Floats, seed: int) -> dict[str, Owners]:
    first = at_random(costs_ms.shape[1], len(costs_ms), seed)
    return {
        RANDOM: first,
        EQUALISED: equalise(costs_ms, first, _tree(distances), ROUNDS),
        PLANNED: plan(costs_ms),
        PLANNED_200: plan(costs_ms, LANES),
    }


def _at_random(costs_ms: Floats, seed: int) -> Score:
    """The mean of many random assignments."""
    robots, servers = costs_ms.shape
    every = [
        score(RANDOM, costs_ms, at_random(servers, robots, seed=1_000 * seed + draw)) for draw in range(DRAWS)
    ]

    def mean(of: Callable[[Score], float]) -> float:
        return float(np.mean([of(each) for each in every]))

    slowest_h = mean(lambda each: each.slowest_h)
    ratio = mean(lambda each: each.slowest_by_fastest)
    return Score(
        RANDOM, slowest_h, slowest_h / ratio, mean(lambda each: each.mean_h), mean(lambda each: each.lanes_h)
    )


def with_parts(one: Experiment, truth_ms: Floats) -> tuple[Experiment, Floats]:
    """The same servers, the huge ones in parts, and what each of these would really take.

    A robot takes for a part its share of what it would take for the whole: S1's distance is per KB.
    """
    nearest = one.costs_ms.min(axis=0)
    limit = SPLIT_FROM * float(nearest.sum()) / len(one.robots)
    pieces = [_shares(int(np.ceil(each / limit))) for each in nearest]
    column = np.repeat(np.arange(len(nearest)), [len(each) for each in pieces])
    shares = np.concatenate(pieces)
    names = tuple(
        f"{name}#{number}" if len(each) > 1 else name
        for name, each in zip(one.servers, pieces, strict=True)
        for number in range(len(each))
    )
    urls = np.maximum(1, one.urls[column] * shares).astype(np.int64)
    parts = Experiment(one.robots, names, one.sizes_kb[column] * shares, urls, one.distances[:, column])
    return parts, truth_ms[:, column] * shares


def _shares(parts: int) -> Floats:
    """What share of a server each part has, when its directories are split evenly as they allow."""
    if parts == 1:
        return np.ones(1)
    sizes_kb = {f"/d{number:02d}/": 1.0 / number for number in range(1, DIRECTORIES + 1)}
    made = np.array([part.kb for part in split(sizes_kb, parts, interval_s=1.0)])
    shares: Floats = made / made.sum()
    return shares


def middle(values: Sequence[float]) -> str:
    """The median, and the least and the most where they differ: `20.1 (8.3–24.9)`."""
    low, high = min(values), max(values)
    return f"{np.median(values):.3g}" + (f" ({low:.3g}–{high:.3g})" if len(values) > 1 else "")
