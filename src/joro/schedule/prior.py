"""What may be expected of a page that was hardly watched yet?

In:    the histories of a sample of pages, and of each server what its pages say together.
Out:   a distribution of change rates for each page: that of its server as far as it is known, else that of
       all.
Never: is told the truth, or a distribution somebody measured elsewhere: it is learned from the crawl itself.
Paper: S0-02, few observations. Empirical Bayes with two levels: all pages, and the pages of one server.

Of a server two numbers are kept: how much its pages have said (`weight`), and what (`total`, weighted log
rates). A page's part in them is worked out from its history alone, so it can be taken out exactly as it was
put in, and a page is never its own witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from joro.model import DAY_S
from joro.schedule.change import LOG_RATES, Grid, Histories, likelihood

#: The name under which a robot keeps its prior.
KEPT_AS = "prior"

Said = NDArray[np.float64]  # pages or servers × (weight, total)

#: Log rates are told from here, once in twenty days: sums stay small.
CENTRE = float(np.log(0.05 / DAY_S))
PLACES = LOG_RATES - CENTRE
#: Spread of log rates assumed before anything was seen: a factor of twelve either way.
BROAD_SPREAD = 2.5
#: Variance of log rates inside a server that a page's witness is weighed by. It need not be right: the
#: variance that pages are judged by is learned.
USUAL_WITHIN = 1.5
#: A page may always be unlike its server.
STRANGER = 0.05
#: What is assumed before anything was seen counts for so many pages.
BELIEF_PAGES = 5.0
#: Nobody's usual log rate is further than this from those we know: all chances would round to nothing.
_BEYOND = 3.0


def _bell(mean: Said | float, variance: Said | float) -> NDArray[np.float64]:
    height = np.exp(-0.5 * (PLACES - mean) ** 2 / variance)
    return np.asarray(height / height.sum(axis=-1, keepdims=True))


_BROAD = _bell(0.0, BROAD_SPREAD**2)
_BROAD_PLACE = float(_BROAD @ PLACES)
_BROAD_VARIANCE = float(_BROAD @ PLACES**2) - _BROAD_PLACE**2
_BROAD_WITHIN = 0.6 * _BROAD_VARIANCE


#: What the sums of a page's chances, places and squares of places are made of.
_MOMENTS = (_BROAD.reshape(-1, 1) * np.stack([PLACES**0, PLACES, PLACES**2], axis=1)).astype(np.float32)
_PLACES32 = PLACES.astype(np.float32)


def said(histories: Histories) -> Said:
    """What each page says about the usual change rate of its server: (weight, weight × log rate).

    A page counts by how sure it is, and no page for more than one. The date of a first visit counts for its
    page alone: where a site is made anew every night, ten thousand pages have the same one.
    """
    total, place, square = (likelihood(histories) @ _MOMENTS).astype(np.float64).T
    place /= total
    variance = np.maximum(square / total - place**2, 0.02)
    sure = np.maximum(1 / variance - 1 / _BROAD_VARIANCE, 1e-6)
    own = np.clip((place / variance - _BROAD_PLACE / _BROAD_VARIANCE) / sure, PLACES[0] - 3, PLACES[-1] + 3)
    is_heard = (histories["visits"] > 0) & histories["unlikely"].any(axis=1)
    weight = np.where(is_heard, 1 / (USUAL_WITHIN + 1 / sure), 0.0)
    return np.stack([weight, weight * own], axis=1)


@dataclass(frozen=True)
class Prior:
    """What is expected of pages of any server."""

    weights: NDArray[np.float64]  # of each rate, adding up to 1
    within: float  # variance of log rates inside a server

    @cached_property
    def mean(self) -> float:
        return float(self.weights @ PLACES)

    @cached_property
    def variance(self) -> float:
        return float(self.weights @ PLACES**2) - self.mean**2

    @cached_property
    def between(self) -> float:
        """Variance of the usual log rates of servers."""
        return max(self.variance - self.within, 0.05 * self.variance)

    def expected(self, others: Said) -> Grid:
        """The chance of each rate, for pages whose servers' other pages have said this; never none at all."""
        usual, doubt = self._usual(others)
        near = _PLACES32 - usual.astype(np.float32).reshape(-1, 1)
        near *= near
        near *= (-0.5 / (self.within + doubt)).astype(np.float32).reshape(-1, 1)
        np.exp(near, out=near)
        unknown = np.maximum(STRANGER, doubt / self.between).astype(np.float32)
        near *= ((1 - unknown) / near.sum(axis=1)).reshape(-1, 1)
        near += unknown.reshape(-1, 1) * self.weights.astype(np.float32)
        return near

    def learned(self, histories: Histories, others: Said, rounds: int = 3) -> Prior:
        """The prior after a look at a sample of pages, each with what the other pages of its server say."""
        watched = histories["visits"] > 0
        evidence, others = likelihood(histories[watched]).astype(np.float64), others[watched]
        if not len(evidence):
            return self
        weights = self.weights
        for _ in range(rounds):
            chances = evidence * weights
            chances /= chances.sum(axis=1, keepdims=True)
            weights = (chances.sum(axis=0) + BELIEF_PAGES * _BROAD) / (len(evidence) + BELIEF_PAGES)
        weights = np.maximum(weights, 1e-6)
        after = Prior(weights / weights.sum(), self.within)
        return Prior(after.weights, after._within_seen(evidence, others))

    def _usual(self, others: Said) -> tuple[Said, Said]:
        """The usual log rate of each server, and the variance of our idea of it."""
        doubt = 1 / (others[:, 0] + 1 / self.between)
        usual = doubt * (others[:, 1] + self.mean / self.between)
        return np.clip(usual, PLACES[0] - _BEYOND, PLACES[-1] + _BEYOND), doubt

    def _within_seen(self, evidence: NDArray[np.float64], others: Said) -> float:
        """How far pages are from what their servers let expect, less our doubt about the servers."""
        usual, doubt = self._usual(others)
        chances = evidence * self.expected(others)
        chances /= chances.sum(axis=1, keepdims=True)
        far = chances @ PLACES**2 - 2 * usual * (chances @ PLACES) + usual**2
        seen = (float((far - doubt).sum()) + BELIEF_PAGES * _BROAD_WITHIN) / (len(evidence) + BELIEF_PAGES)
        return float(np.clip(seen, 0.05 * self.variance, 0.98 * self.variance))


def packed(known: Prior) -> bytes:
    """A prior in bytes, for whoever explains what the robot expected."""
    return np.append(known.weights, known.within).astype("<f8").tobytes()


def unpacked(stored: bytes) -> Prior:
    """The prior in such bytes."""
    numbers = np.frombuffer(stored, "<f8")
    return Prior(numbers[:-1], float(numbers[-1]))


#: Before anything was seen.
BROAD = Prior(_BROAD, _BROAD_WITHIN)
