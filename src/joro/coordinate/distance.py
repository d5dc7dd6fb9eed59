"""How far is each server from each robot, and what does it cost to collect it?

In:    distances d = t/w in milliseconds per KB, as far as they were measured, a row for each robot; the pages
       they were measured with, 50 of every server in S1; how much each server has.
Out:   all distances, and how sure they are; costs w·d in milliseconds.
Never: takes what was not measured for near: it is guessed from the row and the column, or infinitely far.
Paper: S1 5.2.1 step 3, equations (4) and (5); 5.1.2 (`#MaxTransfer=50`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from joro.coordinate.assign import Floats

#: Milliseconds per KB of two pages of one server differ by about so much (the standard deviation of their
#: logarithm): small pages cost as much time as larger ones do.
PAGE_SPREAD = 1.0
#: A guess is taken to be off by so much, as long as fewer measurements than `GUESSES` can be compared with
#: guesses: the most by which a robot of S1 differs (0.2 to 0.76, as `cooperate_world` fits them). However few
#: they are off by, a robot may stand anywhere: so much remains. Nobody has measured any of the three.
GUESS_SPREAD = 0.7
GUESSES = 20
LEAST_SPREAD = 0.3
#: Bytes that distances and sizes are told in.
KB = 1_024.0


def guessed(distances: Floats) -> Floats:
    """The same, with a guess for every nan: a robot's usual distance × how far the server is from the others.

    A robot or a server of which nothing is known counts as a usual one. Where nobody knows any, all are 1.
    """
    logs = np.log(np.where(distances > 0.0, distances, np.nan))
    if np.isnan(logs).all():
        return np.ones_like(distances)
    rows = _medians(logs, axis=1, default=float(np.nanmedian(logs)))
    columns = _medians(logs - rows[:, None], axis=0, default=0.0)
    guess = np.exp(rows[:, None] + columns[None, :])
    return np.where(np.isnan(distances), guess, distances)


def _medians(logs: Floats, axis: int, default: float) -> Floats:
    """The medians of what is known, without a warning where nothing is."""
    known = ~np.isnan(logs).all(axis=axis)
    medians = np.full(known.shape, default)
    medians[known] = np.nanmedian(np.compress(known, logs, axis=1 - axis), axis=axis)
    return medians


def costs_ms(distances: Floats, sizes_kb: Floats) -> Floats:
    """C_ij = w_ij · d(R_i, s_ij), equation (5)."""
    return distances * sizes_kb[None, :]


def between_robots(distances: Floats, near: float = 0.01) -> Floats:
    """How far robots are from each other, judged by the servers near both.

    Whatever is near A and near B shows a short way between them: d(A,s) + d(s,B) is never below it. The
    first hundredth of all servers is taken rather than the nearest, which might be one wrong measurement.
    """
    robots = len(distances)
    between = np.zeros((robots, robots))
    for one in range(robots):
        for other in range(one):
            way = np.quantile(distances[one] + distances[other], near)
            between[one, other] = between[other, one] = way
    return between


def doubts(distances: Floats, pages: Floats) -> Floats:
    """How far off each distance may be: the standard error of its logarithm, for guesses too.

    What was measured is the surer the more pages it was measured with. A guess is as good as others are: as
    guesses of what was measured by several robots would be.
    """
    known = distances > 0.0  # nowhere where it is nan
    errors = PAGE_SPREAD / np.sqrt(np.maximum(pages, 1.0))
    return np.where(known, errors, _guess_spread(distances, known))


def _guess_spread(distances: Floats, known: npt.NDArray[np.bool_]) -> float:
    shared = known & (known.sum(axis=0) > 1)
    if shared.sum() < GUESSES:
        return GUESS_SPREAD
    logs = np.log(np.where(shared, distances, np.nan))
    logs -= _medians(logs, axis=1, default=0.0)[:, None]
    columns = shared.any(axis=0)
    own = np.nanmean(logs[:, columns], axis=0)
    several = np.broadcast_to(shared.sum(axis=0)[columns], shared[:, columns].shape)
    off = (logs[:, columns] - own) ** 2 * several / (several - 1.0)
    return max(float(np.sqrt(np.nanmean(off))), LEAST_SPREAD)
