"""What do we know about how fast a page changes?

In:    the page's history so far, and what a visit found: changed or not after so many seconds, perhaps with
       the date the server gives for the last change.
Out:   the history after the visit (36 bytes), the distribution of the page's change rate, one estimate of it.
Never: learns from a failure. A timeout, a redirect or a page shut by robots.txt says nothing about change.
Paper: S0-02, with irregular visits and few of them; S4-05: what counts as a change is the main text.

A history holds the likelihood of 24 change rates, not their probability: the prior (`prior`) may be learned
and change while the page waits, and is multiplied in when the page is asked about. Histories are a NumPy
record array; the robot keeps one as bytes in the record of the page, the simulator has columns of a million.
Both run this code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.model import DAY_S

Grid = NDArray[np.float32]  # pages × rates
Histories = np.ndarray[Any, np.dtype[np.void]]

#: The change rates told apart: from once in 27 years to a hundred times a day, 1.82 times apart.
BINS = 24
RATES_PER_S = np.geomspace(1e-4, 100.0, BINS) / DAY_S
LOG_RATES = np.log(RATES_PER_S)
RATES32 = RATES_PER_S.astype(np.float32)
_LOG_RATES32 = LOG_RATES.astype(np.float32)

#: How much of what is known about a page is forgotten each day: real pages change in bursts, then rest. On
#: recorded histories (one half of them) .001 and .003 are equally good, 0 and .01 are worse; where pages
#: keep their rates, .001 costs half as much as .003.
DRIFT_PER_S = 0.001 / DAY_S
#: Between two visits at most so much time counts, in full only where so many visits have been made: else slow
#: pages, twenty visits to which take two years, are known to 25 % instead of 19.4 %. Whoever was away for so
#: many of a page's changes, as far as they are known, forgets by all the time beyond them.
FADES_S, FADES_AFTER, LOST_AFTER = 2 * DAY_S, 20, 2.5

#: Resolution of a stored log likelihood; 255 steps make e^-16, and what is less likely is as good as
#: impossible.
STEP = 1 / 16

HISTORY = np.dtype(
    [
        ("visits", "<u2"),  # that said something about change, the first one not counted
        ("changes", "<u2"),  # of these, visits that found one
        ("changed_s", "<f4"),  # time away before visits that found a change
        ("told", "<f4"),  # below 0: how well its server tells of changes; see `telling`
        ("unlikely", "u1", (BINS,)),  # −log likelihood of each rate, in steps, the likeliest at 0
    ]
)


def blank(pages: int = 1) -> Histories:
    """Histories of pages visited once: nothing is known about their change."""
    return np.zeros(pages, HISTORY)


def unpack(stored: Sequence[bytes]) -> Histories:
    """Histories from the bytes kept with each page; empty ones are blank."""
    empty = bytes(HISTORY.itemsize)
    return np.frombuffer(b"".join(each or empty for each in stored), HISTORY)


def pack(histories: Histories) -> list[bytes]:
    """The bytes to keep with each page."""
    return [each.tobytes() for each in histories]


def seen(elapsed_s: ArrayLike, changed: ArrayLike) -> Grid:
    """Log likelihood of every rate when a page was found changed or unchanged after `elapsed_s`."""
    found = -_exponents(elapsed_s)
    was_changed = np.broadcast_to(np.asarray(changed, dtype=bool), len(found))
    found[was_changed] = np.log(np.maximum(-np.expm1(found[was_changed]), np.float32(1e-30)))
    return found


def dated(elapsed_s: ArrayLike, changed: ArrayLike, age_s: ArrayLike, trust: ArrayLike) -> Grid:
    """The same when a changed page also carries the date of its last change, `age_s` before the visit.

    A date that can be trusted gives the stretch in which nothing changed. One that cannot may lie anywhere in
    the time we were away.
    """
    exponent, age = _exponents(elapsed_s), _exponents(np.minimum(age_s, elapsed_s))
    share = np.asarray(trust, dtype=np.float32).reshape(-1, 1)
    told = share * exponent * np.exp(-age) + (1 - share) * -np.expm1(-exponent)
    return np.where(_column(changed), np.log(np.maximum(told, 1e-30)), -exponent)


def stood(age_s: ArrayLike, trust: ArrayLike) -> Grid:
    """Log likelihood of every rate when a page seen for the first time says that it changed `age_s` ago.

    By a date that can be trusted, rates are as likely as λ e^−λa. One that cannot may be any, whatever the
    rate: it is held to explain itself as well as the best of them. So half a trust makes no rate more than
    twice as likely as another.
    """
    age, share = _exponents(age_s), np.asarray(trust, dtype=np.float32).reshape(-1, 1)
    found: Grid = np.log(np.maximum(share * age * np.exp(1 - age) + (1 - share), np.float32(1e-30)))
    return found


def begun(age_s: ArrayLike, trust: ArrayLike) -> Histories:
    """Histories of pages visited once, of which nothing is known but that date."""
    found = stood(age_s, trust)
    histories = blank(len(found))
    histories["unlikely"] = _steps(found, histories["visits"])
    return histories


def is_watched(stored: bytes) -> bool:
    """Do the bytes of a history tell of two visits that were compared? A date alone may have begun it."""
    return stored[:2] > b"\0\0"


def visits_in(stored: bytes) -> int:
    """How many visits that were compared the bytes of a history tell of."""
    return int.from_bytes(stored[:2], "little")


def observe(
    histories: Histories,
    log_likelihood: Grid,
    expected: Grid,
    elapsed_s: ArrayLike,
    changed: ArrayLike,
    drift_per_s: float = DRIFT_PER_S,
) -> Histories:
    """The histories after one visit to each page; `expected` are the chances of a page nobody has watched."""
    elapsed = np.asarray(elapsed_s, dtype=np.float32)
    was_changed = np.asarray(changed, dtype=bool)
    after = histories.copy()
    after["visits"] += after["visits"] < 65535
    after["changes"] += was_changed & (after["changes"] < 65535)
    after["changed_s"] += np.where(was_changed, elapsed, 0)
    known = _forgotten(likelihood(histories), expected, elapsed, histories["visits"], drift_per_s)
    after["unlikely"] = _steps(np.log(known) + log_likelihood, after["visits"])
    return after


def telling(histories: Histories) -> NDArray[np.intp]:
    """How well servers tell of the changes of these pages: places in `signals.QUALITIES`, mostly 0, none.

    It is written with the history, so that whoever prices a page from its date alone knows it. There older
    collections have the time of visits that found no change, which is never below 0.
    """
    return np.asarray(np.maximum(-histories["told"], 0.0), np.intp)


def likelihood(histories: Histories) -> Grid:
    """Of every rate, the likeliest at 1."""
    found: Grid = _LIKELIHOOD.take(histories["unlikely"])  # a third of what an index takes
    return found


def posterior(histories: Histories, expected: Grid) -> Grid:
    """The probability of every rate, given what was expected of the page; rows add up to 1."""
    chance = likelihood(histories) * np.asarray(expected, np.float32)
    chance /= chance.sum(axis=1, keepdims=True)
    return chance


def rate_per_s(chances: Grid) -> NDArray[np.float64]:
    """One change rate for each row of probabilities: a mean between the geometric and the harmonic one.

    What is believed of a page reaches further up than down. Of many pages, the geometric mean errs as often
    upwards as downwards, but upwards by more: estimates are 4.3 to 5.5 % too high on average (twelve seeds).
    The harmonic one is right on average, and too low for most. A quarter of the way, both are within 4 %.
    """
    return np.asarray((chances @ RATES_PER_S**_MEAN) ** (1 / _MEAN))


#: The exponent of that mean: 0 is the geometric one, −1 the harmonic.
_MEAN = -0.25
#: Likelihood by stored step.
_LIKELIHOOD = np.exp(-np.arange(256) * STEP).astype(np.float32)
_TURNS = (np.arange(BINS) * 0.7548776662 % 1.0).astype(np.float32)


def _exponents(elapsed_s: ArrayLike) -> Grid:
    return np.asarray(elapsed_s, dtype=np.float32).reshape(-1, 1) * RATES32


def _column(flags: ArrayLike) -> NDArray[np.bool_]:
    return np.asarray(flags, dtype=bool).reshape(-1, 1)


def _forgotten(
    known: Grid,
    expected: Grid,
    elapsed_s: NDArray[np.float32],
    visits: NDArray[np.uint16],
    drift_per_s: float,
) -> Grid:
    """Likelihoods after a while in which the page may have become another one, as the prior has it."""
    if drift_per_s == 0.0:
        return known
    weights = np.broadcast_to(np.asarray(expected, np.float32), known.shape)
    chance = known * weights
    total = chance.sum(axis=1)
    usual = total / weights.sum(axis=1)
    change_s = np.exp(-(chance @ _LOG_RATES32) / total)
    faded_s = np.minimum(elapsed_s, np.float32(FADES_S)) * np.minimum(visits / np.float32(FADES_AFTER), 1)
    kept = np.exp(np.float32(-drift_per_s) * np.maximum(faded_s, elapsed_s - LOST_AFTER * change_s))
    known *= (kept / usual).reshape(-1, 1)
    known += (1 - kept).reshape(-1, 1)
    return known


def _steps(log_likelihood: Grid, visits: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Stored steps, rounded up or down in turn by a sequence of the visits.

    Rounded to the nearest, a visit that says little would say nothing, however often it was repeated: of a
    page visited every day we would never learn that it changes once a year.
    """
    steps = log_likelihood.max(axis=1, keepdims=True) - log_likelihood
    steps *= np.float32(1 / STEP)
    turn = (visits * 0.6180339887 % 1.0).astype(np.float32).reshape(-1, 1) + _TURNS
    steps += turn - (turn >= 1)
    stored: NDArray[np.uint8] = np.minimum(steps, np.float32(255)).astype(np.uint8)
    return stored
