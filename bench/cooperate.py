"""How much sooner are robots done that share servers well?

S1's 17 robots and 6,500 servers, made to have the statistics it prints, fifteen seeds that nothing was
tuned on: at random (the mean of 100 assignments), by S1's Give and Move, by our plan. *Taken* is what
collecting needs (the mean of ten collections) when probes are off by as much as S1's were; *foretold* is
reckoned from the probes, which is all that an assignment can know. `equalised_over_random` is reckoned as
S1's 11.1 is (random foretold by equalised taken), `equalised_over_random_taken` like by like. Then five of
the robots get a sixth. Figures are medians over the seeds, unless their name says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from joro.coordinate.assign import loads
from joro.coordinate.plan import moved, plan
from joro.simulator.cooperate import (
    EQUALISED,
    FIRST_SEED,
    LANES,
    PLANNED,
    PLANNED_200,
    SPLIT,
    SPLIT_200,
    Trial,
    perform,
)
from joro.simulator.cooperate_world import world

SEEDS = range(FIRST_SEED, FIRST_SEED + 15)
#: Robots of usual distances, of which the last one comes later; and how many servers may move then.
FIVE_AND_ONE = (0, 3, 4, 6, 7, 8)
MAY_MOVE = 0.25


def figures() -> dict[str, tuple[float, str]]:
    """What each way of sharing gives."""
    before = time.process_time()
    trials = [perform(seed) for seed in SEEDS]
    cpu_s = (time.process_time() - before) / len(SEEDS)
    moves, spread = _sixth()

    def median(of: Callable[[Trial], float]) -> float:
        return float(np.median([of(trial) for trial in trials]))

    def ratio(name: str) -> Callable[[Trial], float]:
        return lambda trial: trial.taken[name].slowest_by_fastest

    return {
        "cooperate.equalised_over_random": (median(lambda trial: trial.speed_up_as_s1(EQUALISED)), "x"),
        "cooperate.equalised_over_random_taken": (median(lambda trial: trial.speed_up(EQUALISED)), "x"),
        "cooperate.equalised_over_random_taken_least": (
            min(trial.speed_up(EQUALISED) for trial in trials),
            "x",
        ),
        "cooperate.equalised_even_seeds": (
            float(np.mean([trial.taken[EQUALISED].slowest_by_fastest <= 9.9 for trial in trials])),
            "of seeds",
        ),
        "cooperate.equalised_slowest_by_fastest": (median(ratio(EQUALISED)), "x"),
        "cooperate.planned_over_random": (median(lambda trial: trial.speed_up(PLANNED)), "x"),
        "cooperate.planned_slowest_by_fastest": (median(ratio(PLANNED)), "x"),
        "cooperate.planned_over_equalised": (median(_gain), "x"),
        "cooperate.evener_than_equalised": (median(_evener_taken), "x"),
        "cooperate.planned_over_equalised_foretold_least": (min(map(_foretold_gain, trials)), "x"),
        "cooperate.evener_than_equalised_foretold_least": (min(map(_evener, trials)), "x"),
        "cooperate.planned_over_least": (
            median(lambda trial: trial.foretold[PLANNED].slowest_h / trial.least_h),
            "x",
        ),
        "cooperate.spread_split_most": (max(trial.foretold[SPLIT].spread for trial in trials), "of the mean"),
        "cooperate.lanes_200_planned": (median(_lanes_gain(PLANNED_200)), "x equalised"),
        "cooperate.lanes_200_split": (median(_lanes_gain(SPLIT_200)), "x equalised"),
        "cooperate.sixth_robot_moves": (moves, "of servers"),
        "cooperate.sixth_robot_spread": (spread, "of the mean"),
        "cooperate.cpu_s": (cpu_s, "CPU-s a seed"),
    }


def _gain(trial: Trial) -> float:
    return trial.taken[EQUALISED].slowest_h / trial.taken[PLANNED].slowest_h


def _foretold_gain(trial: Trial) -> float:
    return trial.foretold[EQUALISED].slowest_h / trial.foretold[PLANNED].slowest_h


def _evener(trial: Trial) -> float:
    return trial.foretold[EQUALISED].slowest_by_fastest / trial.foretold[PLANNED].slowest_by_fastest


def _evener_taken(trial: Trial) -> float:
    return trial.taken[EQUALISED].slowest_by_fastest / trial.taken[PLANNED].slowest_by_fastest


def _lanes_gain(name: str) -> Callable[[Trial], float]:
    """With so many servers side by side, how much sooner than by S1's rule."""
    return lambda trial: trial.foretold[EQUALISED].lanes_h / trial.foretold[name].lanes_h


def _sixth() -> tuple[float, float]:
    """The most servers that a sixth robot moves, and how uneven costs then are."""
    worst_moves = worst_spread = 0.0
    for seed in SEEDS:
        costs = world(seed).costs_ms[list(FIVE_AND_ONE)]
        five = plan(costs[:5])
        six = plan(costs, current=five, most_moves=int(MAY_MOVE * costs.shape[1]))
        load = loads(costs, six)
        worst_moves = max(worst_moves, moved(five, six) / costs.shape[1])
        worst_spread = max(worst_spread, float(np.ptp(load) / load.mean()))
    return worst_moves, worst_spread


if __name__ == "__main__":
    print(f"{LANES} lanes")
    for name, (value, unit) in figures().items():
        print(f"{name:<48} {value:>10.3f} {unit}")
