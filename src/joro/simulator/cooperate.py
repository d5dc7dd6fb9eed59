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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

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
#: Worlds are numbered from here on. Rounds, tree, and how S1's rule is read where it is silent, were chosen
#: while looking at those below.
FIRST_SEED = 101
#: Rounds of Give and Move on the probed costs, of which the best counts. S1 leaves their number open.
ROUNDS = 20
FEW = 3
#: Random assignments whose mean is what "at random" takes: one alone depends on who gets the largest.
DRAWS = 100
#: Collections whose mean is what an assignment takes: the errors of the probes decide about a single one.
COLLECTIONS = 10
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

    def speed_up_as_s1(self, name: str) -> float:
        """The same as S1's table 7 reckons its 11.1: random foretold by the assignment taken.

        Collections are faster than probes foretell (0.80), so this is more than like by like.
        """
        return self.foretold[RANDOM].slowest_h / self.taken[name].slowest_h


def score(name: str, costs_ms: Floats, owners: Owners) -> Score:
    """Of an assignment, when each server costs each robot so much."""
    hours = loads(costs_ms, owners) / HOUR_MS
    lanes_h = float(finish(costs_ms, owners, LANES).max()) / HOUR_MS
    return Score(name, float(hours.max()), float(hours.min()), float(hours.mean()), lanes_h)


def perform(seed: int, servers: int = SERVERS) -> Trial:
    """Probe, assign in every way, collect."""
    one = world(seed, servers)
    owners = _assigned(one.costs_ms, one.distances, seed)
    parts = with_parts(one)
    for name, lanes in ((SPLIT, 1), (SPLIT_200, LANES)):
        parts.whole.owners[name] = plan(parts.whole.costs_ms, lanes)
    truths = [collected_ms(one, seed, collection) for collection in range(COLLECTIONS)]
    spent = {name: truths[0][each, np.arange(servers)] for name, each in owners.items()}
    whole = replace(one, owners=owners, spent_ms=spent)
    few = equalise(one.costs_ms, owners[RANDOM], _tree(one.distances), FEW)
    return Trial(
        seed,
        whole,
        parts.whole,
        _scores(whole, parts, [one.costs_ms], seed),
        _scores(whole, parts, truths, seed),
        least(one.costs_ms) / HOUR_MS,
        score(EQUALISED, one.costs_ms, few).slowest_h,
    )


def _scores(one: Experiment, parts: Parts, truths: Sequence[Floats], seed: int) -> dict[str, Score]:
    """Of every assignment, when servers take so long: the mean of several collections."""
    scores = {RANDOM: _at_random(truths, seed)}
    for name, owners in one.owners.items():
        if name != RANDOM:
            scores[name] = _mean([score(name, truth, owners) for truth in truths])
    for name, owners in parts.whole.owners.items():
        scores[name] = _mean([score(name, parts.costs_of(truth), owners) for truth in truths])
    return scores


def _mean(every: Sequence[Score]) -> Score:
    """Of several scores; `fastest_h` is such that slowest by fastest is the mean of all, too."""
    slowest_h, mean_h, lanes_h, ratio = np.mean(
        [(each.slowest_h, each.mean_h, each.lanes_h, each.slowest_by_fastest) for each in every], axis=0
    ).tolist()
    return Score(every[0].name, slowest_h, slowest_h / ratio, mean_h, lanes_h)


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


def _at_random(truths: Sequence[Floats], seed: int) -> Score:
    """The mean of many random assignments."""
    robots, servers = truths[0].shape
    draws = (at_random(servers, robots, seed=1_000 * seed + draw) for draw in range(DRAWS))
    return _mean([score(RANDOM, truths[draw % len(truths)], each) for draw, each in enumerate(draws)])


@dataclass(frozen=True)
class Parts:
    """Servers of which the huge ones are in parts: of which one each is a part, and how much of it."""

    whole: Experiment
    column: npt.NDArray[np.int64]
    shares: Floats

    def costs_of(self, costs_ms: Floats) -> Floats:
        """What each part costs, when its server costs so much: its share, as S1's distance is per KB."""
        costs: Floats = costs_ms[:, self.column] * self.shares
        return costs


def with_parts(one: Experiment) -> Parts:
    """The same servers, the huge ones in parts."""
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
    sizes_kb = one.sizes_kb[column] * shares
    return Parts(Experiment(one.robots, names, sizes_kb, urls, one.distances[:, column]), column, shares)


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
    return _number(float(np.median(values))) + (
        f" ({_number(low)}–{_number(high)})" if len(values) > 1 else ""
    )


def _number(value: float) -> str:
    """Three digits; more would pretend a precision that no simulation has."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
