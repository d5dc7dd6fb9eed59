"""What must a visit to a server cost, that its pages wish for no more visits than it bears?

In:    of each server the number of its pages, what they have said about their changes, how much they matter
       and the visits it bears; a sample of all pages; the policy `optimal`.
Out:   of each server the price at which its own limit is just kept, 0 where no price is needed for that; and
       how often its pages would be visited at the price that everybody pays.
Never: sees all pages of a server: there may be a hundred million. Those in the sample speak for it, as far
       as there are any, and what its pages have said speaks for the others.
Paper: S0-07 as a price; Kolobov, Lubetzky, Peres and Horvitz (SIGIR 2019): a page pays max(Λ, p_server).

Multiplying all intervals of a server instead is far from the best: a page that changes too fast to be
followed keeps the visits it has no use for, and slow pages lose theirs. With a pause of 100 s 20,000 pages
were fresh for 34 % of the time that way, less than by visiting all alike, and for 45 % with a price.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joro.schedule.change import LOG_RATES, RATES_PER_S, Grid
from joro.schedule.optimum import Array, gain
from joro.schedule.prior import Prior, Said
from joro.schedule.revisit import Revisiting, visits_at

#: Prices tried, from one at which all pages are visited as often as may be to one that nobody pays; between
#: two of them, some 70 % apart, visits are as good as a power of the price.
STEPS = 48
#: What is expected of a server counts as much as so many of its pages in the sample.
BELIEF_PAGES = 30.0
#: Servers worked out together: their prices and rates stay at hand.
_AT_ONCE = 4_096


@dataclass(frozen=True)
class Servers:
    """Servers that could be asked for more than they bear, in columns, by name."""

    name: NDArray[np.uint64]  # ascending
    pages: Array
    limit_per_s: Array
    weight: Array  # importance of a page
    said: Said
    correction: Array  # of what they are worked out to wish; 1: none

    def __len__(self) -> int:
        return len(self.name)

    def places(self, names: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Where servers of these names stand; -1: not here."""
        if not len(self):
            return np.full(len(names), -1, np.intp)
        found = np.minimum(np.searchsorted(self.name, names), len(self) - 1)
        return np.where(self.name[found] == names, found, -1)


@dataclass(frozen=True)
class Sample:
    """Pages from anywhere."""

    server: NDArray[np.uint64]
    chances: Grid
    expected: Grid


class Market:
    """How often the pages of each server are visited at each price."""

    def __init__(self, rule: Revisiting, known: Prior, servers: Servers, sample: Sample) -> None:
        self._rule = rule
        self._servers = servers
        self._known = known
        self._log_prices = np.log(ladder(rule))
        prices = np.exp(self._log_prices)
        usual = np.broadcast_to(known.weights.astype(np.float32), (len(RATES_PER_S), len(LOG_RATES)))
        exactly = np.eye(len(RATES_PER_S), dtype=np.float32)
        self._of_rate = visits_at(rule, exactly, prices, expected=usual)
        seen = visits_at(rule, sample.chances, prices, expected=sample.expected)
        # Pages are not known as exactly as their rates: what that makes of all of them, it makes of each.
        self._of_rate *= seen.sum(axis=0) / np.maximum((sample.expected @ self._of_rate).sum(axis=0), 1e-300)
        place = servers.places(sample.server)
        order = np.argsort(place, kind="stable")
        self._place, self._seen = place[order], seen[order]
        self._found = self._keeping()

    @property
    def price(self) -> Array:
        """Of each server that at which it is asked for just what it bears; 0: for no more at any price."""
        return self._found[0]

    @property
    def kept_share(self) -> Array:
        """What is left of its pages' wishes at that price; less than 1 where even the least is too much."""
        return self._found[1]

    def wished_per_s(self, price: float) -> Array:
        """How often the pages of each server would be visited if they paid what everybody pays."""
        wished = np.zeros(len(self._servers))
        top = len(self._log_prices) - 1
        step = self._log_prices[1] - self._log_prices[0]
        for here, often in self._wishes():
            log_price = np.log(max(price, 1e-300) / self._servers.weight[here])
            place = np.clip((log_price - self._log_prices[0]) / step, 0.0, top)
            left = np.minimum(place.astype(np.intp), top - 1)
            row = np.arange(len(often))
            below, above = np.log(often[row, left]), np.log(often[row, left + 1])
            wished[here] = np.exp(below + (place - left) * (above - below))
        return wished

    def _keeping(self) -> tuple[Array, Array]:
        price, share = np.zeros(len(self._servers)), np.ones(len(self._servers))
        top = len(self._log_prices) - 1
        step = self._log_prices[1] - self._log_prices[0]
        for here, often in self._wishes():
            limit, row = self._servers.limit_per_s[here], np.arange(len(often))
            right = (often > limit.reshape(-1, 1)).sum(axis=1)
            left = np.clip(right - 1, 0, top - 1)
            below, above = np.log(often[row, left]), np.log(often[row, left + 1])
            part = np.clip((below - np.log(limit)) / np.maximum(below - above, 1e-12), 0.0, 1.0)
            found = np.exp(self._log_prices[left] + part * step) * self._servers.weight[here]
            price[here] = np.where(right > 0, found, 0.0)
            share[here] = np.minimum(limit / often[:, top], 1.0)
        return price, share

    def _wishes(self) -> Iterator[tuple[slice, Array]]:
        """Visits a second to each server at each price, a few thousand servers at a time."""
        servers = self._servers
        for first in range(0, len(servers), _AT_ONCE):
            here = slice(first, min(first + _AT_ONCE, len(servers)))
            often = BELIEF_PAGES * (self._known.expected(servers.said[here]).astype(float) @ self._of_rate)
            number = np.full(len(often), BELIEF_PAGES)
            start, end = np.searchsorted(self._place, [here.start, here.stop])
            place = self._place[start:end] - first
            np.add.at(often, place, self._seen[start:end])
            np.add.at(number, place, 1.0)
            often *= (servers.correction[here] / number).reshape(-1, 1)
            often = np.clip(often, 1 / self._rule.longest_s, 1 / self._rule.shortest_s)
            yield here, often * servers.pages[here].reshape(-1, 1)


def ladder(rule: Revisiting) -> Array:
    """Prices from one at which every page is visited as often as may be to one that nobody pays."""
    worth = RATES_PER_S ** (rule.theta - 1)
    return np.geomspace((worth * gain(RATES_PER_S * rule.shortest_s)).min(), worth.max(), STEPS)
