"""Which servers are refreshed whole, once a month?

In:    servers with how many of their pages are in which language; when each was last gone through.
Out:   those with a page in a chosen language, and when each is due.
Never: lets all servers be due on the first of the month: each has a moment of its own, always the same.
Paper: S2, the refresh set: servers that hold at least one Japanese page, on a monthly cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DAY_S = 86_400
CYCLE_S = 30 * DAY_S


def holds_any(pages: Mapping[str, int], languages: Collection[str]) -> bool:
    """Is one of the pages, counted by language, in one of these?"""
    chosen = {language.lower() for language in languages}
    return any(count > 0 and _is_chosen(language.lower(), chosen) for language, count in pages.items())


def _is_chosen(language: str, chosen: Collection[str]) -> bool:
    return language in chosen or language.partition("-")[0] in chosen


def dues_at(servers: NDArray[np.uint64], gone_through_at: ArrayLike, cycle_s: int = CYCLE_S) -> Floats:
    """When servers, by their fingerprints, that were gone through then are due again: with their next cycle.

    Not a month later: so a server that was late once is not late ever after. Cycles begin at whole seconds:
    with fractions, one might end before the next begins.
    """
    phase = (servers % np.uint64(cycle_s)).astype(np.float64)
    rounds = np.floor((np.asarray(gone_through_at, np.float64) - phase) / cycle_s)
    due: Floats = (rounds + 1.0) * cycle_s + phase
    return due
