"""How do captures of others come into our archive?

In:    records of somebody else's WARC.
Out:   the same answers in WARCs of ours, stream `imported`; sightings, from which change is learned.
Never: takes a capture twice, so an import that was interrupted is simply done again; changes what a server
       sent; takes what an order takes down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex, Limits
from joro.archive.payload import digest, header_fields, is_framed, payload_of, split, status_of
from joro.archive.read import response_at
from joro.archive.warc import WarcWriter
from joro.clock import Clock
from joro.importer.foreign import ForeignRecord, Sighting
from joro.model import Capture, Known, Outcome, Page, Response, Truncated, Visit
from joro.store.collection import Collection
from joro.store.orders import OrderBook

PREFIX = "imported"
#: Captures between two flushes.
BATCH = 500
_KINDS = {reason.value: reason for reason in Truncated}


@dataclass
class Taker:
    """Takes captures in."""

    collection: Collection
    clock: Clock
    robot: str
    taken: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        archive = self.collection.archive
        limit = self.collection.config.archive.warc_limit_bytes
        self._writer = WarcWriter(
            archive, limit_bytes=limit, clock=self.clock, robot=self.robot, prefix=PREFIX
        )
        self._index = CaptureIndex(archive)
        self._orders = OrderBook(self.collection.orders, self.clock.now)
        self._unflushed: dict[tuple[str, float], Capture] = {}

    def take(self, records: Iterable[ForeignRecord]) -> Iterator[Sighting]:
        """Take everything in; of each capture, known ones included, what was seen."""
        for record, request in _with_requests(records):
            if record.type not in ("response", "revisit") or not record.url or not record.time:
                self.left_out["no capture of a page"] += record.type not in (
                    "warcinfo",
                    "request",
                    "metadata",
                )
                continue
            capture = self._known(record) or self._take(record, request)
            if capture is not None:
                yield Sighting(capture.url, capture.time, capture.status, capture.digest)

    def close(self) -> None:
        self._writer.close()

    def _known(self, record: ForeignRecord) -> Capture | None:
        if (record.url, record.time) in self._unflushed:
            self.left_out["known already"] += 1
            return self._unflushed[record.url, record.time]
        at = Limits(since=record.time - 1e-6, until=record.time + 1e-6)
        for capture in self._index.versions(record.url, at):
            self.left_out["known already"] += 1
            return capture
        return None

    def _take(self, record: ForeignRecord, request: bytes) -> Capture | None:
        response, known = self._answer(record)
        if response is None:
            return None
        visit = Visit(
            Page(record.url),
            record.time,
            Outcome.OK,
            request,
            response,
            record.fields.get("warc-ip-address", ""),
            known=known,
        )
        digest = record.fields.get("warc-payload-digest", "")
        if self._orders.latest().erases(record.url, record.time, digest) is not None:
            self.left_out["taken down"] += 1
            return None
        capture = self._writer.append(visit)
        self._unflushed[record.url, capture.time] = capture
        self.taken += 1
        if len(self._unflushed) >= BATCH:
            self._flush()
        return capture

    def _flush(self) -> None:
        self._writer.flush()
        self._unflushed.clear()

    def _answer(self, record: ForeignRecord) -> tuple[Response | None, Known | None]:
        """What the server said, and, where it was the same as before, of when that is."""
        head, body = split(record.block)
        status = status_of(head)
        if record.type == "response":
            if not status:
                self.left_out["no answer of HTTP"] += 1
                return None, None
            cut = record.fields.get("warc-truncated", "")
            truncated = _KINDS.get(cut, Truncated.DISCONNECT) if cut else None
            return Response(status, head, body, header_fields(head), truncated, is_framed(head, body)), None
        whole = self._original(record)
        if whole is None:
            self.left_out["what it speaks of is not here"] += 1
            return None, None
        before = response_at(self.collection.archive, whole, self._index)
        known = Known(whole.time, whole.digest)
        if status == 304:
            return Response(status, head, b"", header_fields(head)), known
        if status and digest(payload_of(head, before.body)) == whole.digest:
            fields = header_fields(head)
            return Response(status, head, before.body, fields, None, is_framed(head, before.body)), known
        return before, known  # framed otherwise, or without a head: the writer sees that nothing is new

    def _original(self, record: ForeignRecord) -> Capture | None:
        """The last capture before that holds the bytes a revisit speaks of."""
        self._flush()
        wanted, found = record.fields.get("warc-payload-digest", ""), None
        for capture in self._index.versions(record.url, Limits(until=record.time)):
            if capture.mime != REVISIT and (not wanted or capture.digest == wanted):
                found = capture
        return found


def _with_requests(records: Iterable[ForeignRecord]) -> Iterator[tuple[ForeignRecord, bytes]]:
    """Each record with the request that belongs to it, which may stand right before or behind."""
    waiting: ForeignRecord | None = None
    request: ForeignRecord | None = None
    for record in records:
        if record.type == "request":
            if waiting is not None and _are_one(waiting, record):
                yield waiting, record.block
                waiting = None
            else:
                request = record
            continue
        if waiting is not None:
            yield waiting, b""
            waiting = None
        if request is not None and _are_one(record, request):
            yield record, request.block
            request = None
        else:
            waiting = record
    if waiting is not None:
        yield waiting, b""


def _are_one(record: ForeignRecord, request: ForeignRecord) -> bool:
    return bool(record.id) and (request.belongs_to == record.id or record.belongs_to == request.id)
