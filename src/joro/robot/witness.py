"""Did pages change when their servers said so?

In:    visits to pages that a source ever called changed, with the signals that had come before.
Out:   what they were told, in columns; of their servers how good the signals are, as of these visits.
Never: looks at pages that no source speaks of: they change in silence, and no server can help that.
Paper: F29 to F31; the formulas are in `schedule.signals`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from joro.schedule import signals
from joro.schedule.signals import Heard
from joro.store.records import ServerRecord, Upkeep

#: A server, and what was known of such a page of it before its visit.
Witness = tuple[ServerRecord, Upkeep | None]


def heard(pages: int, places: NDArray[np.intp], witnesses: Sequence[Witness]) -> Heard:
    """What was said before visits to so many pages; those that have witnesses stand at these places."""
    quality, number, every_s = np.zeros(pages, np.intp), np.zeros(pages), np.zeros(pages)
    quality[places] = [server.signals for server, _ in witnesses]
    number[places] = [care.signals if care is not None else 0 for _, care in witnesses]
    every_s[places] = [care.told_every_s if care is not None else 0.0 for _, care in witnesses]
    return Heard(quality, number, every_s)


def judge(witnesses: Sequence[Witness], scores: NDArray[np.float64]) -> None:
    """Judge servers anew, after visits that each quality foretold so well."""
    servers = {id(server): server for server, _ in witnesses}
    for (server, _), score in zip(witnesses, scores, strict=True):
        server.foretold = signals.remembered(server.foretold, score)
    best = signals.best_quality(np.array([server.foretold for server in servers.values()]))
    pages = [sum(count for count, _ in server.wishes.values()) for server in servers.values()]
    is_heeded = signals.are_heeded([server.said[0] for server in servers.values()], pages)
    for server, quality in zip(
        servers.values(), np.where(is_heeded, best, signals.NONE).tolist(), strict=True
    ):
        server.signals = quality
