"""How are the pages of one server kept fresh, in figures that a person can be shown?

In:    what a server's record holds: its pages by wished interval, download times, what they said of their
       changes; the pause it is owed; the policy, and by which rule all gave way in the last planning round.
Out:   pages, visits a day as wished and as kept, how far it is used to capacity, how often its pages change
       and how fresh they are.
Never: sees a page; so change intervals and freshness are those of pages as they are expected there.
Paper: S0 2.2 and 2.3; S0-02.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from joro.model import DAY_S
from joro.schedule.change import LOG_RATES, RATES_PER_S
from joro.schedule.feasible import NEUTRAL, Rule
from joro.schedule.optimum import Array, freshness
from joro.schedule.plan import Cells, Timing, load_per_s
from joro.schedule.prices import ladder
from joro.schedule.prior import BROAD, Prior
from joro.schedule.revisit import Revisiting, visits_at

#: What a server is asked for that bears nothing at all: it is to be left alone for ever.
MOST = 1e9
#: Where a robot keeps the report of its last planning round.
KEPT_AS = "plan"


@dataclass(frozen=True)
class Server:
    """What a server's record holds."""

    cells: Cells
    timing: Timing
    minimum_s: float
    said: tuple[float, float] = (0.0, 0.0)
    waiting: int = 0
    missed: int = 0
    weight: float = 1.0  # of a page


@dataclass(frozen=True)
class Terms:
    """What holds for all servers."""

    policy: Revisiting
    rule: Rule = Rule.STRETCH
    strength: float | None = None  # by which all gave way; None: not at all
    known: Prior = BROAD


@dataclass(frozen=True)
class ServerFigures:
    """How the pages of one server are kept fresh."""

    pages: int  # that are visited again
    wished_per_day: float  # visits, at the price they pay
    kept_per_day: float
    access_interval_s: float | None  # between two visits, as kept; None: there are none
    utilisation: float  # what is wished, of what the server bears; beyond 1 it gives way
    waiting: int  # pages that are due
    missed: int  # visits, as the last planning round told
    change_interval_s: float | None  # of a usual page; None: nothing is known yet
    freshness: float | None  # share of time that its pages are as we have them


def utilisation(server: Server) -> float:
    """What its pages wish, of what it bears."""
    return min(load_per_s(server.cells) * _bears_s(server), MOST)


def _bears_s(server: Server) -> float:
    """The least time between two visits: the longest download and the pause must fit into it."""
    return max(server.timing.longest_s + server.minimum_s, 1e-3)


def figures_of(server: Server, terms: Terms) -> ServerFigures:
    """All there is to tell of a server."""
    strength = NEUTRAL[terms.rule] if terms.strength is None else terms.strength
    pages = sum(number for number, _ in server.cells.values())
    kept = min(load_per_s(server.cells, terms.rule, strength, server.weight), 1.0 / _bears_s(server))
    is_known = pages > 0 and server.said[0] > 0.0
    expected = terms.known.expected(np.array([server.said]))[0].astype(np.float64)
    return ServerFigures(
        pages=pages,
        wished_per_day=load_per_s(server.cells) * DAY_S,
        kept_per_day=kept * DAY_S,
        access_interval_s=1.0 / kept if kept > 0.0 else None,
        utilisation=utilisation(server),
        waiting=server.waiting,
        missed=server.missed,
        change_interval_s=math.exp(-float(expected @ LOG_RATES)) if is_known else None,
        freshness=_freshness(terms, expected, kept / pages) if is_known else None,
    )


def _freshness(terms: Terms, expected: Array, visits_per_s: float) -> float:
    """Of pages that change like these, and have so many visits each on average, shared as the policy does."""
    policy = terms.policy
    if policy.policy == "optimal":
        usual = np.broadcast_to(terms.known.weights.astype(np.float32), (len(RATES_PER_S), len(LOG_RATES)))
        often = visits_at(policy, np.eye(len(RATES_PER_S), dtype=np.float32), ladder(policy), expected=usual)
        shown = np.array([expected @ freshness(RATES_PER_S, column) for column in often.T])
        # The dearest come first, for numbers must grow; fewer visits than the fewest are shared alike.
        mean = (expected @ often)[::-1]
        if visits_per_s >= mean[0]:
            return float(np.interp(math.log(visits_per_s), np.log(mean), shown[::-1]))
    if policy.policy == "interval":
        share = RATES_PER_S / float(expected @ RATES_PER_S)
        return float(expected @ freshness(RATES_PER_S, visits_per_s * share))
    return float(expected @ freshness(RATES_PER_S, visits_per_s))
