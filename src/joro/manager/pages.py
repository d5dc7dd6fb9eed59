"""How do the robots fare, and what shall they do?

In:    the control store; forms of the operator.
Out:   /servlets/listrobot and /servlets/restart, for people; new seeds.
Never: shows anything to, or takes an order from, anyone but the operator.
Paper: S1 5.1.6, 3: whether a restart was handled, when a robot last asked, when it last got a list.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from joro.config.cooperate import Manager
from joro.manager import orders
from joro.manager.classic_lists import max_transfer
from joro.manager.operator import LOGIN, LOGOUT, Operator, Visitor
from joro.manager.pages_look import Look
from joro.manager.pages_map import robot_map
from joro.manager.pages_rows import robots_shown, totals
from joro.manager.refusal import Refused
from joro.manager.status import status
from joro.manager.tokens import bearer_of, robot_of
from joro.serving.body import body_of
from joro.store.control import Control

log = logging.getLogger(__name__)

LIST_ROBOT, RESTART = "/servlets/listrobot", "/servlets/restart"
SEEDS = "/cooperate/seeds"
REFRESH_S = 5
_DIGITS = 9  # of a number of pages; Python reads none of thousands
SEEDS_LIMIT_BYTES = 4_000_000
_DONE = {"set": "It is set. Robots learn of it when they ask next.", "seeds": "The seeds are on their way."}


class Pages:
    """The control pages of a manager."""

    def __init__(self, control: Control, settings: Manager, operator: Operator, look: Look) -> None:
        self._control = control
        self._settings = settings
        self._operator = operator
        self._look = look

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/", self.home),
            Route(LIST_ROBOT, self.robots),
            Route(RESTART, self.choose),
            Route(RESTART, self.restart, methods=["POST"]),
            Route(SEEDS, self.seeds, methods=["POST"]),
            Route(LOGIN, self.ask_password),
            Route(LOGIN, self._operator.log_in, methods=["POST"]),
            Route(LOGOUT, self._operator.log_out, methods=["POST"]),
            *self._look.routes,
        ]

    async def home(self, request: Request) -> Response:
        return RedirectResponse(LIST_ROBOT, 303)

    async def robots(self, request: Request) -> Response:
        """How all robots fare."""
        visitor = await self._operator.visitor(request)
        return self._shown(request, visitor, await asyncio.to_thread(self._robots, visitor))

    def _robots(self, visitor: Visitor) -> Response:
        with self._control.reading() as transaction:
            robots, moves = robots_shown(transaction)
            sums = totals(transaction, robots, moves)
        return self._look.page(
            "robots.html",
            here="robots",
            leave=visitor.form if visitor.has_password else "",
            robots=robots,
            totals=sums,
            map=robot_map([(each.name, each.servers, each.state) for each in robots], moves),
            rule=self._settings.rule,
            refresh_s=REFRESH_S,
        )

    async def choose(self, request: Request) -> Response:
        """What can be ordered."""
        visitor = await self._operator.visitor(request)
        done = _DONE.get(request.query_params.get("done", ""), "")
        return self._shown(request, visitor, await asyncio.to_thread(self._choices, visitor, done))

    def _choices(self, visitor: Visitor, done: str) -> Response:
        with self._control.reading() as transaction:
            robots, _ = robots_shown(transaction)
            limit = max_transfer(transaction)
        return self._look.page(
            "restart.html",
            here="restart",
            leave=visitor.form if visitor.has_password else "",
            form=visitor.form,
            robots=[robot for robot in robots if robot.state != "left"],
            max_transfer=limit,
            done=done,
        )

    async def restart(self, request: Request) -> Response:
        """Carry out what the operator chose."""
        said = await self._operator.ordered(request)
        limit = _limit(said)
        robots = said.get("robot", [])

        def carry_out() -> None:
            with self._control.transaction() as transaction:
                orders.limit_lists(transaction, limit)
                orders.restart(transaction, robots)

        await asyncio.to_thread(carry_out)
        pages = "unlimited" if limit is None else f"limited to {limit:,} pages of each server"
        who = f"; to restart: {', '.join(robots)}" if robots else ""
        log.info("the operator made the next lists %s%s", pages, who)
        return RedirectResponse(f"{RESTART}?done=set", 303)

    async def seeds(self, request: Request) -> Response:
        """Take in seeds: of a form, or as a list in JSON of a program that shows the operator's password."""
        if bearer_of(request):
            await self._operator.prove(request)
            urls = orders.seeds_of(_listed(await body_of(request, SEEDS_LIMIT_BYTES)))
            await asyncio.to_thread(self._add_seeds, urls)
            return JSONResponse({"seeds": len(urls)})
        said = await self._operator.ordered(request)
        urls = orders.seeds_of(said.get("seeds", [""])[0].splitlines())
        await asyncio.to_thread(self._add_seeds, urls)
        return RedirectResponse(f"{RESTART}?done=seeds", 303)

    def _add_seeds(self, urls: list[str]) -> None:
        orders.add_seeds(self._control, urls, self._settings)
        log.info("%d seeds were added", len(urls))

    async def status(self, request: Request) -> Response:
        """How all of it goes, for programs: of the operator, of robots, or on this machine."""
        if not bearer_of(request):
            await self._operator.visitor(request)
        elif await asyncio.to_thread(robot_of, self._control, bearer_of(request)) is None:
            await self._operator.prove(request)
        return JSONResponse(await asyncio.to_thread(status, self._control))

    async def ask_password(self, request: Request) -> Response:
        return self._look.page("login.html", problem="")

    def _shown(self, request: Request, visitor: Visitor, page: Response) -> Response:
        return visitor.sees(page, secure=request.url.scheme == "https")


def _listed(body: bytes) -> list[str]:
    try:
        return msgspec.json.decode(body, type=list[str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"this is no list of seeds: {error}") from None


def _limit(said: dict[str, list[str]]) -> int | None:
    if said.get("limit", [""])[0] == "unlimited":
        return None
    pages = said.get("pages", [""])[0].strip()
    if not (pages.isascii() and pages.isdigit() and len(pages) <= _DIGITS and int(pages)):
        raise Refused(400, f"{pages[:20]!r} is no number of pages; write one from 1 to 999999999")
    return int(pages)
