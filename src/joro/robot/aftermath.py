"""What did the last robot archive before it was killed that its frontier does not know of?

In:    the archive, and a frontier that says how far it knows it.
Out:   those visits, as if they had just ended, and how far the archive is known with each.
Never: brings a visit twice: a page that does not wait was done with; leaves a torn record behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from joro.archive.read import Position, capture_in, replay, response_of
from joro.archive.recover import mend
from joro.fetch.visit import outcome_of
from joro.model import Visit
from joro.robot.arrivals import Arrival
from joro.robot.keeper import Keeper
from joro.store.frontier import Frontier


def aftermath(
    archive: Path, frontier: Frontier, keeper: Keeper, process: int
) -> Iterator[tuple[Arrival | None, tuple[str, int]]]:
    """Each capture behind the last commit: its visit, None if that is known; the position behind it."""
    last = frontier.position
    since = Position(*last) if last else None
    mend(archive, since, process=process)
    for record, position in replay(archive, since, process=process):
        page = frontier.take_url(record.url)
        one = None
        if page is not None:
            response = response_of(record)
            outcome = outcome_of(response.status, response.headers)
            visit = Visit(page, record.time, outcome, response=response)
            one = Arrival(visit, keeper.before(page), digest=capture_in(record).digest)
        yield one, (position.name, position.offset)
