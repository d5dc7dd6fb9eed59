"""What does a manager answer to its robots and its operator?

In:    requests, and the control store.
Out:   answers; every refusal is one line of JSON, and one in the log.
Never: keeps anything between two requests: all of it is in the control store, so that another manager of the
       same store can answer the next one. Shows a traceback.
Paper: S1 5.1.1: everything is HTTP, and robots speak first.

    POST /cooperate/beat, GET /cooperate/journal   robots of ours: `coordinate.beat`
    GET  /cooperate/status                         how all of it goes, as JSON
    POST /cooperate/seeds                          seeds of the operator
    …    /servlets/list, record, submitlog, isrestart, subscribe, unsubscribe   robots of S1: `classic`
    GET  /servlets/listrobot, /servlets/restart    the control pages: `pages`
    GET  /healthz                                  "ok", if the control store answers; anybody may ask
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from joro.clock import Clock
from joro.coordinate.beat import STATUS
from joro.errors import BadMessage, ControlError, DiskFull, JoroError, UsageError
from joro.manager import releases
from joro.manager.classic import Classic, Limits
from joro.manager.logbook import Logbook
from joro.manager.operator import LOGIN, Operator
from joro.manager.pages import LIST_ROBOT, RESTART, SEEDS, Pages
from joro.manager.pages_look import Look
from joro.manager.refusal import note, refused, without_store
from joro.manager.routes import application_routes
from joro.manager.tokens import checked
from joro.store.collection import Collection
from joro.store.control import Control

log = logging.getLogger(__name__)

#: The log of what a manager did and refused: so much is kept, in so many files.
LOG_BYTES, LOG_FILES = 10_000_000, 5
#: Where people look, and are answered with pages.
_FOR_PEOPLE = (LIST_ROBOT, RESTART, LOGIN, "/logout")


def application(
    collection: Collection, control: Control, clock: Clock, limits: Limits | None = None
) -> ASGIApp:
    """The manager of one collection."""
    settings = collection.config.manager
    look = Look(collection.path.resolve().name)
    service = Service(control, look)
    logbook = Logbook(control, collection.logs, settings.skew_s)
    pages = Pages(control, settings, Operator(control, clock.now), look)
    who = partial(checked, control)
    return Starlette(
        routes=[
            Route("/healthz", service.healthz),
            Route(STATUS, pages.status),
            *application_routes(control, settings, who),
            *releases.routes(collection.path / "channels", who),
            *Classic(control, settings, logbook, limits).routes,
            *pages.routes,
        ],
        exception_handlers={kind: service.problem for kind in (HTTPException, JoroError, Exception)},
    )


class Service:
    """What all answers have in common."""

    def __init__(self, control: Control, look: Look) -> None:
        self._control = control
        self._look = look

    async def healthz(self, request: Request) -> Response:
        """Whether this manager can do its work."""
        await asyncio.to_thread(self._ask_store)
        return PlainTextResponse("ok\n")

    def _ask_store(self) -> None:
        with self._control.reading() as transaction:
            transaction.rows("SELECT 1")

    async def problem(self, request: Request, error: Exception) -> Response:
        """One line for whatever went wrong; what broke inside stays inside."""
        status, said, headers = _status(error)
        path = request.url.path
        if status == 500:
            log.error("%s failed", path, exc_info=error)
        elif status == 507:
            log.error("%s", error)
        if path in _FOR_PEOPLE or (path == SEEDS and _is_form(request)):
            note(request, status, said)
            return self._told(request, status, said)
        if isinstance(error, ControlError):
            return without_store(request, error)
        return refused(request, status, said, headers)

    def _told(self, request: Request, status: int, said: str) -> Response:
        """The same for people."""
        if status == 401:
            return RedirectResponse(LOGIN, 303)
        if request.url.path == LOGIN:
            return self._look.page("login.html", status, problem=said)
        return self._look.page("problem.html", status, problem=said)


def _status(error: Exception) -> tuple[int, str, dict[str, str]]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail, dict(error.headers or {})
    if isinstance(error, ControlError):
        return 503, str(error), {}
    if isinstance(error, BadMessage | UsageError):
        return 400, str(error), {}
    if isinstance(error, DiskFull):
        return 507, "there is no room at the manager; send it again later", {}
    return 500, "something broke in the manager", {}


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")


@contextmanager
def write_log(folder: Path) -> Iterator[None]:
    """Write what the manager reports into its log (S1's prsm.log) as long as the block lasts."""
    ours = logging.getLogger("joro")
    file = RotatingFileHandler(
        folder / "manager.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
    )
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    before = ours.level
    ours.addHandler(file)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        ours.removeHandler(file)
        ours.setLevel(before)
        file.close()
