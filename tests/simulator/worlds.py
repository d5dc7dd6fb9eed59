"""Small worlds and choosers whose results can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joro.model import DAY_S
from joro.schedule.optimum import Array
from joro.simulator.rivals import Flags, Rival
from joro.simulator.world import Indices, RecordedWorld, World


def changing(*days: Sequence[float], born: Sequence[float] = (), over: float = 10.0) -> RecordedWorld:
    """A world with one page for each list of days on which it changes."""
    counts = np.array([len(each) for each in days])
    return RecordedWorld(
        importance=np.ones(len(days)),
        server=np.arange(len(days)),
        born_s=DAY_S * np.array(born or [0.0] * len(days)),
        change_per_s=counts / (over * DAY_S),
        moments_s=DAY_S * np.concatenate([np.array(each, float) for each in days]),
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
    )


def by_chance(
    *per_day: float, importance: Sequence[float] = (), signalled: float = 0.0, false_per_day: float = 0.0
) -> World:
    """A world with one page for each rate of change, all on one server."""
    pages = len(per_day)
    return World(
        importance=np.array(importance or [1.0] * pages),
        server=np.zeros(pages, np.intp),
        born_s=np.zeros(pages),
        change_per_s=np.array(per_day) / DAY_S,
        signalled=np.full(pages, signalled),
        false_per_s=np.full(pages, false_per_day / DAY_S),
    )


class Every(Rival):
    """Visits every page at the same interval; a signal makes the visit due at once, if it is to be heeded."""

    def __init__(self, pages: int, days: float, *, heeds: bool = False) -> None:
        super().__init__(pages, days * DAY_S)
        self._heeds = heeds

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        return self.interval_s[pages]

    def signalled(self, pages: Indices) -> Array:
        return self.interval_s[pages] * self._heeds
