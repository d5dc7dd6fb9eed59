"""Which servers are there, how often is each to be visited, and how long do its downloads take?

In:    recorded download times, or a seed number.
Out:   a population: of each server its access interval and its own finite log of download times.
Never: pretends to be the log of S0, which was not published: `fitted` makes one with the statistics printed.
Paper: S0 3.1.

How it was fitted: ten parameters against ten figures that S0 prints, so their agreement is no evidence for
anything. What the fit did not know is what becomes of the visits: which order loses less, from how many
sockets on nothing is lost, what it does that all servers start at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from joro.model import DAY_S
from joro.schedule.sockets import is_feasible, socket_shares

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Log = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

#: One node of S0's crawler, and the mean size of its pages.
SERVERS = 82_034
PAGE_BYTES = 22_000.0
#: S0 simulates with one second between two requests to a server.
MINIMUM_S = 1.0


@dataclass(frozen=True)
class Population:
    """Servers, a column each. The download times of server i are `log_s[first[i] : first[i] + length[i]]`."""

    interval_s: Floats  # I_i = 1 / L_i, before any minimum
    mean_s: Floats  # e_i
    longest_s: Floats
    first: Integers
    length: Integers
    log_s: Log  # used over and over, so that "longest" has a meaning
    page_bytes: float = PAGE_BYTES
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.interval_s)

    def feasible(self, minimum_s: float = MINIMUM_S) -> Mask:
        """Which servers could keep their schedule, had each a socket of its own?"""
        return is_feasible(self.longest_s, self.interval_s, minimum_s)

    @property
    def need(self) -> float:
        """Σ min(e_i / I_i, 1): sockets needed, before rounding up."""
        return float(socket_shares(self.mean_s, self.interval_s).sum())

    def need_with(self, minimum_s: float) -> float:
        """The same, where nobody is asked more often than that: I_i = max(1 / L_i, I_min)."""
        return float(socket_shares(self.mean_s, np.maximum(self.interval_s, minimum_s)).sum())

    @property
    def visits_per_day(self) -> float:
        """Visits asked for."""
        return float((DAY_S / self.interval_s).sum())

    def select(self, chosen: Mask) -> Population:
        """The chosen servers; the log is shared."""
        return replace(
            self,
            interval_s=self.interval_s[chosen],
            mean_s=self.mean_s[chosen],
            longest_s=self.longest_s[chosen],
            first=self.first[chosen],
            length=self.length[chosen],
            names=tuple(np.array(self.names, dtype=object)[chosen]) if self.names else (),
        )

    def revisited(self, interval_s: Floats) -> Population:
        """The same servers with other access intervals."""
        return replace(self, interval_s=interval_s)


def population(
    interval_s: Floats,
    length: Integers,
    log_s: Log,
    *,
    page_bytes: float = PAGE_BYTES,
    names: tuple[str, ...] = (),
) -> Population:
    """A population out of logs that lie one after the other, none of them empty."""
    first = np.cumsum(length) - length
    mean_s = np.add.reduceat(log_s, first, dtype=np.float64) / length
    longest_s = np.maximum.reduceat(log_s, first).astype(np.float64)
    return Population(interval_s, mean_s, longest_s, first, length, log_s, page_bytes, names)


def fitted(seed: int = 1, servers: int = SERVERS) -> Population:
    """A population with the statistics S0 prints; fewer servers need fewer sockets, in proportion."""
    chance = np.random.default_rng(seed)
    interval_s = _intervals_s(servers)
    length = np.clip(28 * DAY_S / interval_s, 2, 1_842).astype(np.int64)
    return population(interval_s, length, _download_times_s(chance, interval_s, length))


def _intervals_s(servers: int) -> Floats:
    """Evenly spaced quantiles of a Weibull distribution cut at 100 days, with a power tail below a minute.

    Quantiles rather than chance: the few servers below ten seconds make most of the visits, and their number
    would otherwise differ from seed to seed by more than anything we want to see.
    """
    shape, scale_s, longest_s = 0.5402, 282_596.0, 100 * DAY_S
    cut = -np.expm1(-((longest_s / scale_s) ** shape))
    quantile = (np.arange(servers) + 0.5) / servers
    interval_s: Floats = scale_s * (-np.log1p(-quantile * cut)) ** (1 / shape)
    fast = int((interval_s < 60.0).sum())
    tail_shape, shortest_s = 0.766, 0.739
    low, high = shortest_s**tail_shape, 60.0**tail_shape
    interval_s[:fast] = (low + (np.arange(fast) + 0.5) / max(fast, 1) * (high - low)) ** (1 / tail_shape)
    return interval_s


def _download_times_s(chance: np.random.Generator, interval_s: Floats, length: Integers) -> Log:
    """Log-normal around a server's own typical time; a third of the servers now and then take very long."""
    servers, downloads = len(interval_s), int(length.sum())
    typical_s = 0.742 * (interval_s / DAY_S) ** 0.0614 * np.exp(0.622 * chance.standard_normal(servers))
    spread = 0.306 * np.exp(0.343 * chance.standard_normal(servers))
    is_flaky = chance.random(servers) < 0.331
    log_s = chance.standard_normal(downloads, dtype=np.float32)
    log_s *= np.repeat(spread.astype(np.float32), length)
    np.exp(log_s, out=log_s)
    log_s *= np.repeat(typical_s.astype(np.float32), length)
    slow = np.flatnonzero(np.repeat(is_flaky, length) & (chance.random(downloads, dtype=np.float32) < 0.003))
    log_s[slow] = 10.0 * 12.0 ** chance.random(len(slow))
    return np.minimum(log_s, np.float32(120.0))
