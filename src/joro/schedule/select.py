"""Which pages does chance select, as often as they deserve?

In:    importance and change rate of pages, how long ago each was visited, and random numbers.
Out:   for each page the chance that it is selected now, and when it will be.
Never: throws the dice: the caller does, so that the same numbers give the same pages.
Paper: S4 4.2, equation (1): γ(p,t) = α(p) + (1 − α(p)) β(p,t), β = 1 − e^(−t/τ).

Looked at in rounds, `pace` a second, a page selected with chance γ in each has the hazard pace × γ. So the
moment of its selection can be drawn at once: it is where pace × ∫γ reaches an exponential random number.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from joro.schedule.optimum import Array


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Nodes and weights of ∫ f(E) e^−E dE, for means over the exponential random number.

    Found when they are asked for: only this policy needs them, and the polynomials take 6 ms to load.
    """
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    return nodes, weights


def alpha(importance: ArrayLike, usual: float) -> Array:
    """α in [0, 1]: `usual` for importance 1, none for 0, and nearer to 1 the more important a page is."""
    return np.asarray(1 - (1 - usual) ** np.asarray(importance, dtype=np.float64))


def gamma(alpha: ArrayLike, change_per_s: ArrayLike, elapsed_s: ArrayLike) -> Array:
    """The chance that a page is selected, `elapsed_s` after its last visit."""
    share = np.asarray(alpha, dtype=np.float64)
    exponent = np.asarray(elapsed_s, dtype=np.float64) * np.asarray(change_per_s, dtype=np.float64)
    return np.asarray(share - (1 - share) * np.expm1(-exponent))


def interval_s(alpha: ArrayLike, change_per_s: ArrayLike, pace_per_s: float, draws: ArrayLike) -> Array:
    """Seconds until each page is selected."""
    exponential = -np.log1p(-np.asarray(draws, dtype=np.float64))
    share, change = _pairs(alpha, change_per_s)
    return _reached(share, change, exponential / pace_per_s)


def visits_per_s(
    alpha: ArrayLike,
    change_per_s: ArrayLike,
    pace_per_s: float,
    *,
    shortest_s: float = 0.0,
    longest_s: float = math.inf,
) -> Array:
    """How often each page is selected in the long run: one over the mean of `interval_s`.

    Where each wait is cut to what is allowed, so it is here, and not their mean: that would be rarer.
    """
    share, change = (each.reshape(-1, 1) for each in _pairs(alpha, change_per_s))
    nodes, weights = _nodes()
    waits = np.clip(_reached(share, change, nodes / pace_per_s), shortest_s, longest_s)
    return np.asarray(1 / (waits @ weights))


def _pairs(one: ArrayLike, other: ArrayLike) -> tuple[Array, Array]:
    columns = (np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in (one, other))
    first, second = np.broadcast_arrays(*columns)
    return first, second


def _reached(share: Array, change: Array, goal_s: Array) -> Array:
    """The s with ∫₀ˢ γ = goal. The integral is convex: Newton's steps from above stay above and end there."""
    rate = np.maximum(change, 1e-300)
    moment = goal_s + (1 - share) / rate
    with np.errstate(divide="ignore", over="ignore"):
        moment = np.minimum(moment, goal_s / share) if np.all(share > 0) else moment
    for _ in range(30):
        passed = moment + (1 - share) * np.expm1(-rate * moment) / rate
        step = (passed - goal_s) / np.maximum(gamma(share, rate, moment), 1e-300)
        moment = np.maximum(moment - step, goal_s)
        if np.all(step <= 1e-9 * moment):
            break
    return moment
