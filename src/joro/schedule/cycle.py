"""Which servers are refreshed whole, once a month?

In:    servers with how many of their pages are in which language; when each was last gone through.
Out:   those with a page in a chosen language, and when each is due.
Never: lets all servers be due on the first of the month: each has a moment of its own, always the same.
Paper: S2, the refresh set: servers that hold at least one Japanese page, on a monthly cycle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joro.url import fingerprint

Floats = NDArray[np.float64]

DAY_S = 86_400
CYCLE_S = 30 * DAY_S


def refresh_set(
    servers: Iterable[tuple[str, Mapping[str, int]]], languages: Collection[str]
) -> Iterator[str]:
    """The servers that hold a page in one of the languages; `zh` also means `zh-Hant`."""
    return (server for server, pages in servers if holds_any(pages, languages))


def holds_any(pages: Mapping[str, int], languages: Collection[str]) -> bool:
    """Is one of the pages, counted by language, in one of these?"""
    chosen = {language.lower() for language in languages}
    return any(count > 0 and _is_chosen(language.lower(), chosen) for language, count in pages.items())


def _is_chosen(language: str, chosen: Collection[str]) -> bool:
    return language in chosen or language.partition("-")[0] in chosen


def round_of(server: str, moment: float, cycle_s: int = CYCLE_S) -> int:
    """The number of the cycle in which the moment lies, for this server."""
    return math.floor((moment - _phase_s(server, cycle_s)) / cycle_s)


def due_at(server: str, gone_through_at: float, cycle_s: int = CYCLE_S) -> int:
    """When a server that was gone through then is due again: with its next cycle, not a month later.

    So a server that was late once is not late ever after.
    """
    return (round_of(server, gone_through_at, cycle_s) + 1) * cycle_s + _phase_s(server, cycle_s)


def dues_at(servers: NDArray[np.uint64], gone_through_at: ArrayLike, cycle_s: int = CYCLE_S) -> Floats:
    """The same of columns, servers by their fingerprints."""
    phase = (servers % np.uint64(cycle_s)).astype(np.float64)
    rounds = np.floor((np.asarray(gone_through_at, np.float64) - phase) / cycle_s)
    due: Floats = (rounds + 1.0) * cycle_s + phase
    return due


def _phase_s(server: str, cycle_s: int) -> int:
    """Whole seconds: with fractions, a cycle might end before the next one begins."""
    return fingerprint(server) % cycle_s
