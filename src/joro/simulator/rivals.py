"""When would others visit?

In:    which pages were visited, and whether they had changed.
Out:   how long each waits for its next visit, by the adaptive rules of Apache Nutch and Apache StormCrawler
       with their default settings, or by somebody who knows all change rates.
Never: learns anything beyond one interval a page, as these rules do; importance is not asked for.

Their rules have no budget. They wish, and whoever has waited longest beyond its date is visited first; with
time to spare they are idle. Written from the rules, not from the programs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from joro.model import DAY_S
from joro.schedule.optimum import Array, Limits, Pages, freshness, solve
from joro.simulator.world import Indices, World

Flags = NDArray[np.bool_]


class Chooser(Protocol):
    """Somebody who says when pages are to be visited."""

    uses_spare: bool  # visits that are left over go to the pages that are due next

    def first_s(self, pages: Indices) -> Array:
        """How long pages wait after the first visit."""

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        """How long pages wait after a visit, `elapsed_s` after the one before."""

    def signalled(self, pages: Indices) -> Array:
        """How much sooner a signal makes the next visit."""

    def plan(self, known: Indices) -> Array | None:
        """Intervals of all known pages, planned anew; None where nothing is planned."""


class Rival:
    """What the rules of others have in common: an interval a page, and no plans."""

    uses_spare = False

    def __init__(self, pages: int, start_s: float) -> None:
        self.interval_s = np.full(pages, start_s)

    def first_s(self, pages: Indices) -> Array:
        return self.interval_s[pages]

    def signalled(self, pages: Indices) -> Array:
        return np.zeros(len(pages))

    def plan(self, known: Indices) -> Array | None:
        return None


class Nutch(Rival):
    """A fifth shorter after a change, a fifth longer without; moved towards the moment of the last change."""

    def __init__(self, pages: int) -> None:
        super().__init__(pages, 30 * DAY_S)
        self._since_change_s = np.zeros(pages)

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        unchanged_s = np.where(changed, 0.0, self._since_change_s[pages] + elapsed_s)
        interval = self.interval_s[pages] * np.where(changed, 0.8, 1.2)
        interval = np.clip(np.maximum(interval, unchanged_s), 60.0, 365 * DAY_S)
        self._since_change_s[pages], self.interval_s[pages] = unchanged_s, interval
        return np.asarray(np.maximum(interval - 0.2 * unchanged_s, 0.0))


class StormCrawler(Rival):
    """Half as long after a change, half as long again without; between an hour and two weeks."""

    def __init__(self, pages: int) -> None:
        super().__init__(pages, DAY_S)

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        before = self.interval_s[pages]
        after = np.where(changed, 0.5 * before + 0.5 * 3_600.0, np.minimum(1.5 * before, 14 * DAY_S))
        self.interval_s[pages] = after
        return after


class Oracle(Rival):
    """Knows every change rate, and visits each page at the interval that is best for all."""

    uses_spare = True

    def __init__(self, world: World, importance: Array, budget_per_s: float) -> None:
        visits = optimum(world, importance, budget_per_s)[0]
        super().__init__(len(world), 0.0)
        self.interval_s = 1 / np.maximum(visits, 1 / (1e5 * DAY_S))

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        return self.interval_s[pages]


def optimum(world: World, importance: Array, budget_per_s: float) -> tuple[Array, float]:
    """The best visit rates for known change rates, and the weighted freshness they give."""
    visits = solve(Pages.of(world.change_per_s, importance), Limits(budget_per_s)).visit_rate
    fresh = freshness(world.change_per_s, visits)
    return visits, float(importance @ fresh / importance.sum())
