"""How fast does a page change, told from a few sums over its visits?

In:    how many visits found a change, and how long we had been away each time.
Out:   changes per unit of time.
Never: asks what was believed before: that is `change`, which keeps a distribution. These are its plain
       cousins, for pages by themselves, for reports, and to check it by.
Paper: S0-02. Cho and Garcia-Molina, Estimating Frequency of Change (TOIT 2003), for `regular` and
       `last_modified`.

Counting changes and dividing by the time is too low, by (1 − e^−r)/r with r changes between two visits: of
several changes we see one. A policy that trusts it visits less, sees less, and believes in ever less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joro.schedule.optimum import Array


def regular(visits: ArrayLike, changes: ArrayLike, interval: ArrayLike) -> Array:
    """From visits at one interval: −ln((n − X + ½)/(n + ½)) / I; the halves take the bias off."""
    n, x = np.asarray(visits, dtype=np.float64), np.asarray(changes, dtype=np.float64)
    return -np.log((n - x + 0.5) / (n + 0.5)) / np.asarray(interval, dtype=np.float64)


def closed_form(visits: ArrayLike, changes: ArrayLike, changed: ArrayLike, unchanged: ArrayLike) -> Array:
    """From three numbers a page: visits that found a change, and the time before these and before the others.

    Equals `regular` where the visits were regular. Low for fast pages visited very irregularly.
    """
    n, x = np.asarray(visits, dtype=np.float64), np.asarray(changes, dtype=np.float64)
    before, still = np.asarray(changed, dtype=np.float64), np.asarray(unchanged, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = 0.5 * (before + still) / n
        rate = np.log1p(before / (still + half)) * x / before
    return np.where(x > 0, rate, 0.0)


def irregular(changed: ArrayLike, unchanged: ArrayLike) -> float:
    """The likeliest rate, from the time away before every visit: Σ_changed t/(e^λt − 1) = Σ_unchanged t.

    Half a visit without a change is added, as in `regular`: a page that was always found changed would
    else change infinitely fast.
    """
    before = np.atleast_1d(np.asarray(changed, dtype=np.float64))
    away = np.atleast_1d(np.asarray(unchanged, dtype=np.float64))
    if not before.size:
        return 0.0
    still = float(away.sum() + 0.5 * np.concatenate([before, away]).mean())
    low, high = 1e-6 / float(before.max()), 1e3 / float(before.min())
    for _ in range(80):
        middle = float(np.sqrt(low * high))
        expected = float((before / np.expm1(np.minimum(middle * before, 700.0))).sum())
        low, high = (middle, high) if expected > still else (low, middle)
    return high


def last_modified(visits: ArrayLike, changes: ArrayLike, unchanged: ArrayLike) -> Array:
    """From visits that also told when the page last changed: ((X − 1) − X/(n ln(1 − X/n))) / T.

    T is the time the page is known to have stood still: before each visit the time since the last change, or
    since the visit before when there was none.
    """
    n, x = np.asarray(visits, dtype=np.float64), np.asarray(changes, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (x - 1 - x / (n * np.log1p(-x / n))) / np.asarray(unchanged, dtype=np.float64)
    return np.where(x > 0, np.where(x >= n, (x - 1) / np.asarray(unchanged, dtype=np.float64), rate), 0.0)
