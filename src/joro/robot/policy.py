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
from joro.schedule import change, prior, revisit, signals
from joro.schedule.change import Grid, Histories
from joro.schedule.prior import Said
from joro.schedule.signals import Heard

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
            most_per_change=settings.visits_per_change or math.inf,
        )
        self._has_budget = settings.visits_per_day > 0
        self._listens = settings.watch
        self._prior = prior.BROAD
        # Only one policy throws dice, and they take ten milliseconds to load.
        self._chance = np.random.default_rng() if settings.policy == "gamma" else None
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
        return self._chance is not None

    def learned(
        self,
        histories: Histories,
        elapsed_s: ArrayLike,
        changed: ArrayLike,
        others: Said = SILENT,
        *,
        age_s: ArrayLike = math.nan,
        trust: ArrayLike = 0.0,
        heard: Heard | None = None,
    ) -> Histories:
        """Histories with one visit more each; some servers say how long ago their pages last changed.

        Others say so in feeds and sitemaps, and are believed; then the date of the visit was no chance.
        """
        likelihood, expected = change.seen(elapsed_s, changed), self._expected(others)
        told: NDArray[np.bool_] = ~np.isnan(age_s) & np.asarray(changed, bool)
        if heard is not None and (signalled := heard.quality != signals.NONE).any():
            likelihood[signalled] = self._signalled(
                histories[signalled],
                np.broadcast_to(expected, likelihood.shape)[signalled],
                np.asarray(elapsed_s)[signalled],
                np.asarray(changed)[signalled],
                heard.of(signalled),
            )
            told &= ~signalled
        if told.any():
            columns = (np.asarray(each)[told] for each in (elapsed_s, changed, age_s, trust))
            likelihood[told] = change.dated(*columns)
        return change.observe(histories, likelihood, expected, elapsed_s, changed)

    def _signalled(
        self,
        histories: Histories,
        expected: Grid,
        elapsed_s: Seconds,
        changed: NDArray[np.bool_],
        heard: Heard,
    ) -> Grid:
        believed = change.rate_per_s(change.posterior(histories, expected))
        return signals.seen_with_signals(
            elapsed_s, changed, heard.number, heard.quality, believed, heard.every_s
        )

    def intervals_s(self, histories: Histories, weights: ArrayLike, others: Said = SILENT) -> Seconds:
        """The time each page wishes between two visits."""
        draws = self._chance.random(len(histories)) if self._chance is not None else 0.5
        expected = self._expected(others)
        chances = change.posterior(histories, expected)
        wait = revisit.intervals_s(self._rule, chances, weights, expected=expected, draws=draws)
        quality = self._telling(histories)
        if self._rule.policy == "optimal" and quality.any():  # who is told of changes can wait longer
            told = quality != signals.NONE
            wait[told] = revisit.intervals_s(
                self._rule,
                chances[told],
                np.broadcast_to(np.asarray(weights, np.float64), len(wait))[told],
                expected=np.broadcast_to(expected, chances.shape)[told],
                quality=quality[told],
            )
        return wait

    def with_signals_s(self, histories: Histories, weights: ArrayLike, others: Said) -> Seconds:
        """The mean time between two visits to pages whose servers tell of changes, signals counted in."""
        expected = np.broadcast_to(self._expected(others), (len(histories), change.BINS))
        chances, quality = change.posterior(histories, expected), self._telling(histories)
        often = revisit.visits_per_s(self._rule, chances, weights, expected=expected, quality=quality)
        return 1.0 / often

    def _telling(self, histories: Histories) -> NDArray[np.intp]:
        """How well servers tell of changes; to whoever reads no sources, not at all."""
        return change.telling(histories) if self._listens else np.zeros(len(histories), np.intp)

    def signal_worth_s(self, histories: Histories, others: Said) -> Seconds:
        """How much sooner one signal makes the next visit."""
        rate = change.rate_per_s(self.chances(histories, others))
        return signals.signal_worth_s(rate, change.telling(histories))

    def chances(self, histories: Histories, others: Said) -> Grid:
        """What is believed about the change rates of pages."""
        return change.posterior(histories, self._expected(others))

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
        quality = self._telling(histories)
        least_price: ArrayLike = 0.0
        counted: ArrayLike = 1.0
        if limited is not None and self._rule.policy == "optimal":
            least_price, counted = limited(self._rule, self._prior, chances, expected)
        fitted = revisit.fitted(
            self._rule, chances, weights, budget_per_s,
            expected=expected, least_price=least_price, counted=counted,
            quality=quality if quality.any() else None,
        )  # fmt: skip
        self._rule = replace(fitted, knob=max(fitted.knob, 1.0)) if is_s0 else fitted
