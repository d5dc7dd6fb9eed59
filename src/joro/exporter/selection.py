"""Which captures does somebody want, and which of them may they have?

In:    a selection: hosts, dates, languages, pages found by a query, and what for.
Out:   captures in the order of their pages, each page's oldest first; the response of each.
Never: hands out what an order withholds, or what its owner reserves for that purpose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from joro.archive.cdx import REVISIT
from joro.archive.hosts import hosts_like
from joro.archive.index import CaptureIndex, Limits
from joro.archive.read import Record, read_at, response_of
from joro.clock import Clock
from joro.model import Capture, Response
from joro.parse.page import document_of
from joro.parse.payload import unwrap
from joro.parse.rights import NO_RESERVATION, Purpose, Rights, TermsBook, may, rights_in
from joro.store.collection import Collection
from joro.store.orders import EXCLUSION, OrderBook
from joro.url import host_of, surt


@dataclass(frozen=True)
class Selection:
    """What is wanted; everything, where nothing is said."""

    host: str = ""  # a regular expression (RE2), found anywhere in the name
    since: float = -math.inf
    until: float = math.inf
    languages: tuple[str, ...] = ()  # "zh" means zh-hant, too
    urls: tuple[str, ...] | None = None  # pages a query found; None: of all pages
    purpose: Purpose = Purpose.EXPORT


#: Where a capture stands among all: of two runs with the same selection the second can go on from it.
Key = tuple[str, float, str, int]


def key_of(capture: Capture) -> Key:
    return surt(capture.url), capture.time, capture.warc, capture.offset


@dataclass
class Chosen:
    """A capture that is handed on."""

    capture: Capture
    record: Record
    response: Response  # with the bytes, also where the record only says "as before"
    original: Capture  # that holds them


@dataclass
class Chooser:
    """Goes through a collection."""

    collection: Collection
    selection: Selection
    clock: Clock
    left_out: Counter[str] = field(default_factory=Counter)  # why captures were not handed on

    def __post_init__(self) -> None:
        self._orders = OrderBook(self.collection.orders, self.clock.now)
        self._index = CaptureIndex(self.collection.archive, withheld=self._orders.is_withheld)
        self._robot = self.collection.config.identity.name
        self._terms = TermsBook(self._archived, self._robot)
        self._limits = Limits(since=self.selection.since, until=self.selection.until)
        self._is_host = hosts_like(self.selection.host, "--host")

    @property
    def newest_order(self) -> int:
        """The number of the last order in force that withholds something; 0 without one."""
        withholding = (order for order in self._orders.latest().all if order.act != EXCLUSION)
        return max((order.number for order in withholding), default=0)

    def captures(self, after: Key | None = None) -> Iterator[Capture]:
        """The captures asked for, those up to `after` left out, whether they may be had or not."""
        for capture in self._all():
            if self._is_host(host_of(capture.url)) and (after is None or key_of(capture) > after):
                yield capture

    def _all(self) -> Iterator[Capture]:
        if self.selection.urls is None:
            yield from self._index.all(self._limits)
            return
        for url in sorted(self.selection.urls, key=lambda url: (surt(url), url)):
            yield from self._index.versions(url, self._limits)

    def chosen(self, capture: Capture) -> Chosen | None:
        """The capture with its bytes, if it is wanted and may be had."""
        whole = capture if capture.mime != REVISIT else self._index.original(capture)
        if whole is None:
            self.left_out["what it speaks of is not in the archive"] += 1
            return None
        archive = self.collection.archive
        record = read_at(archive / capture.warc, capture.offset, capture.length)
        held = record if whole is capture else read_at(archive / whole.warc, whole.offset, whole.length)
        response = response_of(held)
        if not self._may(capture.url, response):
            self.left_out["reserved by its owner"] += 1
            return None
        if not self._speaks(capture.url, response):
            self.left_out["another language"] += 1
            return None
        return Chosen(capture, record, response, whole)

    def rights(self, url: str, response: Response) -> Rights:
        """What the owner of a page reserves."""
        if not 200 <= response.status < 300:
            return NO_RESERVATION
        return rights_in(url, response, self._terms.of(url), self._robot)

    def _may(self, url: str, response: Response) -> bool:
        rights = self.rights(url, response)
        return may(rights, Purpose.EXPORT) and may(rights, self.selection.purpose)

    def _speaks(self, url: str, response: Response) -> bool:
        if not self.selection.languages:
            return True
        found = document_of(url, response, self._robot).language.lower()
        return any(found == tag or found.startswith(f"{tag}-") for tag in self.selection.languages)

    def _archived(self, url: str) -> bytes:
        newest = None
        for newest in self._index.versions(url):  # noqa: B007
            pass
        if newest is None or (newest.mime == REVISIT and (newest := self._index.original(newest)) is None):
            return b""
        record = read_at(self.collection.archive / newest.warc, newest.offset, newest.length)
        response = response_of(record)
        return unwrap(response).content if 200 <= response.status < 300 else b""
