"""Which pages are there, when do they change, and who says so?

In:    a seed number and how many pages to make up; or recorded moments of change.
Out:   a world: pages with importance, server and moment of birth, their next change after any moment, and
       signals of change, true and false.
Never: tells a policy anything but what a visit or a signal tells.
Paper: S0 3.1 for the servers; the pages of a server differ as much as servers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from joro.model import DAY_S
from joro.schedule.optimum import Array
from joro.simulator.population import fitted

Indices = NDArray[np.intp]

#: Mean changes of a page in a day, and the spread of log rates of servers and inside a server. With the
#: servers of S0 this makes a median of one change in 19 days.
MEAN_PER_DAY = 0.33
SPREAD_SERVERS = SPREAD_WITHIN = 1.35
PAGES_PER_SERVER = 38
#: No server has a greater share of the pages: one alone would decide the outcome.
LARGEST_SHARE = 0.02
#: Signals: share of servers whose sitemaps or feeds tell well, and of those whose tell nothing, after a
#: study of sitemaps (58 % of servers have one, 84 % of these with dates, 79 % of these right).
GOOD_SERVERS, BROKEN_SERVERS = 0.38, 0.09
GOOD_RECALL, GOOD_FALSE = 0.9, 0.1
#: A broken sitemap says every second day that all has changed.
BROKEN_PER_DAY = 0.5


@dataclass
class World:
    """Pages, a column each; times in seconds from the start."""

    importance: Array
    server: Indices
    born_s: Array
    change_per_s: Array  # mean rates; what the oracle knows
    signalled: Array = field(default_factory=lambda: np.zeros(0))  # share of changes that are signalled
    false_per_s: Array = field(default_factory=lambda: np.zeros(0))  # rate of false signals

    def __post_init__(self) -> None:
        if not len(self.signalled):
            self.signalled, self.false_per_s = np.zeros(len(self)), np.zeros(len(self))

    def __len__(self) -> int:
        return len(self.importance)

    @cached_property
    def has_signals(self) -> bool:
        return bool(np.any(self.signalled > 0) or np.any(self.false_per_s > 0))

    def next_change_s(self, pages: Indices, after_s: Array, chance: np.random.Generator) -> Array:
        """When each page first changes after a moment, apart from changes that are signalled."""
        silent = self.change_per_s[pages] * (1 - self.signalled[pages])
        return after_s + chance.standard_exponential(len(pages)) / np.maximum(silent, 1e-300)

    def next_signal_s(
        self, pages: Indices, after_s: Array, chance: np.random.Generator
    ) -> tuple[Array, NDArray[np.bool_]]:
        """When the next signal of each page comes, and whether it is true."""
        true = self.change_per_s[pages] * self.signalled[pages]
        rate = np.maximum(true + self.false_per_s[pages], 1e-300)
        return after_s + chance.standard_exponential(len(pages)) / rate, chance.random(
            len(pages)
        ) < true / rate


@dataclass
class RecordedWorld(World):
    """Pages whose moments of change were recorded."""

    moments_s: Array = field(default_factory=lambda: np.zeros(0))  # of all pages, page after page, in order
    first: Indices = field(
        default_factory=lambda: np.zeros(1, np.intp)
    )  # of each page in `moments_s`, and the end

    def __post_init__(self) -> None:
        super().__post_init__()
        # One ascending column, so that a single search finds the next moment of many pages.
        self._span = float(self.moments_s.max(initial=0.0)) + 1.0
        page = np.repeat(np.arange(len(self)), np.diff(self.first))
        self._laid_out = page * self._span + self.moments_s

    def next_change_s(self, pages: Indices, after_s: Array, chance: np.random.Generator) -> Array:
        """When each page first changes after a moment; infinity when it was never seen to."""
        after = pages * self._span + np.minimum(after_s, self._span - 0.5)
        place = np.searchsorted(self._laid_out, after, side="right")
        there = place < self.first[pages + 1]
        return np.where(there, self.moments_s[np.where(there, place, 0)], np.inf)


def made_up(pages: int, seed: int, *, good: float = 0.0, broken: float = 0.0) -> World:
    """Pages that change at random, on servers as S0 had them, with log-normal importance.

    `good` and `broken` are the shares of servers whose signals tell well, and tell nothing.
    """
    chance = np.random.default_rng(seed)
    servers = max(50, pages // PAGES_PER_SERVER)
    busy = 1 / chance.permutation(fitted(1, servers).interval_s)
    usual = np.exp(chance.normal(0, SPREAD_SERVERS, servers))
    counts = _counts(busy / usual, pages, chance)
    server = np.repeat(np.arange(servers), counts)
    rate = usual[server] * np.exp(chance.normal(0, SPREAD_WITHIN, len(server)))
    rate *= MEAN_PER_DAY / DAY_S / rate.mean()
    importance = np.exp(chance.normal(0, 1, len(server)))
    kind = _spread(np.bincount(server, minlength=servers), chance)[server]
    tells, noisy = kind < good, kind >= 1 - broken
    false = np.where(tells, GOOD_FALSE * rate, np.where(noisy, BROKEN_PER_DAY / DAY_S, 0.0))
    return World(importance, server, np.zeros(len(server)), rate, np.where(tells, GOOD_RECALL, 0.0), false)


def _counts(size: Array, pages: int, chance: np.random.Generator) -> Indices:
    """Pages of each server, in proportion to `size`, none larger than allowed, `pages` in all on average."""
    share = size / size.sum()
    for _ in range(30):
        share = np.minimum(share, LARGEST_SHARE)
        share /= share.sum()
    counts: Indices = np.floor(pages * share + chance.random(len(size))).astype(np.intp)
    return counts


def _spread(size: Indices, chance: np.random.Generator) -> Array:
    """A number in [0, 1) for each server, spread evenly over the large as over the small."""
    number = np.empty(len(size))
    number[np.argsort(size, kind="stable")] = (chance.random() + 0.6180339887 * np.arange(len(size))) % 1
    return number
