"""Which waiting server gets the next socket, and how many sockets does it take?

In:    of each server its access interval and its download times, mean and longest.
Out:   the key by which waiting servers are ordered; the least number of sockets; who may have how many.
Never: interrupts a download; counts on more sockets than there are. `priority` is what robot and simulator
       both run (see `serialize`).
Paper: S0 2.3 and 2.4, equations (4), (5).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt

from joro.schedule.serialize import deadline_s

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Sockets for refresh, as a multiple of the lower bound. S0 found 3; with the period of the *start* and an
#: integer period counter nothing is missed from 1.1 on, from a standing start too (`joro simulate --paper`).
MARGIN = 1.3
#: And so many more, because a few servers do not even each other out: 100 to 3,000 simulated servers (need
#: 0.03 to 1.2) missed visits with the margin alone, and none with two more.
SPARE = 2
#: As few sockets as the spare ones bear so much each. Of 30 to 1,000 servers like S0's, their intervals
#: stretched to a need of 0.3 for each socket (three seeds, three days, started at once and staggered), EDF
#: missed 0.25 % of the visits with one socket, 0.7 % at worst, and 0.002 % with two. With one a download of
#: two minutes is always in somebody's way: a need of 0.02 misses 0.003 %, of 0.1 0.07 %, of 0.5 0.4 %.
_LEAST_NEED = 0.3


class Order(enum.IntEnum):
    """By what waiting servers are ordered."""

    EDF = 0  # earliest deadline first: S0's choice
    FCFS = 1  # first come, first served
    FREQ = 2  # shortest access interval first: needs no download times, and is nearly as good
    RM = 3  # highest utilisation first ("rate monotonic" in S0)
    SJF = 4  # shortest download first: loses least when sockets are short


def priority(
    order: int, waiting_since_s: float, interval_s: float, mean_s: float, phase_s: float = 0.0
) -> float:
    """The key of a server that came to wait at `waiting_since_s`: the smallest gets the next socket."""
    if order == Order.EDF:
        return deadline_s(waiting_since_s, interval_s, mean_s, phase_s)
    if order == Order.FREQ:
        return interval_s
    if order == Order.RM:
        return -mean_s / interval_s
    if order == Order.SJF:
        return mean_s
    return waiting_since_s


def socket_share(mean_s: float, interval_s: float) -> float:
    """min(e_i / I_i, 1), a server's utilisation: no server ever has more than one socket."""
    return min(mean_s / interval_s, 1.0)


def socket_shares(mean_s: Floats, interval_s: Floats) -> Floats:
    """The same of columns; their sum is the need."""
    return np.minimum(mean_s / interval_s, 1.0)


@overload
def is_feasible(longest_s: float, interval_s: float, minimum_s: float) -> bool: ...
@overload
def is_feasible(longest_s: Floats, interval_s: Floats, minimum_s: float | Floats) -> Mask: ...
def is_feasible(
    longest_s: float | Floats, interval_s: float | Floats, minimum_s: float | Floats
) -> bool | Mask:
    """Can a server alone keep its schedule, whatever the others do? Of columns: which can?

    e_max + I_min <= I_i. S0 asks for e_max <= I_i only; but then the idle time that politeness demands
    makes some servers miss visits for ever, whatever the number of sockets.
    """
    return longest_s + minimum_s <= interval_s


def bound(need: float) -> int:
    """C >= ⌈Σ min(e_i / I_i, 1)⌉: with fewer sockets no order can keep the schedule."""
    return math.ceil(need - 1e-9)  # a sum of many shares is not exact


def wanted(need: float, margin: float = MARGIN) -> int:
    """Sockets with which EDF and FREQ miss nothing; none when nothing is asked for."""
    return math.ceil(margin * need - 1e-9) + SPARE if need > 0.0 else 0


def bearable_need(sockets: int, margin: float = MARGIN) -> float:
    """The other way round: the need up to which so many sockets miss nothing; one or two, next to nothing."""
    return max((sockets - SPARE) / margin, _LEAST_NEED * min(sockets, SPARE))


class Pool(enum.IntEnum):
    """For what a server gets a socket."""

    REFRESH = 0  # known pages, of a server that can keep its schedule
    INFEASIBLE = 1  # known pages, of one that cannot: it holds up nobody but its like
    DISCOVERY = 2  # pages never visited


@dataclass(frozen=True, slots=True)
class Pools:
    """How the sockets are shared."""

    refresh: int
    infeasible: int
    discovery: int  # what is left
    least_discovery: int = 0  # what discovery has in any case

    @property
    def total(self) -> int:
        return self.refresh + self.infeasible + self.discovery

    def open_to(self, busy: Sequence[int]) -> Iterator[Pool]:
        """The pools that may take one more socket while each has so many: the one to be served first, first.

        Known pages go before new ones, but for those few sockets that new ones have in any case. Servers that
        cannot keep pace may also have what discovery leaves unused. What refresh needs is left to it, used
        or not: a download is not interrupted.
        """
        slow, new = busy[Pool.INFEASIBLE], busy[Pool.DISCOVERY]
        if new < self.least_discovery:
            yield Pool.DISCOVERY
        yield Pool.REFRESH
        spare = self.infeasible + self.discovery - slow - max(new, self.least_discovery)
        if slow < max(self.infeasible, 1) or spare > 0:
            yield Pool.INFEASIBLE
        if self.least_discovery <= new < max(self.discovery, self._lone):
            yield Pool.DISCOVERY

    @property
    def _lone(self) -> int:
        """Two pools cannot share one socket but by turns."""
        return 1 if self.total == 1 else 0


def share_out(
    sockets: int,
    need: float,
    infeasible_need: float = 0.0,
    *,
    margin: float = MARGIN,
    least_discovery: int = 0,
) -> Pools:
    """Refresh first, the surplus to discovery (S0-01), which has `least_discovery` in any case.

    Short of sockets the two refresh pools shrink in proportion, but neither to nothing while it is needed.
    """
    left = sockets - least_discovery
    refresh, infeasible = wanted(need, margin), bound(infeasible_need)
    if refresh + infeasible > left:
        least, most = min(infeasible, 1), left - min(refresh, 1)
        infeasible = max(min(max(left * infeasible // (refresh + infeasible), least), most), 0)
        refresh = left - infeasible
    return Pools(refresh, infeasible, sockets - refresh - infeasible, least_discovery)


def least_share(sockets: int, percent: float) -> int:
    """Sockets that are so much of all; one at least where there are two, if any are wished."""
    return max(int(sockets * percent / 100), 1) if sockets > 1 and percent > 0 else 0
