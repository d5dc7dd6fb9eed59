"""Small populations whose results can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joro.model import DAY_S
from joro.schedule.sockets import Order
from joro.simulator.engine import BY_START
from joro.simulator.population import Population, population
from joro.simulator.trial import Outcome, Trial, run


def servers(*pairs: tuple[float, float | Sequence[float]]) -> Population:
    """Pairs of access interval and download time, or times."""
    logs = [[times] if isinstance(times, (int, float)) else list(times) for _, times in pairs]
    return population(
        np.array([interval for interval, _ in pairs], float),
        np.array([len(log) for log in logs]),
        np.concatenate([np.array(log, np.float32) for log in logs]),
    )


def simulate(
    some: Population, order: Order = Order.EDF, *, sockets: int = 1, seconds: float, minimum_s: float = 1.0,
    rule: int = BY_START,
) -> Outcome:  # fmt: skip
    return run(some, Trial(sockets, order, seconds / DAY_S, minimum_s=minimum_s, rule=rule))
