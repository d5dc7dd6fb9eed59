"""How often, and when next, may we knock at one server?

In:    the revisit intervals of a server's pages; when a download started and ended.
Out:   one access interval for the server's single stream of requests, its periods, deadlines and idle times.
Never: looks at a clock or a socket: times are numbers. The simulator compiles these functions to machine code
       (`simulator.engine`), so they take and give plain numbers. The robot calls the first of them: load,
       access interval, and the deadline by which waiting servers are ordered. When a server is ready again
       is up to politeness there, and what was missed is counted by page (`late`).
Paper: S0 2.2 and 2.4, equations (2), (3), (5), (6).

A server with access interval I is visited once in each of its periods. Period k of a server is the time from
`phase + k I` up to, but without, `phase + (k + 1) I`, in floating-point products as written. The number of a
period is therefore never read off a division alone: `floor(t / I)` at t = k I gives k or k - 1 as rounding
pleases, and a server visited every 0.1 s would now and then be visited twice in a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterable


def load_per_s(revisit_intervals_s: Iterable[float]) -> float:
    """L_i = Σ_j 1 / I_ij: visits a second that the pages of a server ask for together."""
    return sum(1.0 / interval for interval in revisit_intervals_s)


def access_interval_s(load_per_s: float, minimum_s: float) -> float:
    """Seconds between two requests to one server: I_i = max(1 / L_i, I_min).

    Where I_min wins the pages cannot all be visited as often as they ask; `feasible` says so, and revises.
    """
    if load_per_s <= 0.0:
        return math.inf  # a server without pages is never due
    return max(1.0 / load_per_s, minimum_s)


def period_at(time_s: float, interval_s: float, phase_s: float = 0.0) -> int:
    """The number of the period that holds a moment."""
    number = math.floor((time_s - phase_s) / interval_s)
    while phase_s + (number + 1) * interval_s <= time_s:
        number += 1
    while phase_s + number * interval_s > time_s:
        number -= 1
    return number


def deadline_s(waiting_since_s: float, interval_s: float, mean_s: float, phase_s: float = 0.0) -> float:
    """Until when a download should start, to end in the period in which its server came to wait.

    D_i = (k + 1) I_i - e_i. A period that passes meanwhile is cancelled, not queued: the archive can only
    see the present.
    """
    return phase_s + (period_at(waiting_since_s, interval_s, phase_s) + 1) * interval_s - mean_s


def ready_s(ended_s: float, period: int, interval_s: float, minimum_s: float, phase_s: float = 0.0) -> float:
    """When a server may be asked again, after a download that *started* in `period`.

    max(t_end + I_min, (k_start + 1) I): the end of the period is what S0 means where equation (6) prints its
    beginning. A download that runs over the end of its period costs no further one.
    """
    return max(ended_s + minimum_s, phase_s + (period + 1) * interval_s)


def ready_by_completion_s(ended_s: float, interval_s: float, minimum_s: float, phase_s: float = 0.0) -> float:
    """The same by the period in which the download *ended*, S0's literal wording: for comparison only.

    Where a download runs over the end of its period, the whole next period is lost.
    """
    return max(ended_s + minimum_s, phase_s + (period_at(ended_s, interval_s, phase_s) + 1) * interval_s)


def ready_as_printed_s(ended_s: float, interval_s: float, minimum_s: float, phase_s: float = 0.0) -> float:
    """The same as equation (6) is printed, with the beginning of the period: for comparison only.

    The beginning is never later than now, so all that is left is I_min, and a period sees many downloads.
    """
    return max(ended_s + minimum_s, phase_s + period_at(ended_s, interval_s, phase_s) * interval_s)


def missed_between(last_period: int, period: int) -> int:
    """Periods that passed without a download, between two that had one; before the first it is -1."""
    return max(period - last_period - 1, 0)


def complete_periods(end_s: float, interval_s: float, phase_s: float = 0.0) -> int:
    """Periods, from number 0 on, that are over at `end_s`."""
    return max(period_at(end_s, interval_s, phase_s), 0)
