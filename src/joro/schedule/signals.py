"""What is it worth to be told that a page may have changed?

In:    of each visit: how many signals had come since the last one (a newer lastmod in a sitemap, an entry in
       a feed, a ping), and whether the page had in fact changed.
Out:   how far a server's signals can be trusted; how much waiting one signal replaces; what a visit brings
       after a wait without one.
Never: believes a server that cries wolf: signals that tell nothing weigh nothing, and scheduling goes on as
       if there were none.
Paper: F29 to F31. Noisy change-indicating signals, after Busa-Fekete et al. (WWW 2025); derived anew.

Of the changes of a page, at rate λ, a share κ (`recall`) is signalled, and false signals come at the rate
φλ. After t seconds and n signals the page is unchanged with the chance e^−(1−κ)λt (φ/(κ+φ))^n: each signal
is worth β more seconds of waiting. Visiting when t + βn reaches a threshold is optimal, and the threshold
has a price, as ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.schedule.change import RATES32, RATES_PER_S, Grid
from joro.schedule.optimum import Array, gain


class Quality(NamedTuple):
    """How good a server's signals are."""

    recall: float  # κ: share of changes that are signalled
    false: float  # φ: false signals per change


class Heard(NamedTuple):
    """What was said of pages before their visits, in columns."""

    quality: NDArray[np.intp]  # how good the signals of their servers are: places in `QUALITIES`
    number: Array  # of signals since the last visit
    every_s: Array  # at most one comes in so long, because sources are read no more often

    def of(self, some: NDArray[np.bool_]) -> Heard:
        """The same for some of the pages."""
        return Heard(self.quality[some], self.number[some], self.every_s[some])


#: The qualities told apart; a server is given the one that explains its visits best. The first is none at
#: all.
NONE = 0
QUALITIES = (
    Quality(0.0, 1.0),
    Quality(0.25, 0.25),
    Quality(0.5, 0.5),
    Quality(0.5, 0.1),
    Quality(0.75, 0.25),
    Quality(0.9, 0.5),
    Quality(0.9, 0.1),
    Quality(0.98, 0.02),
)
#: Signals count when the chance that they mean nothing is below this: no broken server may profit from luck.
#: Where half of the servers are broken, .01 cost 0, .02 and .08 points in three worlds, .001 nothing in any,
#: and good signals bring no less.
DOUBT = 0.001
#: That every second server's mean nothing is assumed first, and counts for so many servers.
BELIEF_SERVERS = 10.0
#: And once pages have said so much of their changes (`prior.said`), each of them or, at a large server, so
#: many together. Who goes where signals call before any rate is known sees fast pages only, takes all pages
#: for fast, and never comes to the others: 150 pages were fresh for 14 % of a hundred days, where it was 46 %
#: without signals. With .05 that happened in one world of twelve, with .3 signals help a month later.
SAID_EACH, SAID_BY = 0.2, 200.0
#: Of a server whose signals no visit has tried yet; of others about the last two hundred visits count.
UNJUDGED = (0.0,) * len(QUALITIES)
MEMORY = 1.0 - 1.0 / 200.0
#: Terms of the sums over signals; the next would add less than one in a thousand for every quality above.
_TERMS = 60
#: More signals between two visits say no more.
_MOST_SIGNALS = 50.0
#: Who is told at once is told within a second.
_LEAST_APART_S = 1.0


def signal_worth_s(change_per_s: ArrayLike, quality: NDArray[np.integer] | int) -> Array:
    """β: how much sooner one signal makes the next visit."""
    recall, false = _columns(quality)
    rate = np.maximum(np.asarray(change_per_s, dtype=np.float64), 1e-300)
    return np.asarray(np.log1p(recall / false) / ((1 - recall) * rate))


def threshold_value(
    change: ArrayLike, recall: float, false_rate: ArrayLike, threshold: ArrayLike
) -> tuple[Array, Array, Array]:
    """Of visits at a threshold ι: time fresh between two visits, time between them, and what one brings.

    ψ = Σ P(i+1, γ(ι−iβ))/γ,  wf = Σ ν^i/(α+γ)^(i+1) P(i+1, (α+γ)(ι−iβ)),  V = wf − e^−αι ψ,
    with α = (1−κ)λ, γ = κλ + ν, β = ln(γ/ν)/α, ν the rate of false signals, P the incomplete gamma function.
    """
    rate, nu, iota = np.broadcast_arrays(
        *(np.asarray(each, float) for each in (change, false_rate, threshold))
    )
    if recall == 0:  # signals tell nothing: one visit every ι
        return -np.expm1(-rate * iota) / rate, iota.copy(), gain(rate * iota) / rate
    silent, signals = (1 - recall) * rate, recall * rate + nu
    worth_s = np.log(signals / nu) / silent if recall < 1 else np.full_like(rate, np.inf)
    fresh, between = np.zeros_like(iota), np.zeros_like(iota)
    for i in range(_TERMS):
        left = iota - (i * worth_s if i else 0.0)
        if not np.any(left > 0):
            break
        left = np.maximum(left, 0)
        between += _passed(i, signals * left) / signals
        fresh += (nu / (silent + signals)) ** i / (silent + signals) * _passed(i, (silent + signals) * left)
    return fresh, between, fresh - np.exp(-silent * iota) * between


def worth(change_per_s: Array, quality: Quality, waits_s: Array) -> Array:
    """What a visit brings, for each rate (rows) and each wait without a signal (columns)."""
    value = threshold_value(change_per_s, quality.recall, quality.false * change_per_s, waits_s)[2]
    return np.asarray(np.maximum.accumulate(np.maximum(value, 0.0), axis=-1))


def seen_with_signals(
    elapsed_s: ArrayLike,
    changed: ArrayLike,
    signals: ArrayLike,
    quality: NDArray[np.integer] | int,
    believed_per_s: ArrayLike,
    every_s: ArrayLike = 0.0,
) -> Grid:
    """Log likelihood of every change rate, when `signals` had come and the page was found changed or not.

    Whoever comes when a change is announced always finds one: to count that as `change.seen` does makes
    pages 40 to 90 times as fast as they are. The moment of the signal counts, and the silence before:
    at recall κ, with false signals at the rate ν, heard in n of the stretches of r seconds between readings,

        unchanged  e^−λt      changed  (1−e^−(κλ+ν)r)^n e^−κλ(t−nr) − (1−e^−νr)^n e^−λt

    ν is φ times the rate that is believed, not λ: else each false signal would speak for a fast page, and
    one that changes every month, with a false signal in five days, would seem to change every fourth day.
    """
    recall, false = (column.reshape(-1, 1) for column in _columns(np.asarray(quality)))
    away = np.asarray(elapsed_s, dtype=np.float64).reshape(-1, 1)
    count = np.minimum(np.asarray(signals, dtype=np.float64), _MOST_SIGNALS).reshape(-1, 1)
    noise = false * np.asarray(believed_per_s, dtype=np.float64).reshape(-1, 1)
    apart = np.maximum(np.asarray(every_s, dtype=np.float64).reshape(-1, 1), _LEAST_APART_S)
    apart = np.minimum(apart, away / np.maximum(count, 1.0))
    told = recall * RATES_PER_S
    any_way = count * _log_rest(-(told + noise) * apart) - told * (away - count * apart)
    in_vain = count * _log_rest(-noise * apart) - RATES_PER_S * away
    found = any_way + _log_rest(np.minimum(in_vain - any_way, 0.0))
    was_changed = np.asarray(changed, dtype=bool).reshape(-1, 1)
    return np.asarray(np.where(was_changed, found, -RATES_PER_S * away), dtype=np.float32)


def scores(elapsed_s: ArrayLike, changed: ArrayLike, signals: ArrayLike, chances: Grid) -> Array:
    """How well each quality foretold what a visit found: log chances, visits × qualities, to be added up.

    Only the finding is judged, not how many signals came: noise may have any rate.
    """
    time = np.asarray(elapsed_s, dtype=np.float32).reshape(-1, 1) * RATES32
    count = np.minimum(np.asarray(signals, dtype=np.float64), _MOST_SIGNALS)
    was = np.asarray(changed, dtype=bool)
    columns = []
    for recall, false in QUALITIES:
        kept = (chances * np.exp(-(1 - recall) * time)).sum(axis=1) * (false / (recall + false)) ** count
        columns.append(np.log(np.clip(np.where(was, 1 - kept, kept), 1e-6, 1)))
    return np.stack(columns, axis=1)


def remembered(score: tuple[float, ...], found: Array) -> tuple[float, ...]:
    """The added scores of a server after one visit more: it may mend its ways, or take to lying."""
    return tuple((MEMORY * np.array(score or UNJUDGED) + found).tolist())


def best_quality(score: Array) -> NDArray[np.intp]:
    """The quality of each server's signals (rows of added scores); none, unless it is clearly another.

    How common each quality is, is learned from all servers: where most keep their word, one more is believed.
    """
    before = np.full(len(QUALITIES), 0.5 / (len(QUALITIES) - 1))
    before[NONE] = 0.5
    common = before
    for _ in range(10):
        chance = score + np.log(common)
        chance = np.exp(chance - chance.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        common = (chance.sum(axis=0) + BELIEF_SERVERS * before) / (len(chance) + BELIEF_SERVERS)
    chance_but_none = np.where(np.arange(len(QUALITIES)) == NONE, 0.0, chance)
    return np.where(chance[:, NONE] < DOUBT, np.argmax(chance_but_none, axis=1), NONE)


def are_heeded(said: ArrayLike, pages: ArrayLike) -> NDArray[np.bool_]:
    """Is enough known of the pages of servers, that signals cannot mislead us about the others?"""
    return np.asarray(said) >= SAID_EACH * np.minimum(pages, SAID_BY)


def _columns(quality: NDArray[np.integer] | int) -> tuple[Array, Array]:
    """Recall and false signals per change, of each."""
    recall, false = (np.array(column)[quality] for column in zip(*QUALITIES, strict=True))
    return recall, false


def _passed(i: int, x: Array) -> Array:
    """P(i+1, x) = 1 − e^−x Σ_{j≤i} x^j/j!: the chance of more than i events where x are expected."""
    term, total = np.exp(-x), np.exp(-x)
    for j in range(1, i + 1):
        term = term * x / j
        total = total + term
    return np.asarray(np.clip(1 - total, 0.0, 1.0))


def _log_rest(log_chance: Array) -> Array:
    """log(1 − e^x) for x < 0."""
    return np.asarray(np.log(np.maximum(-np.expm1(log_chance), 1e-30)))
