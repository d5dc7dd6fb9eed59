"""Which page answers which address?

In:    a collection.
Out:   a web application: search, archived captures, their versions; results also as JSON.
Never: needs JavaScript or anything from outside; shows a word of the web unescaped.

    /                             the search box
    /search?q=…&page=2            results; with all=1 near copies and soft 404s, too
    /archive/20261116055500/URL   the capture nearest to that time, and which one it is
    /archive/*/URL                every version of a page: its calendar; /archive/2026*/URL of a year
    /compare?url=…&from=…&to=…    what changed between two versions
    /replay/…, /raw/…             the capture itself, for browsers and for programs
    /timegate/URL, /timemap/…     Memento
    /api/search, captures, stats  JSON
    /robot, /owner                who we are; for owners of sites, see `owner`
    /healthz                      "ok"
"""

from __future__ import annotations

import logging

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from joro.clock import RealClock
from joro.errors import JoroError
from joro.index.folding import DEPTH_LIMIT
from joro.index.query import search
from joro.index.segment import Reader, place
from joro.portal.api import Api, number
from joro.portal.capture import Captures
from joro.portal.compare import Compare
from joro.portal.find import Finder
from joro.portal.look import Look, Paging
from joro.portal.memento import TimeTravel
from joro.portal.opened import Missing, NotKept, Opener, Refused
from joro.portal.owner import Owners
from joro.portal.replay import Replay
from joro.portal.word import refusal_by_owner
from joro.serving.look import RULES
from joro.store.collection import Collection
from joro.store.orders import OrderBook

log = logging.getLogger(__name__)

RESULTS_PER_PAGE = 10

#: On every answer that brings no rules of its own (a capture does).
_RULES = [(name.encode(), rule.encode()) for name, rule in RULES.items()]
_PROBLEMS = {
    404: "There is nothing at this address.",
    405: "Nothing can be sent to a page of the past: the archive only shows what was collected.",
}


def application(collection: Collection) -> ASGIApp:
    """The portal of one collection."""
    reader = Reader(place(collection.index))
    look = Look(collection.path.resolve().name)
    orders = OrderBook(collection.orders, RealClock().now)
    finder = Finder(collection.archive, orders.is_withheld)
    opener = Opener(finder, refusal_by_owner(collection.config.identity.name))
    pages, captures = Pages(reader, look, orders), Captures(finder, opener, look)
    replay, compare, travel = Replay(opener), Compare(opener, look), TimeTravel(finder)
    api = Api(collection, reader, finder, orders)
    app = Starlette(
        routes=[
            Route("/", pages.home),
            Route("/search", pages.results),
            Route("/archive/{stamp}/{url:path}", captures.show),
            Route("/replay/{stamp}/{url:path}", replay.rewritten),
            Route("/raw/{stamp}/{url:path}", replay.raw),
            Route("/compare", compare.show),
            Route("/timegate/{url:path}", travel.gate),
            Route("/timemap/link/{page:int}/{url:path}", travel.links),
            Route("/timemap/json/{page:int}/{url:path}", travel.json),
            Route("/timemap/link/{url:path}", travel.links),
            Route("/timemap/json/{url:path}", travel.json),
            Route("/api/search", api.search),
            Route("/api/captures", api.captures),
            Route("/api/stats", api.stats),
            *Owners(collection, look).routes,
            Route("/healthz", healthz),
            *look.routes,
        ],
        exception_handlers={
            **{kind: captures.problem for kind in (Missing, Refused, NotKept)},
            **{kind: pages.problem for kind in (HTTPException, JoroError, Exception)},
        },
    )
    return Rules(app)  # outermost, so that they hold on error pages too


class Pages:
    """Searching."""

    def __init__(self, reader: Reader, look: Look, orders: OrderBook) -> None:
        self._reader = reader
        self._look = look
        self._orders = orders

    def home(self, request: Request) -> Response:
        return self._look.page("home.html", searchable=len(self._reader))

    def results(self, request: Request) -> Response:
        query = request.query_params.get("q", "")
        if not query.strip():
            return self.home(request)
        every = number(request, "all", 0, least=0, most=1) == 1
        page = number(request, "page", 1, least=1, most=DEPTH_LIMIT // RESULTS_PER_PAGE)
        found = search(
            self._reader,
            query,
            offset=(page - 1) * RESULTS_PER_PAGE,
            limit=RESULTS_PER_PAGE,
            hidden=self._orders.hides(),
            every=every,
        )
        paging = Paging(page, min(found.total, DEPTH_LIMIT), RESULTS_PER_PAGE)
        return self._look.page(
            "results.html", query=query, found=found, paging=paging, every=every, searchable=len(self._reader)
        )

    def problem(self, request: Request, error: Exception) -> Response:
        """A page for whatever went wrong, with a way on; what broke inside stays inside."""
        if isinstance(error, HTTPException):
            text = _PROBLEMS.get(error.status_code, error.detail)
            return self._told(request, error.status_code, text)
        if isinstance(error, JoroError):
            return self._told(request, 500, error.problem, error.remedy)
        log.error("%s failed", request.url.path, exc_info=error)
        return self._told(request, 500, "Something broke in the portal.")

    def _told(self, request: Request, status: int, problem: str, remedy: str = "") -> Response:
        if request.url.path.startswith("/api/"):  # programs get JSON, whatever happens
            return JSONResponse({"problem": problem} | ({"remedy": remedy} if remedy else {}), status)
        return self._look.page("problem.html", status, problem=problem, remedy=remedy)


def healthz(request: Request) -> Response:
    return PlainTextResponse("ok\n")


class Rules:
    """Tells the browser what our pages may do, which is next to nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(rule for rule in _RULES if rule[0] not in present),
                ]
            await send(message)

        await self._app(scope, receive, send_with_rules)
