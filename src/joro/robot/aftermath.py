"""What did the last robot archive before it was killed that its frontier does not know of?

In:    the archive, and a frontier that says how far it knows it.
Out:   those visits, as if they had just ended, and how far the archive is known with each.
Never: brings a visit twice: a page that does not wait was done with; leaves a torn record behind.

Of a page that said the same as before only the head lies there. Its links count all the same: they may be
followed now that were not before. Where the bytes are gone, or out of reach, it is asked for again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from joro.archive.read import Position, Record, capture_in, read_at, replay, response_of
from joro.archive.recover import mend
from joro.errors import ArchiveError
from joro.fetch.visit import outcome_of
from joro.model import Capture, Response, Visit
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
    originals = _Originals(archive)
    for record, position in replay(archive, since, process=process):
        page = frontier.take_url(record.url)
        one = None
        if page is not None:
            response = _answer(record, originals)
            if response is None:
                frontier.put_back(page)
            else:
                outcome = outcome_of(response.status, response.headers)
                visit = Visit(page, record.time, outcome, response=response)
                one = Arrival(visit, keeper.before(page), digest=capture_in(record).digest)
        yield one, (position.name, position.offset)


def _answer(record: Record, originals: _Originals) -> Response | None:
    """What the server sent; None where that was the same as before, and is in the archive no more."""
    response = response_of(record)
    if record.type != "revisit" or response.status == 304:
        return response
    found = originals.of(capture_in(record))
    if found is None:
        return None
    said = response_of(found)
    return structs.replace(response, body=said.body, chunked=said.chunked)


class _Originals:
    """The records that have the bytes of others, as long as they can be read."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._index: CaptureIndex | None = None
        self._is_away = False

    def of(self, capture: Capture) -> Record | None:
        """The record a capture refers to, if it is there and has those bytes."""
        try:
            return None if self._is_away else self._read(capture)
        except ArchiveError:  # damaged; or out of reach, which takes up to minutes to find out: ask no more
            self._is_away = True
        except (OSError, ValueError):  # gone, or damaged in the index
            pass
        return None

    def _read(self, capture: Capture) -> Record | None:
        if self._index is None:
            from joro.archive.index import CaptureIndex  # 0.03 s, which only who was killed has to pay

            self._index = CaptureIndex(self._archive)
        whole = self._index.original(capture)
        if whole is None:
            return None
        found = read_at(self._archive / whole.warc, whole.offset, whole.length)
        return found if capture_in(found).digest == capture.digest else None  # else it was just taken down
