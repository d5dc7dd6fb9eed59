"""May a capture be handed to others?

In:    a capture and the bytes of its record.
Out:   yes or no: by the orders that stand, and by what its owner reserves, for the purposes of the receiver.
Never: lets one pass that was not looked at; reads a page as a tree that says nothing of the kind.

Most pages reserve nothing. Whether one might is seen by searching its bytes for the few words it would take,
a tenth of the time that reading it as HTML takes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path

from isal import igzip_lib, isal_zlib

from joro.archive.cdx import REVISIT
from joro.archive.index import CaptureIndex
from joro.archive.members import Member, damaged
from joro.archive.read import record_in, response_at, response_of
from joro.clock import Clock
from joro.errors import ArchiveError
from joro.model import Capture, Response
from joro.parse.payload import is_html, mime_of, unwrap
from joro.parse.rights import NO_TERMS, Purpose, TermsBook, may, rights_in, rights_of
from joro.store.collection import Collection
from joro.store.orders import OrderBook

#: A record that unpacks to more is not handed out: nobody can look at it.
LIMIT_BYTES = 256_000_000
#: Purposes that the word of a whole server (robots.txt, tdmrep.json) may reserve.
_OF_SERVERS = frozenset({Purpose.SEARCH, Purpose.SNIPPET, Purpose.ANALYSIS, Purpose.TRAINING})
#: What must stand in a head, or in a page (there also the name of our robot), that says anything.
_IN_HEAD = (b"x-robots-tag", b"tdm-reservation", b"content-signal")
_IN_PAGE = (b"robots", b"tdm-reservation")
#: A page of which these are a part cannot be searched as it is.
_WRAPPED = (b"content-encoding", b"transfer-encoding")
#: Revisits of which the verdict on their original is remembered.
_REMEMBERED = 100_000


def purposes_named(names: Iterable[str]) -> frozenset[Purpose]:
    """Purposes by their names; handing out (export) is always one of them."""
    return frozenset(Purpose(name) for name in names) | {Purpose.EXPORT}


class Allowed:
    """Says of each capture whether it may be handed out for some purposes."""

    def __init__(self, collection: Collection, purposes: frozenset[Purpose], clock: Clock) -> None:
        self.purposes = purposes
        self._archive = collection.archive
        self._robot = collection.config.identity.name
        self._words = (*_IN_PAGE, self._robot.lower().encode())
        self.orders = OrderBook(collection.orders, clock.now)
        self.index = CaptureIndex(collection.archive, withheld=self.orders.is_withheld)
        self._terms = TermsBook(self._archived, self._robot)
        self._of_original: Callable[[str, str, Capture], bool] = functools.lru_cache(_REMEMBERED)(
            lambda _url, _digest, capture: self._is_free_whole(capture)
        )

    def by_owner(self, capture: Capture, record: bytes) -> bool:
        """May it go, for its owner? `record` is its gzip member; orders were asked before."""
        if capture.mime == REVISIT:
            return self._of_original(capture.url, capture.digest, capture)
        warc = self._archive / capture.warc
        content = content_of(record, warc, capture.offset)
        if not self.purposes & _OF_SERVERS and is_silent(content, self._words):
            return True
        try:
            response = response_of(record_in(Member(capture.offset, len(record), content), capture.warc))
        except ValueError as error:
            raise damaged(warc, capture.offset, str(error)) from None
        return self._is_free(capture.url, response)

    def _is_free_whole(self, revisit: Capture) -> bool:
        return self._is_free(revisit.url, response_at(self._archive, revisit, self.index))

    def _is_free(self, url: str, response: Response) -> bool:
        terms = self._terms.of(url) if self.purposes & _OF_SERVERS else NO_TERMS
        if self._speaks(response):
            rights = rights_in(url, response, terms, self._robot)
        elif terms is NO_TERMS:
            return True
        else:
            rights = rights_of(url, response.headers, (), terms)
        return all(may(rights, purpose) for purpose in self.purposes)

    def _speaks(self, response: Response) -> bool:
        """Might the answer say something about its rights?"""
        head = response.head.lower()
        if any(word in head for word in _IN_HEAD):
            return True
        if not is_html(mime_of(response.headers), response.body[:512]):
            return False
        content = unwrap(response).content.lower()
        # UTF-16 and its like: the words look different there.
        return b"\0" in content[:200] or any(word in content for word in self._words)

    def _archived(self, url: str) -> bytes:
        newest = self.index.newest(url)
        if newest is None:
            return b""
        try:
            response = response_at(self._archive, newest, self.index)
        except ArchiveError:
            return b""
        return unwrap(response).content if response.status == 200 else b""


def is_silent(record: bytes, words: tuple[bytes, ...]) -> bool:
    """Is it plain from the bytes of a record that neither head nor page say anything? Most do not."""
    start = record.find(b"\r\n\r\n") + 4
    end = record.find(b"\r\n\r\n", start)
    head = record[start : end if end > 0 else None].lower()
    if any(word in head for word in (*_IN_HEAD, *_WRAPPED)):
        return False
    page = record[end:].lower() if end > 0 else b""
    return b"\0" not in page[:200] and not any(word in page for word in words)


def content_of(record: bytes, warc: Path, offset: int) -> bytes:
    """What is in a gzip member."""
    decoder = isal_zlib.decompressobj(wbits=31)
    try:
        content: bytes = decoder.decompress(record, LIMIT_BYTES)
    except igzip_lib.error as error:  # type: ignore[misc]  # its stub says instance
        raise damaged(warc, offset, str(error)) from None
    if not decoder.eof:
        raise damaged(warc, offset, "a record without an end")
    return content
