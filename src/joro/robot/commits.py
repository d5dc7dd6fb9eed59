"""When is it time to commit?

In:    visits that no commit has written, pauses promised to servers, whether anybody is out.
Out:   is a commit due, and when will one be at the latest.
Never: lets a crash cost more than a second's work, or 500 visits; lets others wait for links that were found
       by somebody who has nothing else to do.
"""

from __future__ import annotations

from joro.clock import Clock

#: A commit is due after so many visits even before `commit_every_s`: bounds the work a crash costs.
COMMIT_EVERY_VISITS = 500
#: Whoever has nothing to do looks for mail, and commits what it did, so many times as often as others commit,
#: but not more often than so many seconds apart.
LOOKS, LOOK_EVERY_S = 10, 0.05


class Commits:
    """What one robot has done since its last commit."""

    def __init__(self, clock: Clock, every_s: float) -> None:
        self._clock = clock
        self._every_s = every_s
        self._look_every_s = min(every_s, max(every_s / LOOKS, LOOK_EVERY_S))
        self._last_at = clock.now()
        self.visits = 0
        self.has_promised = False  # a longer pause

    def is_due(self, *, rests: bool) -> bool:
        """`rests`: nobody is out, and nobody leaves unless something happens."""
        if self.has_promised or self.visits >= COMMIT_EVERY_VISITS:
            return True
        every_s = self._look_every_s if rests and self.visits else self._every_s
        return self._clock.now() - self._last_at >= every_s

    def due_at(self, *, rests: bool) -> float:
        """When to look whether one is due, at the latest."""
        due_at = self._last_at + self._every_s
        return min(due_at, self._clock.now() + self._look_every_s) if rests else due_at

    def done(self) -> None:
        """Everything is written."""
        self._last_at = self._clock.now()
        self.visits = 0
        self.has_promised = False
