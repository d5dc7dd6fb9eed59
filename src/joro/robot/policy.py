"""How long may a page wait for its next visit, by the operator's policy and at the present price?

In:    histories of changes, weights, what the other pages of a server have said; now and then a sample of all
       pages, and the budget of visits.
Out:   the interval each page wishes; its history after a visit; the price of a visit.
Never: sees a page or a server, or holds any. `schedule` knows the formulas; here are the robot's numbers.
Paper: S0-02 and S0-03, S4-04 (gamma), S0-07 as a price (optimal).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.config import Refresh
from joro.schedule import change, prior, revisit
from joro.schedule.change import Grid, Histories
from joro.schedule.prior import Said

Seconds = NDArray[np.float64]

#: What the servers of a sample's pages bear, by what is known of these: see `limits`.
Limited = Callable[[revisit.Revisiting, prior.Prior, Grid, Grid], tuple[ArrayLike, ArrayLike]]

#: Of a server whose pages have said nothing yet.
SILENT: Said = np.zeros((1, 2))


class Policy:
    """One policy, with what it has learned about all pages of a robot."""

    def __init__(self, settings: Refresh) -> None:
        self._rule = revisit.Revisiting(
            policy=settings.policy,
            knob=1.0 if settings.policy == "interval" else settings.first_interval_s,
            theta=settings.every_version_percent / 100,
            usual_alpha=settings.gamma_alpha_percent / 100,
            shortest_s=settings.least_interval_s,
            longest_s=settings.most_interval_s,
        )
        self._has_budget = settings.visits_per_day > 0
        self._prior = prior.BROAD
        self._chance = np.random.default_rng()
        self.has_studied = False
        self._asked: tuple[Said, prior.Prior, Grid] | None = None  # what was expected when last asked

    @property
    def price(self) -> float:
        """How far the knob of the policy is turned; of `optimal`, what a visit must be worth."""
        return self._rule.knob

    @property
    def expectation(self) -> prior.Prior:
        """What is expected of pages of any server."""
        return self._prior

    @property
    def is_drawn(self) -> bool:
        """Are intervals drawn by chance? Then they are drawn once and stand."""
        return self._rule.policy == "gamma"

    def learned(
        self,
        histories: Histories,
        elapsed_s: ArrayLike,
        changed: ArrayLike,
        others: Said = SILENT,
        *,
        age_s: ArrayLike = math.nan,
        trust: ArrayLike = 0.0,
    ) -> Histories:
        """Histories with one visit more each; some servers say how long ago their pages last changed."""
        likelihood = change.seen(elapsed_s, changed)
        told: NDArray[np.bool_] = ~np.isnan(age_s) & np.asarray(changed, bool)
        if told.any():
            columns = (np.asarray(each)[told] for each in (elapsed_s, changed, age_s, trust))
            likelihood[told] = change.dated(*columns)
        return change.observe(histories, likelihood, self._expected(others), elapsed_s, changed)

    def intervals_s(self, histories: Histories, weights: ArrayLike, others: Said = SILENT) -> Seconds:
        """The time each page wishes between two visits."""
        draws = self._chance.random(len(histories)) if self.is_drawn else 0.5
        expected = self._expected(others)
        chances = change.posterior(histories, expected)
        return revisit.intervals_s(self._rule, chances, weights, expected=expected, draws=draws)

    def _expected(self, others: Said) -> Grid:
        """The chances of a page that says nothing itself; of the same pages it is asked twice in a row."""
        if self._asked is None or self._asked[0] is not others or self._asked[1] is not self._prior:
            self._asked = (others, self._prior, self._prior.expected(others))
        return self._asked[2]

    def study(
        self,
        histories: Histories,
        weights: ArrayLike,
        others: Said,
        budget_per_s: float,
        limited: Limited | None = None,
    ) -> None:
        """Learn from a sample what to expect of any page, and the price at which these keep the budget.

        Of `optimal`, `limited` says what the pages of the sample pay at least, and which part of them counts.
        """
        if not len(histories) or budget_per_s <= 0.0:
            return
        self._prior = self._prior.learned(histories, others)
        self.has_studied = True
        is_s0 = self._rule.policy == "interval"
        if is_s0 and not self._has_budget:
            return  # S0's rule has no price: a page is visited as often as it changes
        expected = self._expected(others)
        chances = change.posterior(histories, expected)
        least_price: ArrayLike = 0.0
        counted: ArrayLike = 1.0
        if limited is not None and self._rule.policy == "optimal":
            least_price, counted = limited(self._rule, self._prior, chances, expected)
        fitted = revisit.fitted(
            self._rule, chances, weights, budget_per_s,
            expected=expected, least_price=least_price, counted=counted,
        )  # fmt: skip
        self._rule = replace(fitted, knob=max(fitted.knob, 1.0)) if is_s0 else fitted
