"""How long may a page wait for its next visit?

In:    of each page the chances of its change rates and its importance; a policy with its knob.
Out:   an interval for each page; and the knob at which all pages together wish for just the visits there are.
Never: sees a clock or a server. One page or a million, robot or simulator: the same code.
Paper: S0-03 (`interval`), S4-04 (`gamma`); `optimal` is Cho and Garcia-Molina's optimum for rates that are
       not known but believed in; `uniform` is everybody's starting point.

All four have one knob, and turning it up means fewer visits:

    optimal     the price of a visit: wait until what a visit brings is worth it
    interval    how many change intervals to wait; 1 is S0's rule
    gamma       seconds between two rounds of selection
    uniform     the interval itself

A page whose rate is not known waits until Σ p g(λt) λ^(θ−1) = price / w over the rates it may have. That is
best for the page as we know it, and it is careful by itself: while a fast rate is possible, the wait is
short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.model import DAY_S
from joro.schedule import select
from joro.schedule.change import DRIFT_PER_S, RATES_PER_S, Grid, rate_per_s
from joro.schedule.optimum import Array, find_price, gain
from joro.schedule.signals import NONE, QUALITIES, threshold_value, worth

POLICIES = ("optimal", "interval", "gamma", "uniform")

#: The waits between which `optimal` interpolates: a minute to a thousand days, 16 % apart.
WAITS_S = np.geomspace(60.0, 1_000 * DAY_S, 96)
_LOG_WAITS = np.log(WAITS_S)
#: Pages asked about together: what is worked out for them stays at hand.
_AT_ONCE = 2_048
#: Rows of one product of matrices. Larger ones are shared out among threads, which wait for each other by
#: counting: where other processes have the other cores, that took 20 to 30 µs of CPU time a page.
_FOR_ONE_THREAD = 56


@dataclass(frozen=True)
class Revisiting:
    """A policy, and how far its knob is turned."""

    policy: str = "optimal"
    knob: float = 1.0
    theta: float = 0.0  # optimal: 0 for pages as they are now, 1 for every version
    usual_alpha: float = 0.05  # gamma: of a page of importance 1
    shortest_s: float = 3_600.0
    longest_s: float = 400 * DAY_S
    drift_per_s: float = DRIFT_PER_S  # optimal: how fast what is known grows old while a page waits
    most_per_change: float = math.inf  # optimal: visits for each change expected, however cheap they are


def intervals_s(
    rule: Revisiting,
    chances: Grid,
    importance: ArrayLike,
    *,
    expected: Grid | None = None,
    draws: ArrayLike = 0.5,
    quality: NDArray[np.integer] | None = None,
) -> Array:
    """Seconds that each page waits for its next visit.

    `expected` are the chances of a page nothing is known of: with them, `optimal` counts in that a page may
    become another while it waits, and looks again at one it had given up. `draws`, random numbers in [0, 1),
    are for `gamma`, which selects by chance. `quality` is that of the signals of each page's server (see
    `signals`): who is told of changes can wait longer.
    """
    weight = np.broadcast_to(np.asarray(importance, dtype=np.float64), (len(chances),))
    if rule.policy == "optimal" and quality is None:
        wait = _sought(rule, chances, expected, weight)
    elif rule.policy == "optimal":
        wait = _crossing(_log_worth(rule, chances, expected, quality), _log_goal(rule, weight))
    elif rule.policy == "interval":
        wait = rule.knob / rate_per_s(chances)
    elif rule.policy == "gamma":
        share = select.alpha(weight, rule.usual_alpha)
        wait = select.interval_s(share, rate_per_s(chances), 1 / rule.knob, draws)
    else:
        wait = np.full(len(chances), rule.knob)
    return np.clip(wait, _shortest_s(rule, chances), rule.longest_s)


def _shortest_s(rule: Revisiting, chances: Grid) -> ArrayLike:
    """No page is visited again sooner.

    The changes expected are those of the mean rate: as long as a page may be fast, it is looked at as one.
    """
    if rule.policy != "optimal" or rule.most_per_change == math.inf:
        return rule.shortest_s
    change_s = 1 / (chances @ RATES_PER_S)
    return np.clip(change_s / rule.most_per_change, rule.shortest_s, rule.longest_s)


def visits_per_s(
    rule: Revisiting,
    chances: Grid,
    importance: ArrayLike,
    *,
    expected: Grid | None = None,
    quality: NDArray[np.integer] | None = None,
) -> Array:
    """How often each page would be visited in the long run."""
    if rule.policy == "gamma":
        share = select.alpha(
            np.broadcast_to(np.asarray(importance, float), (len(chances),)), rule.usual_alpha
        )
        allowed = {"shortest_s": rule.shortest_s, "longest_s": rule.longest_s}
        return select.visits_per_s(share, rate_per_s(chances), 1 / rule.knob, **allowed)
    interval = intervals_s(rule, chances, importance, expected=expected, quality=quality)
    return _often(chances, interval, quality)


def fitted(
    rule: Revisiting,
    chances: Grid,
    importance: ArrayLike,
    budget_per_s: float,
    *,
    expected: Grid | None = None,
    quality: NDArray[np.integer] | None = None,
    least_price: ArrayLike = 0.0,
    counted: ArrayLike = 1.0,
) -> Revisiting:
    """The rule with its knob turned so that these pages together wish for `budget_per_s` visits.

    Under `optimal` some pages pay a `least_price`, that of their server (see `prices`), and only a part of
    their visits is `counted`, where that does not suffice.
    """
    if rule.policy == "uniform":
        return replace(rule, knob=len(chances) / budget_per_s)

    # Twenty prices are tried; what a visit brings is the same at all of them.
    optimal = rule.policy == "optimal"
    log_worth = _log_worth(rule, chances, expected, quality) if optimal else None
    weight, shortest_s = np.asarray(importance, dtype=np.float64), _shortest_s(rule, chances)

    def spent(knob: float) -> float:
        turned = replace(rule, knob=knob)
        if log_worth is None:
            return float(visits_per_s(turned, chances, weight, expected=expected, quality=quality).sum())
        log_goal = _log_goal(turned, weight, least_price)
        wait = np.clip(_crossing(log_worth, log_goal), shortest_s, rule.longest_s)
        return float((_often(chances, wait, quality) * np.asarray(counted, np.float64)).sum())

    return replace(rule, knob=max(find_price(spent, budget_per_s, near=rule.knob), 1e-18))


def visits_at(rule: Revisiting, chances: Grid, prices: Array, *, expected: Grid) -> Array:
    """How often pages of importance 1 are visited under `optimal` at each of many prices: pages × prices."""
    log_worth = _log_worth(rule, chances, expected, None)
    often, shortest_s = np.empty((len(chances), len(prices))), _shortest_s(rule, chances)
    for number, price in enumerate(prices.tolist()):
        log_goal = np.full((len(chances), 1), np.log(price))
        often[:, number] = 1 / np.clip(_crossing(log_worth, log_goal), shortest_s, rule.longest_s)
    return often


def _log_worth(
    rule: Revisiting, chances: Grid, expected: Grid | None, quality: NDArray[np.integer] | None
) -> Grid:
    """Logarithm of what a visit to each page brings after each wait: pages × waits."""
    if quality is None:
        brought = _brought(rule, chances, expected, NONE)
    else:
        brought = np.empty((len(chances), len(WAITS_S)), np.float32)
        for each in np.unique(quality):
            here = quality == each
            usual = np.broadcast_to(expected, chances.shape)[here] if expected is not None else None
            brought[here] = _brought(rule, chances[here], usual, int(each))
    return np.log(np.maximum(brought, np.float32(1e-30), out=brought), out=brought)


def _brought(rule: Revisiting, chances: Grid, expected: Grid | None, quality: int) -> Grid:
    worths = _worths(rule.theta, quality)
    brought = chances @ worths
    if expected is not None:
        kept = np.exp(-rule.drift_per_s * WAITS_S).astype(np.float32)
        brought = kept * brought + (1 - kept) * (expected @ worths)
    return np.asarray(brought, np.float32)


def _log_goal(rule: Revisiting, weight: Array, least_price: ArrayLike = 0.0) -> Array:
    """What a visit must bring to be worth its price."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(rule.knob, least_price)) - np.log(weight)).reshape(-1, 1)


def _crossing(log_worth: Grid, log_goal: Array) -> Array:
    """Where what a visit brings, which grows with the wait, reaches the goal; infinite where it does not."""
    right = (log_worth < log_goal).sum(axis=1)
    inside = np.clip(right, 1, len(WAITS_S) - 1)
    row = np.arange(len(log_worth))
    below, above = log_worth[row, inside - 1], log_worth[row, inside]
    share = np.clip((log_goal.ravel() - below) / np.maximum(above - below, 1e-9), 0, 1)
    wait = np.exp(_LOG_WAITS[inside - 1] + share * (_LOG_WAITS[1] - _LOG_WAITS[0]))
    return np.where(right == len(WAITS_S), np.inf, wait)


def _sought(rule: Revisiting, chances: Grid, expected: Grid | None, weight: Array) -> Array:
    """The same as `_crossing`, without logarithms of what is far from the goal."""
    with np.errstate(divide="ignore", over="ignore"):
        goal = np.asarray(rule.knob / weight).astype(np.float32)
    usual = np.broadcast_to(expected, chances.shape) if expected is not None else chances
    worths = _worths_of_both(rule.theta, rule.drift_per_s if expected is not None else 0.0)
    wait = np.empty(len(chances))
    for first in range(0, len(chances), _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        known = np.concatenate([chances[here], usual[here]], axis=1)
        wait[here] = _reached(_product(known, worths), goal[here])
    return wait


def _product(known: Grid, worths: Grid) -> Grid:
    """What a visit brings to each page after each wait."""
    brought = np.empty((len(known), worths.shape[1]), np.float32)
    for first in range(0, len(known), _FOR_ONE_THREAD):
        here = slice(first, first + _FOR_ONE_THREAD)
        np.matmul(known[here], worths, out=brought[here])
    return brought


def _reached(brought: Grid, goal: NDArray[np.float32]) -> Array:
    """Where what a visit brings reaches the goal; infinite where it does not."""
    is_less = (brought < goal.reshape(-1, 1)).view(np.uint8)
    right = np.add.reduce(is_less, axis=1, dtype=np.uint8).astype(np.intp)  # words of eight bytes take double
    inside = np.minimum(np.maximum(right, 1), len(WAITS_S) - 1)
    place = inside + np.arange(0, brought.size, len(WAITS_S))
    values = brought.ravel()
    three = np.stack([values.take(place - 1), values.take(place), goal])
    below, above, sought = np.log(np.maximum(three, np.float32(1e-30)))
    share = (sought - below) / np.maximum(above - below, np.float32(1e-9))
    between = inside - 1 + np.minimum(np.maximum(share, 0), 1)
    wait = np.exp(_LOG_WAITS[0] + between * (_LOG_WAITS[1] - _LOG_WAITS[0]))
    return np.where(right == len(WAITS_S), np.inf, wait)


def _often(chances: Grid, interval_s: Array, quality: NDArray[np.integer] | None) -> Array:
    """Visits per second at these intervals, and with signals more."""
    often = 1 / interval_s
    for each in np.unique(quality) if quality is not None else ():
        if each != NONE:
            here = quality == each
            often[here] = _told_per_s(chances[here], interval_s[here], int(each))
    return np.asarray(often)


def _told_per_s(chances: Grid, interval_s: Array, quality: int) -> Array:
    """How often pages are visited that wait so long without a signal, and shorter with one."""
    place = np.interp(np.log(interval_s), _LOG_WAITS, np.arange(len(WAITS_S)))
    left = np.minimum(place.astype(np.intp), len(WAITS_S) - 2)
    share = (place - left).reshape(-1, 1)
    often = _visits(quality)
    return np.asarray((chances * ((1 - share) * often[left] + share * often[left + 1])).sum(axis=1))


@lru_cache(maxsize=64)
def _visits(quality: int) -> Array:
    """Visits per second for each wait without a signal and each rate: waits × rates."""
    recall, false = QUALITIES[quality]
    return 1 / threshold_value(RATES_PER_S, recall, false * RATES_PER_S, WAITS_S.reshape(-1, 1))[1]


@lru_cache(maxsize=64)
def _worths(theta: float, quality: int) -> Grid:
    """What a visit brings after each wait, for each rate: rates × waits."""
    rates = RATES_PER_S.reshape(-1, 1)
    brought = gain(rates * WAITS_S) / rates if quality == NONE else worth(rates, QUALITIES[quality], WAITS_S)
    return np.asarray(rates**theta * brought, dtype=np.float32)


@lru_cache(maxsize=64)
def _worths_of_both(theta: float, drift_per_s: float) -> Grid:
    """The same for a page as it is known, and below for one that may have become another: 2 rates × waits."""
    worths, kept = _worths(theta, NONE), np.exp(-drift_per_s * WAITS_S).astype(np.float32)
    return np.concatenate([kept * worths, (1 - kept) * worths])
