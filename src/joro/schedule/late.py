"""How many visits have pages missed that still wait for theirs?

In:    pages as they come to wait, each since its date, and as they leave; a moment.
Out:   the periods that have passed without a visit, of all that wait at a server.
Never: sees a page, nor holds one: a server has three numbers for each octave of intervals, while pages wait.
Paper: S0 3, missed downloads: a period without one is missed, also when it is followed by none.

Lateness in periods, (t − D_j) / I_j, is a straight line in t, so the sums of 1 / I_j and of D_j / I_j are
enough to add it up at any moment. What is lost is who is how late: pages of an octave count as equally late.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

#: Octave of intervals → pages, the sum of their rates (1/I) and that of their dates times rates.
Waiting = dict[int, tuple[int, float, float]]


def came(waiting: Waiting, interval_s: float, date: float) -> None:
    """A page waits that should have been visited at that date."""
    if not 0.0 < interval_s < math.inf:
        return
    octave = math.frexp(interval_s)[1]
    pages, rate_per_s, dates = waiting.get(octave, (0, 0.0, 0.0))
    waiting[octave] = (pages + 1, rate_per_s + 1.0 / interval_s, dates + date / interval_s)


def left(waiting: Waiting, interval_s: float, date: float) -> None:
    """It waits no longer; interval and date are the very numbers with which it came."""
    if not 0.0 < interval_s < math.inf:
        return
    octave = math.frexp(interval_s)[1]
    pages, rate_per_s, dates = waiting.get(octave, (0, 0.0, 0.0))
    if pages <= 1:
        waiting.pop(octave, None)  # with it what rounding has left over
    else:
        waiting[octave] = (pages - 1, rate_per_s - 1.0 / interval_s, dates - date / interval_s)


def missed(
    waiting: Mapping[int, tuple[int, float, float]], now: float, kept_s: Callable[[float], float]
) -> int:
    """Visits that pages have missed so far, at the intervals that are kept of those they wish."""
    visits = 0
    for pages, rate_per_s, dates in waiting.values():
        late_s = (now * rate_per_s - dates) / rate_per_s
        if late_s > 0.0:
            visits += pages * int(late_s / kept_s(pages / rate_per_s) * (1.0 + 1e-9))
    return visits
