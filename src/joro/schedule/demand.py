"""What must a visit cost, so that a hundred million pages together wish for no more than we can do?

In:    change rate, importance and cost of each page, one by one or in batches, as they come by.
Out:   the price at which the visits wished for just fit a budget; what is wished for at any price.
Never: holds a page. A page counts in two neighbouring bins of a histogram, and nothing else of it is kept.
Paper: S0-07: the schedule of pages is revised when it does not fit; here for all pages at once, and by value.

A page is visited λ / g⁻¹(Λ e^u) times, u = log(c λ^(1−θ) / w), so pages of like u and any λ may be added up.
`optimum.solve` gives the exact answer for pages that fit in memory; the bins cost less than 3 in 10,000 of
it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from joro.schedule.optimum import Array, find_price, gain_inverse

#: u = log(cλ/w) from one change in 10,000 years of a page 1e4 times as important as usual, up to a
#: change in every millisecond of a page 1e-4 times as important, λ in changes per second.
LOWEST, HIGHEST = -36.0, 16.0


@dataclass
class Demand:
    """The wishes of many pages, as a histogram."""

    bins: int = 2048  # 64 are enough for one server
    theta: float = 0.0
    change: Array = field(init=False)  # Σ cλ in each bin
    pages: Array = field(init=False)  # Σ c in each bin; with it, a floor for every page can be counted

    def __post_init__(self) -> None:
        self.change, self.pages = np.zeros(self.bins), np.zeros(self.bins)

    def add(
        self, change_per_s: ArrayLike, importance: ArrayLike, cost: ArrayLike = 1.0, sign: float = 1.0
    ) -> None:
        """Count pages in, or with `sign` −1 out again, before they are counted anew with what was learned."""
        change, weight, costs = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(each, float)) for each in (change_per_s, importance, cost))
        )
        counted = (change > 0) & (weight > 0)
        change, weight, costs = change[counted], weight[counted], costs[counted]
        place = np.log(costs * change ** (1 - self.theta) / weight)
        place = np.clip((place - LOWEST) / (HIGHEST - LOWEST), 0, 1) * (self.bins - 1)
        left = np.minimum(place.astype(np.intp), self.bins - 2)
        for where, share in ((left, 1 - (place - left)), (left + 1, place - left)):
            self.change += np.bincount(where, sign * share * costs * change, minlength=self.bins)
            self.pages += np.bincount(where, sign * share * costs, minlength=self.bins)

    def merge(self, other: Demand) -> None:
        """Add the wishes counted elsewhere: by another robot, or in another partition."""
        self.change += other.change
        self.pages += other.pages

    def wished_per_s(self, price: float, least_per_s: float = 0.0, most_per_s: float = np.inf) -> float:
        """Cost of all visits wished for at this price, each page kept between the floor and the ceiling."""
        there = self.pages > 1e-12
        change, pages = self.change[there], self.pages[there]
        x = gain_inverse(price * np.exp(_centres(self.bins)[there]))
        return float(pages @ np.clip(change / pages / x, least_per_s, most_per_s))

    def price(self, budget_per_s: float, least_per_s: float = 0.0, most_per_s: float = np.inf) -> float:
        """The price at which the wishes fit the budget; 0 when they all do.

        A floor that alone breaks the budget is lowered to what the budget allows.
        """
        floor = min(least_per_s, 0.999 * budget_per_s / max(float(self.pages.sum()), 1e-300))
        return find_price(lambda each: self.wished_per_s(each, floor, most_per_s), budget_per_s)


def _centres(bins: int) -> Array:
    return np.linspace(LOWEST, HIGHEST, bins)
