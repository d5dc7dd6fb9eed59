"""How do programs ask?

In:    the same queries as people type; URLs and times.
Out:   JSON: results with their matches as spans, captures, and how much there is.
Never: shows less or more than the pages do.
"""

from __future__ import annotations

import math
from itertools import islice

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from joro.archive.far import size_of
from joro.archive.index import Limits
from joro.archive.names import warcs
from joro.index.folding import DEPTH_LIMIT
from joro.index.query import plain, search
from joro.index.segment import Reader
from joro.model import Capture
from joro.portal.address import (
    archive_path,
    asked_end,
    asked_parameter,
    asked_time,
    moment,
    raw_path,
    stamp_of,
)
from joro.portal.find import MATCHES, Finder
from joro.store.collection import Collection
from joro.store.orders import OrderBook

RESULTS_LIMIT = 100
CAPTURES_LIMIT = 10_000
#: Captures before the offset are read, too; further ones are asked for by time or a longer prefix.
OFFSET_LIMIT = 1_000_000


class Api:
    """The JSON side of the portal."""

    def __init__(self, collection: Collection, reader: Reader, finder: Finder, orders: OrderBook) -> None:
        self._orders = orders
        self._archive = collection.archive
        self._reader = reader
        self._finder = finder

    def search(self, request: Request) -> Response:
        """`q`, `offset`, `n`, `all=1` (see `index.query`); times are UTC, spans count characters."""
        found = search(
            self._reader,
            request.query_params.get("q", ""),
            offset=number(request, "offset", 0, least=0, most=DEPTH_LIMIT),
            limit=number(request, "n", 10, least=1, most=RESULTS_LIMIT),
            hidden=self._orders.hides(),
            every=number(request, "all", 0, least=0, most=1) == 1,
        )
        answer = plain(found)
        for result, hit in zip(answer["results"], found.hits, strict=True):
            result["archive"] = archive_path(hit.url, hit.time)
        return JSONResponse(answer)

    def captures(self, request: Request) -> Response:
        """`url` and `matchType`; `from`, `to`, `status`, `mime`, `digest` choose, `offset`, `limit` cut."""
        asked = request.query_params
        match = asked.get("matchType", "exact")
        if match not in MATCHES:
            raise HTTPException(400, f"matchType is one of {', '.join(MATCHES)}.")
        offset = number(request, "offset", 0, least=0, most=OFFSET_LIMIT)
        limit = number(request, "limit", 1_000, least=1, most=CAPTURES_LIMIT)
        found = self._finder.matching(asked_parameter(request), match, limits(request))
        part = list(islice(found, offset, offset + limit + 1))
        answer: dict[str, object] = {"captures": [described(capture) for capture in part[:limit]]}
        if len(part) > limit:
            answer["next"] = str(request.url.include_query_params(offset=offset + limit))
        return JSONResponse(answer)

    def stats(self, request: Request) -> Response:
        sizes = [size_of(self._archive / name) for name in warcs(self._archive)]
        return JSONResponse(
            {"searchable_pages": len(self._reader), "warc_files": len(sizes), "warc_bytes": sum(sizes)}
        )


def limits(request: Request) -> Limits:
    """Which captures are asked for; `to=2026` means all of that year."""
    asked = request.query_params
    return Limits(
        since=asked_time(asked["from"]) if asked.get("from") else -math.inf,
        until=asked_end(asked["to"]) if asked.get("to") else math.inf,
        digest=asked.get("digest", ""),
        status=number(request, "status", 0, least=0, most=999) or None,
        mime=asked.get("mime") or None,
    )


def described(capture: Capture) -> dict[str, object]:
    """A capture as CDX servers tell it, and where it is shown."""
    return {
        "url": capture.url,
        "timestamp": stamp_of(capture.time),
        "time": f"{moment(capture.time):%Y-%m-%dT%H:%M:%SZ}",
        "status": capture.status,
        "mime": capture.mime,
        "digest": capture.digest,
        "length": capture.length,
        "offset": capture.offset,
        "filename": capture.warc,
        "archive": archive_path(capture.url, capture.time),
        "raw": raw_path(capture.url, capture.time),
    }


def number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A number in the query part of an address; nonsense counts as the default."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return default
    return max(least, min(int(text), most))
