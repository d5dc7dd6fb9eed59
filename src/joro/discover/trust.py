"""Do a server's dates tell the truth about its pages?

In:    for every visit to a page whose date was announced: did the date say "changed since your last visit",
       and had it changed?
Out:   how many of the changes are announced (recall, the κ of noisy change signals), how many announcements
       come for nothing (ν, per second), and whether they are to be believed at all.
Never: believes a server before it was caught telling the truth five times; holds a lie against it for ever.

Of the servers with dates in their sitemaps some four fifths tell the truth (Bing's study of 2023); the others
write today's date on every page, every time, or the date of the last backup. How many announcements are true
does not tell them apart: where pages change often, most of the liar's are. What counts is whether it knows to
be silent about a page that has not changed.

Visits that an announcement caused are in these counts, so recall is a little too high: changes that were not
announced wait longer to be found. What the schedule makes of it gets no worse than without signals.
"""

from __future__ import annotations

import msgspec

#: Comparisons before a verdict.
LEAST_COMPARISONS = 5
#: A server is believed that announces at least this share of changes, and of unchanged pages at most that.
GOOD_RECALL, GOOD_FALSE_ALARM = 0.5, 0.25
#: And no longer listened to when it announces such a share of unchanged pages.
BAD_FALSE_ALARM = 0.75
#: Later comparisons count: about the last two hundred.
MEMORY = 200.0


class Trust(msgspec.Struct, array_like=True):
    """How often a server's dates were right."""

    true_calls: float = 0.0  # announced, and changed
    false_calls: float = 0.0  # announced, and unchanged
    missed: float = 0.0  # changed, and not announced
    quiet: float = 0.0  # neither
    time_s: float = 0.0  # between the visits compared, together

    def book(self, *, announced: bool, changed: bool, elapsed_s: float) -> None:
        """Compare what was announced with what a visit found, `elapsed_s` after the visit before."""
        if self.comparisons >= MEMORY:
            self._fade(1.0 - 1.0 / MEMORY)
        if announced:
            self.true_calls += changed
            self.false_calls += not changed
        else:
            self.missed += changed
            self.quiet += not changed
        self.time_s += max(0.0, elapsed_s)

    @property
    def comparisons(self) -> float:
        """How much is known."""
        return self.true_calls + self.false_calls + self.missed + self.quiet

    @property
    def recall(self) -> float:
        """The share of changed pages that were announced."""
        return (self.true_calls + 1.0) / (self.true_calls + self.missed + 2.0)

    @property
    def false_alarm(self) -> float:
        """The share of unchanged pages that were announced."""
        return (self.false_calls + 1.0) / (self.false_calls + self.quiet + 2.0)

    @property
    def false_per_s(self) -> float:
        """Announcements for nothing, for one page."""
        return self.false_calls / self.time_s if self.time_s else 0.0

    @property
    def is_good(self) -> bool:
        """Have the dates proved right?"""
        known = self.comparisons >= LEAST_COMPARISONS
        return known and self.recall >= GOOD_RECALL and self.false_alarm <= GOOD_FALSE_ALARM

    @property
    def is_broken(self) -> bool:
        """Have the dates proved worthless?"""
        unchanged = self.false_calls + self.quiet
        return unchanged >= LEAST_COMPARISONS and self.false_alarm >= BAD_FALSE_ALARM

    def _fade(self, share: float) -> None:
        self.true_calls *= share
        self.false_calls *= share
        self.missed *= share
        self.quiet *= share
        self.time_s *= share


def is_announced(time: float | None, span_s: float, visited_at: float) -> bool:
    """Does a date say that the page changed after `visited_at`? A bare date may mean any hour of its day."""
    return time is not None and time + span_s > visited_at
