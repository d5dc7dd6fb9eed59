"""Which servers would be asked for more than they bear, and what do visits to them cost?

In:    a planning round with all servers counted in, and the sample of pages that the policy studies.
Out:   for the policy, what the pages of the sample pay at least; then, with the price that all pay, how many
       times as much the pages of other servers pay; for the plan, what that leaves of their wishes.
Never: sees a page but the sample, or acts under another policy than `optimal`: others have no price for it.
Paper: S0-07. The formulas are in `schedule.prices`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.robot.policy import Limited
from joro.schedule.change import Grid
from joro.schedule.plan import Priced, Round
from joro.schedule.prices import Market, Sample, Servers
from joro.schedule.prior import Prior, Said
from joro.schedule.revisit import Revisiting

Floats = NDArray[np.float64]


#: How much of what wishes differ from what they were worked out to be is believed, in the time in which all
#: pages of the server come to wish anew; more would swing, for wishes tell of prices as old as that.
BELIEVED = 0.5
#: Wishes that differ by more than this factor tell of a price that has just moved.
MOST_OFF = 2.0
#: And nobody is so unlike what is expected: sources that are read whatever a visit costs make it seem so.
MOST_LEARNED = 8.0


@dataclass(frozen=True)
class Surcharge:
    """How many times the price of a visit pages pay, of servers that could be asked for too much.

    In columns, by name.
    """

    name: NDArray[np.uint64]  # ascending
    times: Floats  # 1: as others
    asked_per_s: Floats  # visits that pages should wish for at that; 0: nobody has worked that out
    correction: Floats  # of what pages are worked out to wish, by what they have wished

    @cached_property
    def is_paid(self) -> bool:
        """Does anybody pay more than others?"""
        return bool((self.times > 1.0).any())

    def of(self, servers: NDArray[np.uint64]) -> Floats:
        """How many times the price the pages of servers pay, by fingerprint."""
        return _found(self.times, self.name, servers, 1.0)


def _found(
    column: Floats, names: NDArray[np.uint64], servers: NDArray[np.uint64], otherwise: float
) -> Floats:
    if not len(names):
        return np.full(len(servers), otherwise)
    places = np.minimum(np.searchsorted(names, servers), len(names) - 1)
    return np.where(names[places] == servers, column[places], otherwise)


#: Nobody pays more than others.
NO_SURCHARGE = Surcharge(np.empty(0, np.uint64), np.empty(0), np.empty(0), np.empty(0))


class Limits:
    """The servers of one planning round, as far as they could be asked for too much."""

    def __init__(self, planning: Round, shortest_s: float, said: Said, weight: Floats) -> None:
        names, pages, limits_per_s = planning.names, planning.pages, planning.limits_per_s
        # No price suffices where nothing at all is borne: those wait until their rule changes.
        able = np.flatnonzero((limits_per_s > 0.0) & (pages > limits_per_s * shortest_s))
        here = self._place = able[np.argsort(names[able])]
        self._servers = Servers(
            names[here], pages[here], limits_per_s[here], weight[here], said[here], np.ones(len(here))
        )
        self._loads_per_s = planning.loads_per_s[here]
        self._market: Market | None = None

    def learn(self, before: Surcharge, elapsed_s: float) -> None:
        """Let what pages came to wish since the round before correct what they are worked out to wish.

        A server with few pages in the sample, or with pages unlike each other, is known by nothing else.
        """
        servers = self._servers
        asked_per_s = _found(before.asked_per_s, before.name, servers.name, 0.0)
        ratio = np.where(asked_per_s > 0.0, self._loads_per_s / np.maximum(asked_per_s, 1e-300), 1.0)
        renewed = np.minimum(elapsed_s * self._loads_per_s / servers.pages, 1.0)
        learned = np.clip(ratio, 1 / MOST_OFF, MOST_OFF) ** (BELIEVED * renewed)
        correction = _found(before.correction, before.name, servers.name, 1.0) * learned
        self._servers = replace(servers, correction=np.clip(correction, 1 / MOST_LEARNED, MOST_LEARNED))

    def priced(self, sample: NDArray[np.uint64]) -> Limited:
        """What tells what the pages of a sample, whose servers these are, pay at least."""

        def limited(
            rule: Revisiting, known: Prior, chances: Grid, expected: Grid
        ) -> tuple[ArrayLike, ArrayLike]:
            if not len(self._servers):
                return 0.0, 1.0
            market = self._market = Market(rule, known, self._servers, Sample(sample, chances, expected))
            name = self._servers.name
            return _found(market.price, name, sample, 0.0), _found(market.kept_share, name, sample, 1.0)

        return limited

    def settled(self, price: float) -> tuple[Surcharge, Priced | None]:
        """What holds at the price that was found."""
        servers = self._servers
        if self._market is None or not len(servers):
            return NO_SURCHARGE, None
        times = np.maximum(self._market.price / price, 1.0)
        dear = np.flatnonzero(times > 1.0)
        # A hair below the limit: what is just kept would be called too much by rounding.
        kept = servers.limit_per_s / self._market.kept_share * (1 - 1e-9)
        wished = np.maximum(self._market.wished_per_s(price), kept)
        asked = np.where(times > 1.0, kept, 0.0)
        surcharge = Surcharge(servers.name, times, asked, servers.correction)
        return surcharge, Priced(self._place[dear], wished[dear], kept[dear])
