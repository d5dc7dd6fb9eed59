"""Can the schedule be kept, and if not, what gives way?

In:    how often pages are to be visited, how long their servers take, and how many sockets there are.
Out:   how the schedule stands; when it cannot be kept, other intervals by a stated rule, with figures before
       and after.
Never: drops a visit silently: what gives way is in the report, and the rule is the operator's.
Paper: S0 2.1 (feedback), 2.3, 3.2 (multiply all intervals by 2; let none be shorter than 2 days).

Every rule has one number, its strength, and more of it always means fewer visits. First a server that could
not keep its schedule even with a socket of its own gets the least strength that helps; then all servers get
the least that brings them into the sockets there are. A page's interval is worked out from the stronger of
the two when its next visit is planned, so nothing has to be rewritten, and a row of `Demand` may stand for
many like pages: a few rows for each server are enough for any number of pages.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from joro.model import DAY_S
from joro.schedule.sockets import MARGIN, bearable_need, bound, is_feasible, socket_shares, wanted

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: The search for a strength grows fourfold so many times at most, then halves what is left.
_GROWTHS, _HALVINGS = 40, 22


class Rule(enum.StrEnum):
    """What gives way when a schedule cannot be kept."""

    STRETCH = "stretch"  # every interval times the strength: what changes often is still visited often
    FLOOR = "floor"  # no interval shorter than the strength, in seconds: only the fastest pages give way
    THIN = "thin"  # pages of less weight than the strength are visited less, in proportion to their weight

    def told(self, strength: float) -> str:
        """What gives way, for people, and how strongly, where it does everywhere."""
        amount, words = _TOLD[self]
        return f"{self}{amount.format(strength) if strength > NEUTRAL[self] else ''}, {words}"


#: The strength that changes nothing.
NEUTRAL = {Rule.STRETCH: 1.0, Rule.FLOOR: 0.0, Rule.THIN: 0.0}
_TOLD = {
    Rule.STRETCH: (" {:.3g}", "all intervals by one factor"),
    Rule.FLOOR: (" {:,.0f} s", "the shortest intervals"),
    Rule.THIN: (" {:.3g}", "the least important pages"),
}
#: A page without weight is visited next to never.
_NO_WEIGHT = 1e-12


def revised_interval_s(
    rule: Rule, interval_s: npt.ArrayLike, weight: npt.ArrayLike, strength: npt.ArrayLike
) -> Floats:
    """The interval of a page, or a column of them, under a rule."""
    asked = np.asarray(interval_s, np.float64)
    given = np.asarray(strength, np.float64)
    if rule is Rule.FLOOR:
        return np.maximum(asked, given)
    if rule is Rule.THIN:
        given = np.maximum(given / np.maximum(np.asarray(weight, np.float64), _NO_WEIGHT), 1.0)
    revised: Floats = asked * given
    return revised


@dataclass(frozen=True)
class Demand:
    """What pages ask for; a row is one page, or `pages` of them with like interval and weight."""

    server: Integers  # row of `Capacity`
    interval_s: Floats  # I_ij
    weight: Floats
    pages: Floats

    def loads_per_s(self, servers: int, rule: Rule, strength: npt.ArrayLike) -> Floats:
        """L_i of each server, with a strength for each row."""
        rates = self.pages / revised_interval_s(rule, self.interval_s, self.weight, strength)
        loads: Floats = np.bincount(self.server, weights=rates, minlength=servers).astype(np.float64)
        return loads


@dataclass(frozen=True)
class Capacity:
    """What servers bear, a column each."""

    mean_s: Floats  # e_i
    longest_s: Floats
    minimum_s: Floats  # I_min: configuration or Crawl-delay

    def __len__(self) -> int:
        return len(self.mean_s)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a schedule stands, in figures a person can be shown."""

    sockets: int  # there are
    servers: int  # that are asked for anything
    visits_per_day: float  # asked for
    need: float  # Σ min(e_i / I_i, 1) of the servers that can keep their schedule
    infeasible_servers: int  # that cannot, whatever the sockets
    infeasible_need: float  # sockets these would take
    missed: int = 0  # visits missed since the last standing, where somebody counted

    @property
    def bound(self) -> int:
        """With fewer sockets no order keeps the schedule."""
        return bound(self.need + self.infeasible_need)

    @property
    def wanted(self) -> int:
        """With so many nothing is missed by the servers that can keep their schedule."""
        return wanted(self.need) + bound(self.infeasible_need)

    @property
    def shortage(self) -> float:
        """The least share of visits that must be missed for want of sockets."""
        every = self.need + self.infeasible_need
        return max(0.0, 1.0 - self.sockets / every) if every > 0.0 else 0.0

    @property
    def is_feasible(self) -> bool:
        return self.infeasible_servers == 0 and self.bound <= self.sockets

    def __str__(self) -> str:
        return (
            f"{self.visits_per_day:,.0f} visits a day to {self.servers:,} servers need "
            f"{self.need + self.infeasible_need:,.1f} of {self.sockets:,} sockets; "
            f"{self.infeasible_servers:,} servers cannot keep pace"
        )


@dataclass(frozen=True)
class Revision:
    """What was done about a schedule that cannot be kept."""

    rule: Rule
    strength: float  # for all servers
    server_strength: Floats  # of each server: the stronger of that and its own
    servers_revised: int  # that need a stronger one of their own
    before: Standing
    after: Standing

    @property
    def is_needed(self) -> bool:
        return self.servers_revised > 0 or self.strength > NEUTRAL[self.rule]

    @property
    def visits_kept(self) -> float:
        """The share of visits that is left."""
        asked = self.before.visits_per_day
        return self.after.visits_per_day / asked if asked > 0.0 else 1.0

    def __str__(self) -> str:
        if not self.is_needed:
            return f"The schedule can be kept: {self.before}."
        return (
            f"The schedule cannot be kept: {self.before}. By the rule {self.rule} "
            f"(strength {self.strength:,.3g} for all, more for {self.servers_revised:,} servers) "
            f"{100 * self.visits_kept:.1f} % of the visits are left: {self.after}."
        )


def survey(load_per_s: Floats, capacity: Capacity, sockets: int, *, missed: int = 0) -> Standing:
    """How the schedule stands, when each server is asked for `load_per_s`."""
    asked = load_per_s > 0.0
    interval_s, minimum_s = 1.0 / load_per_s[asked], capacity.minimum_s[asked]
    # Nobody is asked more often than politeness allows, so more sockets than that takes would stand idle.
    shares = socket_shares(capacity.mean_s[asked], np.maximum(interval_s, minimum_s))
    able = is_feasible(capacity.longest_s[asked], interval_s, minimum_s)
    return Standing(
        sockets=sockets,
        servers=int(asked.sum()),
        visits_per_day=float(load_per_s.sum() * DAY_S),
        need=float(shares[able].sum()),
        infeasible_servers=int((~able).sum()),
        infeasible_need=float(shares[~able].sum()),
        missed=missed,
    )


def revise(
    rule: Rule, demand: Demand, capacity: Capacity, sockets: int, *, margin: float = MARGIN, missed: int = 0
) -> Revision:
    """The least change by `rule` after which every server can keep its schedule and the sockets suffice.

    Should visits be missed all the same, whoever counts them asks again with a larger margin.
    """
    neutral, one = np.full(len(capacity), NEUTRAL[rule]), np.array([NEUTRAL[rule]])
    start = _first_guess(rule, demand)

    def loads_per_s(strength: Floats) -> Floats:
        return demand.loads_per_s(len(capacity), rule, strength[demand.server])

    def keeps_pace(strength: Floats) -> Mask:
        return is_feasible(capacity.longest_s, _intervals_s(loads_per_s(strength)), capacity.minimum_s)

    def fits(strength: Floats) -> Mask:
        interval_s = _intervals_s(loads_per_s(np.maximum(own, strength)))
        return np.array([socket_shares(capacity.mean_s, interval_s).sum() <= bearable_need(sockets, margin)])

    own = _least(keeps_pace, neutral, start)
    strength = float(_least(fits, one, start)[0])
    chosen = np.maximum(own, strength)
    before = survey(loads_per_s(neutral), capacity, sockets, missed=missed)
    after = survey(loads_per_s(chosen), capacity, sockets)
    return Revision(rule, strength, chosen, int((own > strength).sum()), before, after)


def _intervals_s(loads_per_s: Floats) -> Floats:
    """1 / L_i; of a server that is asked for nothing, infinity."""
    with np.errstate(divide="ignore"):
        return 1.0 / loads_per_s


def _first_guess(rule: Rule, demand: Demand) -> float:
    """A strength above neutral, of the size in which the rule counts."""
    if rule is Rule.THIN:
        return max(float(demand.weight.min(initial=1.0)), _NO_WEIGHT)
    return 1.0


def _least(holds: Callable[[Floats], Mask], neutral: Floats, start: float) -> Floats:
    """Of each element: the least strength for which it holds, to a millionth; all are tried together."""
    is_well = holds(neutral)
    low, high = neutral.copy(), np.full_like(neutral, start)
    for _ in range(_GROWTHS):
        enough = is_well | holds(high)
        if enough.all():
            break
        low, high = np.where(enough, low, high), np.where(enough, high, 4.0 * high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = holds(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(is_well, neutral, high)
