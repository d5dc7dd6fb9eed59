"""What did S1's 17 robots and 6,500 servers look like?

In:    a seed number.
Out:   sizes and distances with the statistics S1 prints, and what it printed.
Never: pretends to be S1's measurements, which were not published.
Paper: S1 6.1–6.4, tables 5 to 8.

How it was fitted. Sizes are log-normal by the printed median and total; that the top 1 % then hold 42 %
(S1: 43 %) is no doing of ours. Speeds are log-normal with a factor for the server and one for each pair.
Each robot's mean follows from table 8 (one thread), its spread from how often it is fastest (table 5). The
two far robots (PRS10, PRS16) are relatively slower at small servers, by two exponents fitted to how often
they are slowest and to the factor between fastest and slowest robot (S1: median 48.2, mean 67.5). The
servers' factor follows from 14.0 bytes/ms being the fastest fifth. What whole collections took, compared
with the probes, has two more: table 7's mean ratio of 0.80 and its mean error of 26 %. What robots then
need under which assignment is what the fit did not know.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from joro.coordinate.assign import Floats
from joro.coordinate.experiment import Experiment

ROBOTS = tuple(f"PRS{number:02d}" for number in range(1, 18))
SERVERS = 6_500
HOUR_MS = 3_600_000.0

#: Table 5: of how many servers each robot was the slowest, the fastest.
# fmt: off
SLOWEST = (3, 3, 7, 19, 1, 6, 0, 2, 4, 425, 3, 4, 5, 4, 2, 6_004, 8)
FASTEST = (94, 14, 191, 314, 225, 3_040, 152, 290, 200, 0, 76, 229, 336, 114, 1_101, 15, 40)
#: Table 6: servers of each robot when equalised.
SHARES = (397, 739, 417, 388, 390, 52, 392, 479, 433, 35, 375, 471, 466, 376, 393, 318, 379)
#: Table 7: hours at random and equalised, reckoned; equalised, measured.
RANDOM_H = (
    68.8, 71.1, 88.3, 61.5, 51.7, 33.8, 57.6, 50.8, 43.1, 335.5, 51.8, 63.9, 70.6, 66.4, 37.1, 1216.1, 61.0,
)
EQUALISED_H = (
    41.7, 107.9, 35.0, 55.1, 63.7, 146.2, 55.2, 80.7, 39.0, 32.8, 38.3, 39.3, 56.1, 61.7, 51.4, 107.9, 61.0,
)
MEASURED_H = (
    28.2, 104.5, 43.7, 29.6, 53.7, 96.7, 44.7, 71.1, 38.7, 11.0, 28.8, 46.2, 13.7, 40.8, 52.4, 109.5, 52.1,
)
#: Table 8: hours for all servers with one thread, and with 200.
ALONE_H = (
    1_008, 1_518, 1_201, 975, 987, 793, 1_066, 953, 1_033, 6_121, 1_158, 904, 1_025, 904, 691, 17_085, 1_663,
)
ALONE_200_H = (32, 55, 55, 32, 24, 23, 59, 27, 34, 244, 42, 26, 31, 26, 26, 544, 53)
#: Fitted: how differently a robot sees servers, as the deviation of the logarithm of its speed.
_SPREAD = np.array([
    0.244, 0.317, 0.381, 0.319, 0.296, 0.762, 0.304, 0.300, 0.311, 0.600, 0.299, 0.243, 0.359, 0.196, 0.205,
    0.500, 0.411,
])
# fmt: on
#: Fitted: by what power of its size a big server is relatively faster, for the two far robots.
_FAR = np.zeros(17)
_FAR[9], _FAR[15] = 0.06, 0.08
_SERVER_SPREAD = 0.65
#: PRS16 was fastest for 15 servers, all in networks it belongs to (S1 6.3).
_HOME, _HOME_SERVERS = 15, 15

MEDIAN_KB, TOTAL_KB, MEDIAN_URLS, TOTAL_URLS = 339.0, 22e6, 82.0, 4_653_140.0
#: How closely URLs follow sizes: a guess, S1 does not tell; nothing but figure 12 depends on it.
_URLS_LIKE_SIZES = 0.9
#: Fitted to table 7: what a collection takes by what its probe foretold, and how much that differs by server.
_COLLECTED_BY_PROBE, _COLLECTED_SPREAD = 0.80, 0.55


def world(seed: int, servers: int = SERVERS) -> Experiment:
    """Servers and distances; nobody owns anything yet. With fewer servers each robot has less to do."""
    chance = np.random.default_rng(seed)
    normal = _normal_quantiles(servers)
    sizes_kb = MEDIAN_KB * np.exp(_deviation(MEDIAN_KB, TOTAL_KB) * normal)
    mixed = _URLS_LIKE_SIZES * normal + np.sqrt(1 - _URLS_LIKE_SIZES**2) * chance.standard_normal(servers)
    urls = np.maximum(1, MEDIAN_URLS * np.exp(_deviation(MEDIAN_URLS, TOTAL_URLS) * mixed)).astype(np.int64)
    names = tuple(f"http://s{number:05d}.example" for number in range(servers))
    return Experiment(ROBOTS, names, sizes_kb, urls, _distances(chance, normal))


def collected_ms(one: Experiment, seed: int, collection: int = 0) -> Floats:
    """What each server would really take each robot, when its probe said `costs_ms`; by chance."""
    noise = np.random.default_rng([seed, 1, collection]).standard_normal(one.distances.shape)
    factor = _COLLECTED_BY_PROBE * np.exp(_COLLECTED_SPREAD * noise - _COLLECTED_SPREAD**2 / 2)
    spent_ms: Floats = one.costs_ms * factor
    return spent_ms


def _normal_quantiles(servers: int) -> Floats:
    """Evenly spaced, not drawn: the few largest hold so much that every seed would have another total."""
    normal = NormalDist()
    return np.array([normal.inv_cdf((place + 0.5) / servers) for place in range(servers)])


def _deviation(median: float, total: float) -> float:
    """Of the logarithm, when the distribution is log-normal."""
    return float(np.sqrt(2 * np.log(total / SERVERS / median)))


def _distances(chance: np.random.Generator, normal: Floats) -> Floats:
    """Milliseconds per KB, so that Σ size × distance is, but for chance, what table 8 prints."""
    width = _deviation(MEDIAN_KB, TOTAL_KB)
    typical = np.log(np.array(ALONE_H) * HOUR_MS / TOTAL_KB)
    typical -= (_SPREAD**2 + _SERVER_SPREAD**2 + (_FAR * width) ** 2) / 2  # the mean of a log-normal is above
    logs = typical[:, None] + _SPREAD[:, None] * chance.standard_normal((len(ROBOTS), len(normal)))
    logs += _SERVER_SPREAD * chance.standard_normal(len(normal))
    logs -= _FAR[:, None] * (width * normal - width**2)
    home = chance.choice(len(normal), min(_HOME_SERVERS, len(normal)), replace=False)
    logs[_HOME, home] = logs[:, home].min(axis=0) - 0.5
    return np.exp(logs)
