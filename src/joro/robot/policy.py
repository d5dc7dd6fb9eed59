"""How long may a page wait for its next visit, by the operator's policy and at the present price?

In:    histories of changes, weights; the budget of visits.
Out:   the interval each page wishes; its history after a visit; the price of a visit.
Never: sees a page or a server. `schedule` knows the formulas; here are the robot's numbers.
Paper: S0-03 (interval), S4-04 (gamma), S0-07 as a price (optimal).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.config import Refresh
from joro.schedule import change
from joro.schedule.change import Histories
from joro.schedule.demand import Demand
from joro.schedule.optimum import gain_inverse

Seconds = NDArray[np.float64]


class Policy:
    """One policy, with what it has learned about all pages of a robot."""

    def __init__(self, settings: Refresh) -> None:
        self._settings = settings
        self._theta = settings.every_version
        self._demand = Demand(theta=self._theta)
        self._pages = 0
        self._log_prior = np.zeros((1, change.BINS), np.float32)
        self.price = 0.0
        self._uniform_s = settings.first_interval_s

    def learned(self, history: bytes, elapsed_s: float, changed: bool) -> bytes:
        """A history with one visit more."""
        likelihood = change.seen([elapsed_s], [changed])
        after = change.observe(change.unpack([history]), likelihood, self._log_prior, [elapsed_s], [changed])
        return change.pack(after)[0]

    def rates_per_s(self, histories: Histories) -> Seconds:
        """How often pages change, as far as is known."""
        return change.rate_per_s(change.posterior(histories, self._log_prior))

    def intervals_s(self, histories: Histories, weights: ArrayLike) -> Seconds:
        """The time each page wishes between two visits."""
        settings, rates = self._settings, self.rates_per_s(histories)
        if settings.policy == "uniform":
            wished = np.full(len(histories), self._uniform_s)
        elif settings.policy == "optimal":
            value = self.price * rates ** (1.0 - self._theta) / np.maximum(np.asarray(weights, float), 1e-9)
            wished = gain_inverse(value) / rates
        else:
            wished = 1.0 / rates
        clipped: Seconds = np.clip(wished, settings.least_interval_s, settings.most_interval_s)
        return clipped

    def enters(self, history: bytes, weight: float) -> None:
        """A page is to be visited again."""
        self._count(history, weight, 1.0)

    def leaves(self, history: bytes, weight: float) -> None:
        """A page counts no longer, as it counted before."""
        self._count(history, weight, -1.0)

    def _count(self, history: bytes, weight: float, sign: float) -> None:
        self._pages += int(sign)
        self._demand.add(self.rates_per_s(change.unpack([history])), weight, sign=sign)

    def set_budget(self, visits_per_s: float) -> None:
        """So many visits can be paid for."""
        least, most = 1.0 / self._settings.most_interval_s, 1.0 / self._settings.least_interval_s
        self.price = self._demand.price(visits_per_s, least, most)
        self._uniform_s = max(self._pages, 1) / max(visits_per_s, 1e-12)
