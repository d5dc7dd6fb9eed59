"""How fresh would a robot keep pages whose changes are known to the minute, if nothing ever held it up?

The robot's own policy, and a budget of visits; no network, no politeness, no sockets, no commits. What a live
robot stays behind this is what all of those cost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from joro.config import Refresh
from joro.robot.policy import Policy
from joro.schedule import change, prior

HOUR_S = 3_600.0


@dataclass
class Page:
    """One page, as the world has it and as the robot knows it."""

    server: int
    changes: Sequence[float]  # moments, in order
    seen_at: list[float] = field(default_factory=list)
    history: bytes = b""

    def is_fresh(self, now: float) -> bool:
        """Does it stand as it was seen last?"""
        visits = bisect_right(self.seen_at, now)
        return visits > 0 and not self.has_changed(self.seen_at[visits - 1], now)

    def has_changed(self, since: float, until: float) -> bool:
        return bisect_right(self.changes, since) < bisect_right(self.changes, until)


class Forecast:
    """Visits every page at its first moment, and then as the policy says; all are repriced every hour."""

    def __init__(self, settings: Refresh, pages: Sequence[Page], starts: Sequence[float]) -> None:
        self._settings = settings
        self._policy = Policy(settings)
        self._pages = pages
        self._starts = np.array(starts)
        self._fixed = np.array(starts)  # dates that no price moves: of the first visit and the second
        self._servers = np.array([page.server for page in pages])
        self._plan_at = min(starts) + settings.plan_every_s

    def run(self, end: float) -> int:
        """Until `end`, hour by hour; how many visits that took."""
        visits = 0
        for now in np.arange(self._starts.min(), end, HOUR_S).tolist():
            if now >= self._plan_at:
                self._policy.study(*self._known(), self._settings.visits_per_day / 86_400.0)
                self._plan_at += self._settings.plan_every_s
            for number in np.flatnonzero(self._dates() <= now).tolist():
                self._visit(number, now)
                visits += 1
        return visits

    def _dates(self) -> NDArray[np.float64]:
        wished_s = self._policy.intervals_s(*self._known())
        dates = self._fixed.copy()
        for number, page in enumerate(self._pages):
            if page.history:
                dates[number] = page.seen_at[-1] + wished_s[number]
        return dates

    def _known(self) -> tuple[change.Histories, NDArray[np.float64], prior.Said]:
        histories = change.unpack([page.history for page in self._pages])
        said = prior.said(histories)
        sums = np.stack([np.bincount(self._servers, column) for column in said.T], axis=1)
        return histories, np.ones(len(said)), np.maximum(sums[self._servers] - said, [0.0, -np.inf])

    def _visit(self, number: int, now: float) -> None:
        page = self._pages[number]
        if page.seen_at:
            last = page.seen_at[-1]
            known, changed = change.unpack([page.history]), page.has_changed(last, now)
            page.history = change.pack(self._policy.learned(known, [now - last], [changed]))[0]
        else:
            self._fixed[number] = now + self._settings.first_interval_s
        page.seen_at.append(now)

    def freshness(self, moments: Sequence[float]) -> float:
        """The share of pages that are fresh, in the mean over these moments."""
        return float(np.mean([page.is_fresh(now) for now in moments for page in self._pages]))
