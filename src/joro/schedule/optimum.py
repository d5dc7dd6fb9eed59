"""How often should each page be visited, when not every page can be visited all the time?

In:    change rate, importance, cost and server of every page; a budget of visits; what each server allows.
Out:   the visit rates that make the collection as fresh as it can be, and the price of a visit.
Never: needs the change rates to be exact; `revisit` asks the same question of a page it is unsure about.
Paper: S0-03 and S0-07 as one problem. Cho and Garcia-Molina (TODS 2003), evenly spaced visits.

    maximise Σ w λ^θ F(λ, f)   with   Σ c f ≤ B,   Σ_server f ≤ R,   f_least ≤ f ≤ f_most

θ = 0 is freshness, what a search engine wants; θ = 1 is the share of versions captured, what an archive
wants, and gives S0's rule: visit in proportion to change. At the optimum every visit bought is worth its
price: c Λ for the budget, plus a price of the server's own where its limit binds. S0's feedback is such a
price.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Where the inverse of `gain` is tabulated; below, √(2y) is exact to nine digits, above, float64 ends.
_TABLE_X = np.geomspace(1e-6, 45.0, 4096)
#: Below this x the closed form of `gain` loses digits and the series does not.
_SERIES_BELOW = 1e-3
#: Halvings of a bracket of prices: 2^-60 of any bracket that can occur is below float64's last digit.
_HALVINGS = 60
#: Looks at the whole problem before the best price found so far is taken; a dozen is usual.
_LOOKS = 200


def gain(x: ArrayLike) -> Array:
    """g(x) = 1 − (1 + x) e^−x: the worth of one visit more, times λ, with x changes between two visits."""
    x = np.asarray(x, dtype=np.float64)
    small = np.minimum(x, _SERIES_BELOW)
    series = small * small * (0.5 - small * (1 / 3 - small * (0.125 - small / 30)))
    large = np.minimum(x, 700.0)  # where the gain is 1 to the last digit, and ∞ e^−∞ would be none
    worth: Array = np.where(x < _SERIES_BELOW, series, -np.expm1(-large) - large * np.exp(-large))
    return worth


_TABLE_LOG_Y, _TABLE_LOG_X = np.log(gain(_TABLE_X)), np.log(_TABLE_X)


def gain_inverse(y: ArrayLike) -> Array:
    """The x with g(x) = y; infinite from y = 1 on, where no visit is worth its price."""
    y = np.asarray(y, dtype=np.float64)
    inside = np.clip(y, 1e-300, 1 - 1e-15)
    x = np.exp(np.interp(np.log(inside), _TABLE_LOG_Y, _TABLE_LOG_X))
    fall = np.exp(-x)  # one Newton step: the table is good to 1e-6, and the step squares that
    x = x - (1 - fall - x * fall - inside) / (x * fall)
    x = np.where(inside < 1e-9, np.sqrt(2 * inside) * (1 + np.sqrt(2 * inside) / 3), x)
    return np.where(y >= 1, np.inf, x)


def freshness(change_rate: ArrayLike, visit_rate: ArrayLike) -> Array:
    """F = (1 − e^−x) / x, x = λ/f: the share of time an evenly visited page is as we have it.

    It is also the share of its versions that are captured.
    """
    change, visit = np.asarray(change_rate, dtype=np.float64), np.asarray(visit_rate, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(visit > 0, change / visit, np.inf)
        fresh = np.where(x > 1e-12, -np.expm1(-x) / x, 1.0)
    return np.where((visit <= 0) & (change > 0), 0.0, fresh)


@dataclass(frozen=True)
class Pages:
    """What is known about each page; rates in any one unit of time, the same for the limits."""

    change_rate: Array
    importance: Array
    cost: Array  # of a visit, in units of the budget
    server: NDArray[np.intp] | None = None  # index into Limits.server_most

    @classmethod
    def of(
        cls,
        change_rate: ArrayLike,
        importance: ArrayLike = 1.0,
        cost: ArrayLike = 1.0,
        server: ArrayLike | None = None,
    ) -> Pages:
        """From anything like arrays; a single number stands for all pages."""
        rate = np.atleast_1d(np.asarray(change_rate, dtype=np.float64))
        weight, price = (np.broadcast_to(np.asarray(each, float), rate.shape) for each in (importance, cost))
        return cls(rate, weight, price, None if server is None else np.asarray(server, dtype=np.intp))


@dataclass(frozen=True)
class Limits:
    """What the schedule must keep to."""

    budget: float  # Σ cost × visit rate
    server_most: Array | None = None  # visits that each server allows
    least: float = 0.0  # every page at least so often: else the fastest pages would never be seen again
    most: float = np.inf


@dataclass(frozen=True)
class Solution:
    """Visit rates, and what one visit more would be worth."""

    visit_rate: Array
    price: float  # Λ, of one unit of the budget
    server_price: Array | None = None  # of one visit to the server, where its own limit binds


#: Visit rates for change rates, importances and prices of a visit.
Rule = Callable[[Array, Array, Array], Array]


def evenly(theta: float = 0.0) -> Rule:
    """Evenly spaced visits; the rule the robot follows."""

    def rates(change: Array, importance: Array, price: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = gain_inverse(price * change ** (1 - theta) / importance)
            return np.where((change > 0) & (importance > 0), change / x, 0.0)

    return rates


def solve(pages: Pages, limits: Limits, rule: Rule | None = None) -> Solution:
    """The best visit rates within the limits.

    A floor that alone would break a limit is lowered until it fits: a schedule must always exist.
    """
    problem = _Problem(pages, limits, rule or evenly())
    price = find_price(problem.spent, limits.budget)
    server_price = problem.server_price(price)
    return Solution(problem.rates(price, server_price), price, server_price)


class _Problem:
    def __init__(self, pages: Pages, limits: Limits, rule: Rule) -> None:
        self.pages, self.limits, self.rule, self.cost = pages, limits, rule, pages.cost
        self.least = _affordable_floor(pages, limits)
        self.same_cost = bool(np.all(self.cost == self.cost[:1]))
        self._alone: Array | None = None  # what the servers' prices are when visits cost nothing

    def rates(self, price: float, server_price: Array | None) -> Array:
        """Visit rates at a price of the budget and a price of each server's own."""
        total = self.cost * price
        if server_price is not None and self.pages.server is not None:
            total = total + server_price[self.pages.server]
        wished = self.rule(self.pages.change_rate, self.pages.importance, np.maximum(total, 1e-300))
        return np.clip(wished, self.least, self.limits.most)

    def spent(self, price: float) -> float:
        """What the schedule at this price takes of the budget."""
        return float(self.cost @ self.rates(price, self.server_price(price)))

    def server_price(self, price: float) -> Array | None:
        """The price of each server at which its own limit is just kept; 0 where it is not reached."""
        if self.limits.server_most is None or self.pages.server is None:
            return None
        if not self.same_cost:
            return self._own_prices(price)
        if self._alone is None:
            self._alone = self._own_prices(0.0)  # with one cost for all this need be solved only once
        return np.asarray(np.maximum(0.0, self._alone - price * self.cost[0]))

    def _own_prices(self, price: float) -> Array:
        most, server = self.limits.server_most, self.pages.server
        assert most is not None
        assert server is not None

        def over(own: Array) -> NDArray[np.bool_]:
            return np.bincount(server, self.rates(price, own), minlength=len(most)) > most

        low, high = np.zeros(len(most)), np.zeros(len(most))
        needs = over(low)
        high[needs] = _highest(self.pages)
        for _ in range(_HALVINGS):
            middle = _between(low, high)
            above = over(middle)
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.where(needs, high, 0.0)


def _affordable_floor(pages: Pages, limits: Limits) -> Array:
    least = np.full_like(pages.change_rate, limits.least)
    if limits.server_most is not None and pages.server is not None:
        wanted = np.bincount(pages.server, least, minlength=len(limits.server_most))
        least *= np.minimum(1.0, limits.server_most / np.maximum(wanted, 1e-300))[pages.server]
    total = float(pages.cost @ least)
    return least * min(1.0, limits.budget / total) if total else least


def _highest(pages: Pages) -> float:
    """A price nobody pays, for any rule and θ: above w/λ and w, where the last visits are given up."""
    change = pages.change_rate[pages.change_rate > 0]
    slowest = float(change.min()) if len(change) else 1.0
    return (
        1e6 * float(pages.importance.max(initial=1.0)) * max(1.0, 1 / slowest, float(change.max(initial=1.0)))
    )


def _between(low: Array, high: Array) -> Array:
    """The geometric middle: prices span many orders of magnitude."""
    return np.sqrt(np.maximum(low, high * 1e-16) * high)


def find_price(spent: Callable[[float], float], budget: float, near: float = 1.0) -> float:
    """The price at which what is spent is the budget; 0 when there is enough for all, huge when no price
    helps. Looked for `near` first.

    False position on the logarithm of the price, halved where an end stays put (the Illinois rule): a dozen
    looks at all pages where bisection takes fifty.
    """

    def excess(price: float) -> float:
        return float(np.log(max(spent(price), 1e-300) / budget))

    low = high = near
    at_low = at_high = excess(near)
    while at_low <= 0:
        if low < 1e-18:
            return 0.0
        high, at_high, low = low, at_low, low / 30
        at_low = excess(low)
    while at_high > 0 and high < 1e30:
        low, at_low, high = high, at_high, high * 30
        at_high = excess(high)
    if at_high > 0:  # what pages are visited at any price costs more than there is
        return high
    middle = high
    for _ in range(_LOOKS):
        middle = low * (high / low) ** float(np.clip(at_low / (at_low - at_high), 0.001, 0.999))
        at_middle = excess(middle)
        if abs(at_middle) < 1e-10 or high / low < 1 + 1e-13:
            break
        if at_middle > 0:
            low, at_low, at_high = middle, at_middle, at_high / 2
        else:
            high, at_high, at_low = middle, at_middle, at_low / 2
    return middle
