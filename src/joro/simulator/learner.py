"""When would we visit, knowing of each page only what visits told?

In:    visits and signals, as the robot has them; a policy and a budget.
Out:   how long each page waits; all of it by the functions of `schedule` that the robot calls.
Never: sees a change rate. The prior is learned from a sample of the pages visited, the price is found on it,
       and the quality of signals is told from what visits found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joro.schedule import change, prior, revisit, signals
from joro.schedule.optimum import Array
from joro.schedule.revisit import Revisiting
from joro.simulator.rivals import Flags
from joro.simulator.world import Indices

#: Pages on which the prior is learned and the price is found.
SAMPLE = 4_096
#: Pages looked at together.
BATCH = 8_192


@dataclass(frozen=True)
class Settings:
    """How we choose."""

    rule: Revisiting = Revisiting()  # noqa: RUF009
    by_server: bool = True  # a prior for each server
    signals: bool = True  # heed signals


class Learner:
    """Pages and servers as a robot knows them."""

    uses_spare = True

    def __init__(
        self, importance: Array, server: Indices, budget_per_s: float, settings: Settings, seed: int = 0
    ) -> None:
        self._importance, self._server = importance, server
        self._budget_per_s, self._settings = budget_per_s, settings
        self._chance = np.random.default_rng(seed)
        servers = int(server.max(initial=0)) + 1
        self.rule, self.prior = settings.rule, prior.BROAD
        self.histories = change.blank(len(importance))
        self.said = np.zeros((servers, 2))
        self._own = np.zeros((len(importance), 2))  # each page's part of it
        self._scores = np.zeros((servers, len(signals.QUALITIES)))
        self._speaks = np.zeros(servers, bool)  # servers that ever gave a signal
        self.quality = np.zeros(servers, np.intp)
        self._order = self._chance.permutation(len(importance))

    def first_s(self, pages: Indices) -> Array:
        return self._intervals_s(pages)

    def visited(self, pages: Indices, elapsed_s: Array, changed: Flags, signals: Array) -> Array:
        server, before = self._server[pages], self.histories[pages]
        expected = self._expected(pages)
        self._speaks[server[signals > 0]] = True
        if self._speaks[server].any():
            self._judge(server, before, expected, elapsed_s, changed, signals)
        likelihood = self._likelihood(server, before, expected, elapsed_s, changed, signals)
        after = change.observe(before, likelihood, expected, elapsed_s, changed, self.rule.drift_per_s)
        self.histories[pages] = after
        spoken = prior.said(after)
        np.add.at(self.said, server, spoken - self._own[pages])
        self._own[pages] = spoken
        return self._wished_s(pages, change.posterior(after, expected), expected)

    def signalled(self, pages: Indices) -> Array:
        quality = self.quality[self._server[pages]]
        rate = change.rate_per_s(self.chances(pages))
        return np.where(quality == signals.NONE, 0.0, signals.signal_worth_s(rate, quality))

    def plan(self, known: Indices) -> Array | None:
        """Learn the prior, turn the knob so that the wishes fit the budget, and date all pages anew."""
        if self._settings.signals:
            self._choose_quality(known)
        is_known = np.zeros(len(self._importance), bool)
        is_known[known] = True
        sample = self._order[is_known[self._order]][:SAMPLE]
        self.prior = self.prior.learned(self.histories[sample], self._others(sample))
        budget = self._budget_per_s * len(sample) / len(known)
        chances, expected = self._believed(sample)
        self.rule = revisit.fitted(
            self.rule,
            chances,
            self._importance[sample],
            budget,
            expected=expected,
            quality=self._told(self._server[sample]),
        )
        batches = [known[start : start + BATCH] for start in range(0, len(known), BATCH)]
        return np.concatenate([self._intervals_s(each) for each in batches])

    def _choose_quality(self, known: Indices) -> None:
        pages = np.bincount(self._server[known], minlength=len(self.said))
        is_heeded = signals.are_heeded(self.said[self._speaks, 0], pages[self._speaks])
        best = signals.best_quality(self._scores[self._speaks])
        self.quality[self._speaks] = np.where(is_heeded, best, signals.NONE)

    def chances(self, pages: Indices) -> change.Grid:
        """What is believed about the change rates of pages."""
        return self._believed(pages)[0]

    def _believed(self, pages: Indices) -> tuple[change.Grid, change.Grid]:
        """The same, and what would be believed without the pages' own histories."""
        expected = self._expected(pages)
        return change.posterior(self.histories[pages], expected), expected

    def _expected(self, pages: Indices) -> change.Grid:
        return self.prior.expected(self._others(pages))

    def _intervals_s(self, pages: Indices) -> Array:
        return self._wished_s(pages, *self._believed(pages))

    def _wished_s(self, pages: Indices, chances: change.Grid, expected: change.Grid) -> Array:
        draws = self._chance.random(len(pages)) if self.rule.policy == "gamma" else 0.5
        quality = self._told(self._server[pages])
        return revisit.intervals_s(
            self.rule, chances, self._importance[pages], expected=expected, draws=draws, quality=quality
        )

    def _told(self, server: Indices) -> Indices | None:
        return self.quality[server] if self.quality.any() else None

    def _others(self, pages: Indices) -> prior.Said:
        """What the other pages of each page's server say."""
        if not self._settings.by_server:
            return np.zeros((len(pages), 2))
        others = self.said[self._server[pages]] - self._own[pages]
        others[:, 0] = np.maximum(others[:, 0], 0)
        return np.asarray(others)

    def _likelihood(
        self, server: Indices, before: change.Histories, expected: change.Grid, elapsed_s: Array,
        changed: Flags, count: Array,
    ) -> change.Grid:  # fmt: skip
        likelihood = change.seen(elapsed_s, changed)
        quality = self.quality[server]
        here = quality != signals.NONE
        if here.any():
            believed = change.rate_per_s(change.posterior(before[here], expected[here]))
            likelihood[here] = signals.seen_with_signals(
                elapsed_s[here], changed[here], count[here], quality[here], believed
            )
        return likelihood

    def _judge(
        self, server: Indices, before: change.Histories, expected: change.Grid, elapsed_s: Array,
        changed: Flags, count: Array,
    ) -> None:  # fmt: skip
        foretold = signals.scores(elapsed_s, changed, count, change.posterior(before, expected))
        np.add.at(self._scores, server, foretold)
