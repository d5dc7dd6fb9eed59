"""What did the last robot archive before it was killed that its frontier does not know of?

In:    the archive, and a frontier that says how far it knows it.
Out:   those visits, as if they had just ended, and how far the archive is known with each.
Never: brings a visit twice: a page that does not wait was done with; leaves a torn record behind.

Of a page that said the same as before only the head lies there. Its links count all the same: they may be
followed now that were not before. Where the bytes are gone, it is asked for again.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from joro.archive.read import Position, Record, capture_in, read_at, replay, response_of
from joro.archive.recover import mend
from joro.errors import ArchiveError
from joro.fetch.visit import outcome_of
from joro.model import Response, Visit
from joro.robot.arrivals import Arrival
from joro.robot.keeper import Keeper
from joro.store.frontier import Frontier

if TYPE_CHECKING:
    from joro.archive.index import CaptureIndex


def aftermath(
    archive: Path, frontier: Frontier, keeper: Keeper, process: int
) -> Iterator[tuple[Arrival | None, tuple[str, int]]]:
    """Each capture behind the last commit: its visit, None if it is known or void; the position behind."""
    last = frontier.position
    since = Position(*last) if last else None
    mend(archive, since, process=process)
    index = functools.cache(lambda: _index(archive))
    for record, position in replay(archive, since, process=process):
        page = frontier.take_url(record.url)
        one = None
        if page is not None:
            response = _answer(record, index)
            if response is None:
                frontier.put_back(page)
            else:
                outcome = outcome_of(response.status, response.headers)
                visit = Visit(page, record.time, outcome, response=response)
                one = Arrival(visit, keeper.before(page), digest=capture_in(record).digest)
        yield one, (position.name, position.offset)


def _answer(record: Record, index: Callable[[], CaptureIndex]) -> Response | None:
    """What the server sent; None where that was the same as before, and is in the archive no more."""
    response = response_of(record)
    if record.type != "revisit" or response.status == 304:
        return response
    capture, captures = capture_in(record), index()
    with contextlib.suppress(ArchiveError, OSError, ValueError):  # damaged, it or its index, or out of reach
        whole = captures.original(capture)
        if whole is not None:
            found = read_at(captures.directory / whole.warc, whole.offset, whole.length)
            if capture_in(found).digest == capture.digest:  # else it was taken down a moment ago
                said = response_of(found)
                return structs.replace(response, body=said.body, chunked=said.chunked)
    return None


def _index(archive: Path) -> CaptureIndex:
    from joro.archive.index import CaptureIndex  # 0.03 s, which only who was killed has to pay

    return CaptureIndex(archive)
