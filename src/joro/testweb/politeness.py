"""Was the visitor polite?

In:    rows of the access log.
Out:   per server and per address: the most requests at once, the smallest pause; every breach of the rule.
Never: believes what the visitor says about itself: only what the server saw counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joro.testweb.log import Rows

#: Pauses are judged with this much grace: the moment a request is read is not the moment it left.
GRACE_S = 0.005
LISTED = 1_000


@dataclass
class Report:
    """What the server saw."""

    requests: int = 0
    servers: int = 0
    most_concurrent: int = 0
    most_concurrent_address: int = 0
    most_connections: int = 0
    smallest_pause_s: float | None = None
    concurrent: int = 0  # requests that began while another was in progress on their server
    too_early: int = 0  # requests that came before the pause was over
    disallowed: int = 0
    violations: list[dict[str, Any]] = field(default_factory=list)  # the first thousand


def pauses_s(rows: Rows, column: str = "host") -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds from the end of the one before on the same server (or address) to each start.

    `rows` are in order of start. The first has an infinite pause, one that overlaps a negative one.
    """
    pauses = np.full(len(rows), np.inf)
    order = np.argsort(rows[column], kind="stable")
    ordered = rows[order]
    latest = np.empty(len(rows))
    for begin, end in _groups(ordered[column]):
        latest[begin:end] = np.maximum.accumulate(ordered["end"][begin:end])
        pauses[order[begin + 1 : end]] = ordered["start"][begin + 1 : end] - latest[begin : end - 1]
    return pauses


def _groups(values: np.ndarray[Any, np.dtype[Any]]) -> list[tuple[int, int]]:
    borders = np.flatnonzero(np.diff(values)) + 1
    edges = [0, *borders.tolist(), len(values)]
    return list(itertools.pairwise(edges)) if len(values) else []


def judge(rows: Rows, forbidden: np.ndarray[Any, np.dtype[np.bool_]], interval_s: float) -> Report:
    """The whole verdict; `forbidden` says of each row whether robots.txt disallows it."""
    if not len(rows):
        return Report()
    pauses = pauses_s(rows)
    finite = pauses[np.isfinite(pauses)]
    concurrent = rows["concurrent"] > 1
    early = pauses < interval_s - GRACE_S if interval_s > 0 else np.zeros(len(rows), dtype=bool)
    breaches = {"concurrent": concurrent, "too early": early & ~concurrent, "disallowed": forbidden}
    return Report(
        requests=len(rows),
        servers=len(np.unique(rows["host"])),
        most_concurrent=int(rows["concurrent"].max()),
        most_concurrent_address=int(rows["sharing"].max()),
        most_connections=int(rows["connections"].max()),
        smallest_pause_s=float(finite.min()) if len(finite) else None,
        concurrent=int(concurrent.sum()),
        too_early=int(breaches["too early"].sum()),
        disallowed=int(forbidden.sum()),
        violations=[
            {
                "row": int(row),
                "what": what,
                "pause_s": float(pauses[row]) if np.isfinite(pauses[row]) else None,
            }
            for what, mask in breaches.items()
            for row in np.flatnonzero(mask)[:LISTED]
        ],
    )
