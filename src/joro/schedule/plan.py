"""Can all servers be visited as often as their pages wish, and who gets the sockets?

In:    of each server, one after another: its pages counted by wished interval and weight, its download
       times, the least interval politeness allows, visits missed.
Out:   a `Plan`: how things stand, the revised intervals where they cannot be kept, sockets for refresh and
       discovery, and how many visits could be paid for.
Never: sees a page. A server is a few cells of like pages, a page moves from cell to cell as it is visited,
       and a planning round reads servers only, a few at a time while other work goes on.
Paper: S0 2.1 to 2.3; S0-01, S0-04 to S0-07.

A cell holds the pages whose intervals share an octave and whose weights a factor of four. The sum of their
rates is kept, not the middle of the octave, so loads are exact; only where a floor cuts through an octave do
the pages of a cell count as alike. How much they weigh is told with their server, where it is known: thinned
by the middle of their class, pages of weight 2 would be visited twice as often as their server bears.
"""

from __future__ import annotations

import functools
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.schedule.feasible import (
    NEUTRAL,
    Capacity,
    Demand,
    Floats,
    Revision,
    Rule,
    revise,
    revised_interval_s,
    survey,
)
from joro.schedule.serialize import access_interval_s
from joro.schedule.sockets import MARGIN, Pools, bearable_need, share_out

#: Number of a cell → pages in it, and the sum of their rates (1/I_ij) per second.
Cells = Mapping[int, tuple[int, float]]

#: Octaves of intervals, from a second to a century; classes of weights, from 4^-8 to 4^7.
_OCTAVES, _CLASSES, _MIDDLE = 32, 16, 8
#: Download times: the mean is that of the last so many, and the longest one fades as slowly.
_REMEMBERED = 50
_FADING = 1 / _REMEMBERED


def cell_of(interval_s: float, weight: float) -> int:
    """The number of the cell a page counts in."""
    return cells_of([interval_s], [weight])[0]


def cells_of(interval_s: ArrayLike, weight: ArrayLike) -> list[int]:
    """The numbers of the cells that many pages count in."""
    seconds = np.maximum(np.asarray(interval_s, np.float64), 1.0)
    octave = np.minimum(np.log2(seconds), _OCTAVES - 1).astype(np.int64)
    cells: list[int] = (octave * _CLASSES + _classes_of(weight)).tolist()
    return cells


def _classes_of(weight: ArrayLike) -> NDArray[np.int64]:
    grade = np.log2(np.clip(np.asarray(weight, np.float64), 4.0**-_MIDDLE, 4.0 ** (_MIDDLE - 1))) / 2
    return np.rint(grade).astype(np.int64) + _MIDDLE


def wish(
    cells: dict[int, tuple[int, float]], interval_s: float, weight: float, cell: int | None = None
) -> None:
    """Count a page that wishes a visit in every `interval_s`; one that wishes none (∞, 0) does not count."""
    if not _counts(interval_s):
        return
    cell = cell_of(interval_s, weight) if cell is None else cell
    pages, rate_per_s = cells.get(cell, (0, 0.0))
    cells[cell] = (pages + 1, rate_per_s + 1.0 / interval_s)


def unwish(
    cells: dict[int, tuple[int, float]], interval_s: float, weight: float, cell: int | None = None
) -> None:
    """Count a page no longer, with the very numbers with which it was counted."""
    if not _counts(interval_s):
        return
    cell = cell_of(interval_s, weight) if cell is None else cell
    pages, rate_per_s = cells.get(cell, (0, 0.0))
    if pages <= 1:
        cells.pop(cell, None)  # with it what rounding has left over
    else:
        cells[cell] = (pages - 1, rate_per_s - 1.0 / interval_s)


def change_wish(
    cells: dict[int, tuple[int, float]], left: float, left_cell: int, entered: float, cell: int
) -> None:
    """Count a page with another interval than before; intervals of 0 and ∞ do not count."""
    found = cells.get(cell) if left_cell == cell and _counts(left) and _counts(entered) else None
    if found is None:
        unwish(cells, left, 1.0, left_cell)
        wish(cells, entered, 1.0, cell)
        return
    pages, rate_per_s = found
    rate_per_s = rate_per_s - 1.0 / left if pages > 1 else 0.0
    cells[cell] = (pages, rate_per_s + 1.0 / entered)


def _counts(interval_s: float) -> bool:
    return 0.0 < interval_s < math.inf


@functools.lru_cache(maxsize=64)
def _class_of(weight: float) -> int:
    """Of one weight; there are few, and a hundred thousand servers are asked about in a round."""
    return int(_classes_of(weight))


class Timing(NamedTuple):
    """How long a server's downloads take."""

    mean_s: float = 0.0
    longest_s: float = 0.0


def timed(
    mean_s: float, longest_s: float, elapsed_s: float, earlier: int = _REMEMBERED
) -> tuple[float, float]:
    """A timing, mean and longest, with one download more, after so many; what was long ago fades.

    Nobody is blamed for ever for one night.
    """
    if longest_s == 0.0:
        return elapsed_s, elapsed_s
    mean_s += (elapsed_s - mean_s) / min(earlier + 1, _REMEMBERED)
    return mean_s, max(elapsed_s, longest_s - (longest_s - mean_s) * _FADING)


def load_per_s(cells: Cells, rule: Rule = Rule.STRETCH, strength: float = 1.0, weight: float = 1.0) -> float:
    """L_i: visits a second that a server's pages, of that weight, wish for, revised by a rule."""
    if strength == NEUTRAL[rule]:
        return sum(rate_per_s for _, rate_per_s in cells.values())
    rows = np.array(_rows(cells, rule, weight)).reshape(-1, 3)
    return float((rows[:, 2] / revised_interval_s(rule, rows[:, 0], rows[:, 1], strength)).sum())


def _rows(cells: Cells, rule: Rule, weight: float) -> list[tuple[float, float, float]]:
    """Pages of a server as rows of interval, weight and number: those that a rule treats alike in one row.

    Those in the class of `weight` weigh just that; others, which weighed something else when they were last
    visited, as much as the middle of their class.
    """
    alike: dict[int, tuple[int, float]] = {}
    for cell, (pages, rate_per_s) in cells.items():
        key = cell if rule is Rule.THIN else cell // _CLASSES if rule is Rule.FLOOR else 0
        others, other_rate = alike.get(key, (0, 0.0))
        alike[key] = (others + pages, other_rate + rate_per_s)
    if rule is not Rule.THIN:
        return [(pages / rate_per_s, 1.0, float(pages)) for pages, rate_per_s in alike.values()]
    usual = _class_of(weight)
    classes = {key: key % _CLASSES for key in alike}
    weights = {key: weight if one == usual else 4.0 ** (one - _MIDDLE) for key, one in classes.items()}
    return [(pages / rate, weights[key], float(pages)) for key, (pages, rate) in alike.items()]


@dataclass(frozen=True)
class Plan:
    """What holds until the next planning round; servers go by their fingerprints, as in the calendar."""

    revision: Revision
    pools: Pools
    affordable_per_s: float  # visits that sockets and politeness allow, if pages wished for them
    own: Mapping[int, float]  # strength for those that could not keep pace as wished: they have their pool
    missed: Mapping[int, int]  # visits missed since the last round, of servers that missed any
    priced: Mapping[int, float] = field(default_factory=dict)  # the same, of those that a price keeps down
    most_revised: float = 1.0  # of all these: how many times less often the hardest hit is visited

    def is_apart(self, server: int) -> bool:
        """Does it stand back in a pool of its own, because its pages wish more than it bears?"""
        return server in self.own or server in self.priced

    def strength_of(self, server: int) -> float:
        """How strongly the rule acts on the pages of a server."""
        return self.own.get(server, self.revision.strength)

    def page_intervals_s(self, server: Sequence[int], interval_s: ArrayLike, weight: ArrayLike) -> Floats:
        """The intervals at which pages are visited that wish `interval_s`."""
        usual, own = self.revision.strength, self.own
        strength = [own.get(each, usual) for each in server] if own else usual
        return revised_interval_s(self.revision.rule, interval_s, weight, strength)

    def access_interval_s(self, server: int, cells: Cells, minimum_s: float, weight: float = 1.0) -> float:
        """I_i: time between two visits to a server."""
        load = load_per_s(cells, self.revision.rule, self.strength_of(server), weight)
        return access_interval_s(load, minimum_s)


@dataclass(frozen=True)
class Priced:
    """Servers whose pages pay a price of their own, in columns."""

    place: NDArray[np.intp]  # as they came into the round
    wished_per_s: Floats  # at the price that everybody pays
    kept_per_s: Floats  # at their own


@dataclass
class Round:
    """A planning round under way: `add` every server, then `plan`."""

    rule: Rule = Rule.STRETCH
    missed: dict[int, int] = field(default_factory=dict)
    _names: array[int] = field(default_factory=lambda: array("Q"))
    _server: array[int] = field(default_factory=lambda: array("q"))
    _rows: array[float] = field(default_factory=lambda: array("d"))
    _bears: array[float] = field(default_factory=lambda: array("d"))

    def add(
        self,
        server: int,
        cells: Cells,
        timing: Timing,
        minimum_s: float,
        missed: int = 0,
        *,
        weight: float = 1.0,
    ) -> None:
        """Count a server in, whose pages have that weight; one whose pages wish for nothing takes no room."""
        if missed:
            self.missed[server] = missed
        if not cells:
            return
        for row in _rows(cells, self.rule, weight):
            self._server.append(len(self._names))
            self._rows.extend(row)
        self._bears.extend((timing.mean_s, timing.longest_s, minimum_s))
        self._names.append(server)

    @property
    def names(self) -> NDArray[np.uint64]:
        """The servers counted in, by fingerprint, as they came."""
        return np.array(self._names, np.uint64)

    @property
    def pages(self) -> Floats:
        """How many pages of each are visited again."""
        pages = np.bincount(_view(self._server), _columns(self._rows)[2], len(self._names))
        return pages.astype(np.float64)

    @property
    def loads_per_s(self) -> Floats:
        """How many visits the pages of each wish together, as of their last visits."""
        interval_s, _, pages = _columns(self._rows)
        return np.bincount(_view(self._server), pages / interval_s, len(self._names)).astype(np.float64)

    @property
    def limits_per_s(self) -> Floats:
        """How many visits each bears."""
        return _most_per_s(Capacity(*_columns(self._bears)))

    def affordable_per_s(self, sockets: int, *, margin: float = MARGIN, least_discovery: int = 0) -> float:
        """Visits that sockets and politeness allow."""
        capacity = Capacity(*_columns(self._bears))
        return _affordable_per_s(capacity, bearable_need(sockets - least_discovery, margin))

    def plan(
        self, sockets: int, *, margin: float = MARGIN, least_discovery: int = 0, priced: Priced | None = None
    ) -> Plan:
        """What holds until the next round, with so many sockets, of which discovery has some in any case.

        Pages of `priced` servers pay a price of their own, so these are asked for no more than they bear;
        what they would be asked for without it is told as what is wished.
        """
        capacity = Capacity(*_columns(self._bears))
        wished = Demand(_view(self._server), *_columns(self._rows))
        apart = np.zeros(len(capacity), bool)
        demand, left = wished, sockets - least_discovery
        if priced is not None and len(priced.place):
            wished = _scaled(wished, capacity, priced.place, priced.wished_per_s)
            demand = _scaled(wished, capacity, priced.place, priced.kept_per_s)
            apart[priced.place] = True
        revision = self._revision(wished, demand, capacity, left, margin)
        stronger = revision.server_strength > revision.strength
        own = {
            self._names[at]: float(revision.server_strength[at]) for at in np.flatnonzero(stronger).tolist()
        }
        need = _need(demand, capacity, revision, np.flatnonzero(stronger | apart))
        whole = revision.after.need + revision.after.infeasible_need
        pools = share_out(sockets, whole - need, need, margin=margin, least_discovery=least_discovery)
        affordable_per_s = _affordable_per_s(capacity, bearable_need(left, margin))
        most = _most_cut(wished, demand, revision, stronger | apart)
        return Plan(revision, pools, affordable_per_s, own, self.missed, self._strengths(priced), most)

    def _strengths(self, priced: Priced | None) -> dict[int, float]:
        """How many times as much as it bears each priced server would be asked for."""
        if priced is None:
            return {}
        times = priced.wished_per_s / self.limits_per_s[priced.place]
        return dict(zip(self.names[priced.place].tolist(), times.tolist(), strict=True))

    def _revision(
        self, wished: Demand, demand: Demand, capacity: Capacity, sockets: int, margin: float
    ) -> Revision:
        """As `_revised` has it of what prices leave; before that stands what is wished without them."""
        revision = self._revised(demand, capacity, sockets, margin)
        if wished is demand:
            return revision
        loads = wished.loads_per_s(len(capacity), self.rule, NEUTRAL[self.rule])
        return replace(revision, before=survey(loads, capacity, sockets, missed=sum(self.missed.values())))

    def _revised(self, demand: Demand, capacity: Capacity, sockets: int, margin: float) -> Revision:
        """As `feasible.revise` has it; that nothing need be revised is seen without its search."""
        missed, neutral = sum(self.missed.values()), NEUTRAL[self.rule]
        loads = np.bincount(demand.server, demand.pages / demand.interval_s, len(capacity)).astype(np.float64)
        standing = survey(loads, capacity, sockets, missed=missed)
        if standing.infeasible_servers == 0 and standing.need <= bearable_need(sockets, margin):
            strengths = np.full(len(capacity), neutral)
            return Revision(self.rule, neutral, strengths, 0, standing, replace(standing, missed=0))
        return revise(self.rule, demand, capacity, sockets, margin=margin, missed=missed)


def _need(demand: Demand, capacity: Capacity, revision: Revision, servers: NDArray[np.intp]) -> float:
    """Sockets that the revised schedule of some servers takes."""
    if not len(servers):
        return 0.0
    strength = revision.server_strength[demand.server]
    loads = demand.loads_per_s(len(capacity), revision.rule, strength)[servers]
    return float(np.minimum(capacity.mean_s[servers] * loads, 1.0).sum())


def _most_cut(wished: Demand, demand: Demand, revision: Revision, servers: NDArray[np.bool_]) -> float:
    """By how much the visits are cut of that server of which most are cut; 1: by nothing."""
    if not servers.any():
        return 1.0
    before = wished.loads_per_s(len(servers), revision.rule, NEUTRAL[revision.rule])[servers]
    strength = revision.server_strength[demand.server]
    after = demand.loads_per_s(len(servers), revision.rule, strength)[servers]
    return float((before / after).max())


def _columns(of: array[float]) -> Floats:
    rows: Floats = _view(of).reshape(-1, 3)
    return rows.T


def _view(of: array[Any]) -> NDArray[Any]:
    """The numbers where they lie; NumPy refuses to look at none."""
    return np.frombuffer(of, of.typecode) if of else np.empty(0, of.typecode)


def _scaled(demand: Demand, capacity: Capacity, place: NDArray[np.intp], loads_per_s: Floats) -> Demand:
    """The same demand, but of some servers as much as is said."""
    loads = np.bincount(demand.server, demand.pages / demand.interval_s, len(capacity))
    times = np.ones(len(capacity))
    times[place] = loads[place] / loads_per_s
    return replace(demand, interval_s=demand.interval_s * times[demand.server])


def _most_per_s(capacity: Capacity) -> Floats:
    """How often each server can be asked: its longest download and the pause fit between two requests."""
    most_per_s: Floats = 1.0 / np.maximum(capacity.longest_s + capacity.minimum_s, 1e-3)
    return most_per_s


def _affordable_per_s(capacity: Capacity, bearable: float) -> float:
    """Visits a second when every server is asked as often as it can bear, as far as the sockets go."""
    most_per_s = _most_per_s(capacity)
    need = float((most_per_s * capacity.mean_s).sum())
    return float(most_per_s.sum()) * min(1.0, bearable / need if need > 0.0 else 1.0)
