"""How fast is a schedule simulated, and does it come out as it should?

Made-up servers with the statistics of S0 (82,034, of which those that can keep their schedule are simulated),
one day a trial: EDF and FREQ with three tenths more sockets than the lower bound, all servers at once and
staggered; every order below the bound; FCFS and SJF with thirty times the bound. Speed is downloads per
CPU-second of EDF, the best of three, compiling left out; the interpreter runs the same functions for a ratio.

`JORO_SIMULATE_DAYS=300` simulates S0's 300 days, some minutes, instead of working out what they would take.
"""

from __future__ import annotations

import math
import os
import time

from bench import CannotRun
from joro.errors import UsageError
from joro.schedule.sockets import MARGIN, Order, bound
from joro.simulator import engine
from joro.simulator.paper import PHASE_SEED
from joro.simulator.population import Population, fitted
from joro.simulator.trial import Trial, run

ROUNDS = 3
DAYS = 300


def figures() -> dict[str, tuple[float, str]]:
    """Speed, and what was missed where."""
    try:
        engine.compiled()
    except UsageError as missing:
        raise CannotRun(str(missing)) from None
    everyone = fitted(seed=1)
    node = everyone.select(everyone.feasible())
    enough = math.ceil(MARGIN * node.need)
    run(node, Trial(enough, days=0.001))  # compiles
    per_cpu_s = max(_per_cpu_s(node, Trial(enough)) for _ in range(ROUNDS))
    return {
        "simulate.downloads_per_cpu_s": (per_cpu_s, "downloads/CPU-s"),
        "simulate.ratio_interpreter": (per_cpu_s / _interpreted_per_cpu_s(), "x"),
        "simulate.cpu_min_300_days": (_cpu_min(node, enough, per_cpu_s), "CPU-min"),
        "simulate.bound": (bound(node.need), "sockets"),
        "simulate.bound_all": (bound(everyone.need), "sockets"),
        "simulate.edf_missed": (_most_missed(node, enough, Order.EDF), "visits"),
        "simulate.freq_missed": (_most_missed(node, enough, Order.FREQ), "visits"),
        "simulate.sjf_least_share": (_sjf_least_share(node), "of trials"),
        "simulate.fcfs_missed_30x": (
            run(node, Trial(math.ceil(30 * node.need), Order.FCFS)).missed,
            "visits",
        ),
        "simulate.sjf_missed_30x": (run(node, Trial(math.ceil(30 * node.need), Order.SJF)).missed, "visits"),
    }


def _per_cpu_s(population: Population, trial: Trial, plain: engine.Engine | None = None) -> float:
    before = time.process_time()
    outcome = run(population, trial, engine=plain)
    return outcome.downloads / (time.process_time() - before)


def _interpreted_per_cpu_s() -> float:
    few = fitted(seed=1, servers=3_000)
    few = few.select(few.feasible())
    return _per_cpu_s(few, Trial(3, days=0.1), (engine.advance, engine.settle))


def _cpu_min(node: Population, sockets: int, per_cpu_s: float) -> float:
    """Measured when asked for; else worked out from the speed of a day."""
    days = int(os.environ.get("JORO_SIMULATE_DAYS", "0"))
    if days < DAYS:
        return node.visits_per_day * DAYS / per_cpu_s / 60
    before = time.process_time()
    outcome = run(node, Trial(sockets, days=days))
    cpu_s = time.process_time() - before
    print(f"  {days} days, {sockets} sockets: {outcome.downloads:,} downloads, {outcome.missed:,} missed")
    return cpu_s / 60 * DAYS / days


def _most_missed(node: Population, sockets: int, order: Order) -> int:
    """The larger of all at once and staggered."""
    return max(run(node, Trial(sockets, order, phase_seed=seed)).missed for seed in (None, PHASE_SEED))


def _sjf_least_share(node: Population) -> float:
    """Of the numbers of sockets below the bound, how many of them SJF served best."""
    numbers = [math.ceil(times * node.need) for times in (0.25, 0.5, 0.75, 0.9)]
    best = [min(Order, key=lambda order: run(node, Trial(number, order)).missed) for number in numbers]
    return best.count(Order.SJF) / len(best)


if __name__ == "__main__":
    for name, (value, unit) in figures().items():
        print(f"{name:<36} {value:>16,.2f} {unit}")
