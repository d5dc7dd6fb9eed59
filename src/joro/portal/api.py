"""How do programs ask?

In:    the same queries as people type.
Out:   JSON: results with their matches as spans, and how much there is.
Never: shows less or more than the pages do.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from joro.archive.names import warcs
from joro.index.query import DEPTH_LIMIT, plain, search
from joro.index.segment import Reader
from joro.portal.look import archive_path
from joro.store.collection import Collection

RESULTS_LIMIT = 100


class Api:
    """The JSON side of the portal."""

    def __init__(self, collection: Collection, reader: Reader) -> None:
        self._archive = collection.archive
        self._reader = reader

    def search(self, request: Request) -> Response:
        """`q`, `offset` and `n`; times are UTC, spans count characters."""
        found = search(
            self._reader,
            request.query_params.get("q", ""),
            offset=number(request, "offset", 0, least=0, most=DEPTH_LIMIT),
            limit=number(request, "n", 10, least=1, most=RESULTS_LIMIT),
        )
        answer = plain(found)
        for result, hit in zip(answer["results"], found.hits, strict=True):
            result["archive"] = archive_path(hit.url, hit.time)
        return JSONResponse(answer)

    def stats(self, request: Request) -> Response:
        sizes = [(self._archive / name).stat().st_size for name in warcs(self._archive)]
        return JSONResponse(
            {"searchable_pages": len(self._reader), "warc_files": len(sizes), "warc_bytes": sum(sizes)}
        )


def number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A number in the query part of an address; nonsense counts as the default."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return default
    return max(least, min(int(text), most))
