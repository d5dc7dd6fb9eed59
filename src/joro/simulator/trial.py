"""What does one number of sockets and one order give, over so many days?

In:    a population and a trial: sockets, order, days, how it starts.
Out:   visits asked for, made and missed, in all and of each server.
Never: keeps anything between two trials: the same trial gives the same numbers.
Paper: S0 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from joro.model import DAY_S
from joro.schedule.sockets import Order
from joro.simulator.engine import BY_START, ENTRY, SERVER, Engine, Rows, compiled
from joro.simulator.population import MINIMUM_S, Population

Integers = npt.NDArray[np.int64]

#: How often progress is told: a simulated tenth of a day.
STEP_S = DAY_S / 10


@dataclass(frozen=True)
class Trial:
    """What is tried."""

    sockets: int
    order: Order = Order.EDF
    days: float = 1.0
    phase_seed: int | None = None  # None: all servers start at once, as in S0; else each at a random moment
    minimum_s: float = MINIMUM_S
    rule: int = BY_START


@dataclass(frozen=True)
class Outcome:
    """What became of it. A visit is missed when a whole period of its server passed without a download."""

    trial: Trial
    asked_of: Integers  # of each server: periods that were over at the end
    made_by: Integers  # downloads started
    missed_by: Integers
    page_bytes: float

    @property
    def asked(self) -> int:
        return int(self.asked_of.sum())

    @property
    def downloads(self) -> int:
        return int(self.made_by.sum())

    @property
    def missed(self) -> int:
        return int(self.missed_by.sum())

    @property
    def missed_share(self) -> float:
        return self.missed / self.asked if self.asked else 0.0

    @property
    def mbit_per_s(self) -> float:
        return self.downloads * self.page_bytes * 8 / (self.trial.days * DAY_S) / 1e6


def run(
    population: Population,
    trial: Trial,
    progress: Callable[[float], object] = lambda _: None,
    engine: Engine | None = None,
) -> Outcome:
    """Simulate; `progress` is called with the days that have passed since it was called last.

    `engine` is for tests, which compare the compiled functions with the same ones as they are written.
    """
    advance, settle = engine or compiled()
    servers = _table(population, trial)
    ready = np.empty(len(servers), ENTRY)
    ready["server"] = np.argsort(servers["phase_s"], kind="stable")  # a sorted list is a heap
    ready["key"] = servers["phase_s"][ready["server"]]
    waiting, free_at = np.empty(len(servers), ENTRY), np.zeros(trial.sockets)
    sizes = np.array([len(servers), 0, 0])
    end_s, now = trial.days * DAY_S, 0.0
    while now < end_s:
        until_s = min(now + STEP_S, end_s)
        advance(
            servers, population.log_s, ready, waiting, free_at, sizes,
            int(trial.order), trial.rule, trial.minimum_s, until_s,
        )  # fmt: skip
        progress((until_s - now) / DAY_S)
        now = until_s
    settle(servers, end_s)
    return Outcome(trial, servers["asked"], servers["starts"], servers["missed"], population.page_bytes)


def _table(population: Population, trial: Trial) -> Rows:
    servers = np.zeros(len(population), SERVER)
    servers["interval_s"] = population.interval_s
    servers["mean_s"] = population.mean_s
    if trial.phase_seed is not None:
        chance = np.random.default_rng(trial.phase_seed)
        servers["phase_s"] = population.interval_s * chance.random(len(population))
    servers["first"], servers["length"] = population.first, population.length
    servers["period"] = -1
    servers["since_s"] = servers["phase_s"]
    servers["turn"] = np.arange(len(servers)) - len(servers)
    return servers
