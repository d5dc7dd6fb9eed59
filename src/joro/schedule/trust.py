"""How far can a server's own word about change be trusted?

In:    of each visit: what the server said (Last-Modified, ETag, 304, lastmod), and whether the page
       had changed.
Out:   the share of its words that are true, for `change.dated`.
Never: takes a date that cannot be: one in the future, or one that is just the time of the answer.
Paper: S0-02 and S4-04, Last-Modified as a hint.
"""

from __future__ import annotations

from typing import NamedTuple

#: Clocks of servers differ; a date so far ahead of ours may still be meant.
SKEW_S = 300.0


class Trust(NamedTuple):
    """Words compared with what was found; two numbers of a server's record."""

    right: float = 0.0
    wrong: float = 0.0

    @property
    def share(self) -> float:
        """The share of true words to count on, as if one of each kind had been heard before."""
        return (self.right + 1) / (self.right + self.wrong + 2)

    def after(self, told_changed: bool, is_changed: bool) -> Trust:
        """Trust after one comparison: a word is true when it changes if, and only if, the page does."""
        agrees = told_changed == is_changed
        return Trust(self.right + agrees, self.wrong + (not agrees))


def age_s(modified_at: float, answered_at: float, now: float) -> float | None:
    """How long before the visit the page last changed, by the server's word; None when that cannot be.

    `answered_at` is the server's own Date: a page made for the asking was "modified" at that moment.
    """
    if modified_at <= 0 or modified_at > now + SKEW_S or abs(modified_at - answered_at) < 1:
        return None
    return max(now - modified_at, 0.0)
