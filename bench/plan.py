"""How long does a planning round take, and how much memory, when there are a hundred million pages?

A round reads servers, never pages: a million servers with a hundred pages each, in cells as `schedule.plan`
counts them, too much for the sockets there are, so that intervals must be revised.
"""

from __future__ import annotations

import os
import resource
import time

import numpy as np

from joro.schedule.feasible import Rule
from joro.schedule.plan import Round, Timing, wish

SERVERS = int(os.environ.get("JORO_PLAN_SERVERS", "1000000"))
PAGES_PER_SERVER = 100
SOCKETS = 100
#: Servers whose pages are drawn; the others are like them.
DRAWN = 2_000

Server = tuple[dict[int, tuple[int, float]], Timing]


def figures() -> dict[str, tuple[float, str]]:
    """Servers a CPU-second, and the memory a round adds, by the usual rule and by the one that needs most."""
    drawn = _servers()
    start_mb = _peak_mb()
    usual_cpu_s = _round(drawn, Rule.STRETCH)
    usual_mb = _peak_mb() - start_mb
    floor_cpu_s = _round(drawn, Rule.FLOOR)
    floor_mb = _peak_mb() - start_mb
    return {
        "plan.pages": (SERVERS * PAGES_PER_SERVER, "pages"),
        "plan.servers_per_cpu_s": (SERVERS / usual_cpu_s, "servers/CPU-s"),
        "plan.pages_per_cpu_s": (SERVERS * PAGES_PER_SERVER / usual_cpu_s, "pages/CPU-s"),
        "plan.memory_mb": (usual_mb, "MB"),
        "plan.floor_servers_per_cpu_s": (SERVERS / floor_cpu_s, "servers/CPU-s"),
        "plan.floor_memory_mb": (floor_mb, "MB"),
    }


def _round(drawn: list[Server], rule: Rule) -> float:
    """CPU time of a round."""
    start = time.process_time()
    planning = Round(rule)
    for number in range(SERVERS):
        cells, timing = drawn[number % DRAWN]
        planning.add(number, cells, timing, 20.0)
    plan = planning.plan(SOCKETS)
    cpu_s = time.process_time() - start
    print(f"  {plan.revision}")
    return cpu_s


def _peak_mb() -> float:
    """The most memory this process ever had; so the hungrier rule must come later."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _servers() -> list[Server]:
    """Servers with log-normal intervals and weights."""
    chance = np.random.default_rng(1)
    made = []
    for _ in range(DRAWN):
        cells: dict[int, tuple[int, float]] = {}
        intervals = np.minimum(chance.lognormal(np.log(12 * 86_400), 1.2, PAGES_PER_SERVER), 5e6)
        weights = chance.lognormal(0.0, 1.0, PAGES_PER_SERVER)
        for interval_s, weight in zip(intervals.tolist(), weights.tolist(), strict=True):
            wish(cells, interval_s, weight)
        seconds = float(chance.lognormal(0.0, 0.6))
        made.append((cells, Timing(seconds, 5 * seconds)))
    return made
