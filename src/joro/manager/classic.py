"""What does the manager answer a robot that was written from the paper?

In:    M1 to M5 over HTTP.
Out:   lists of servers, RESTART or not; new servers for `routing`, logs for the `logbook`.
Never: changes anything for a message it refuses. Answers for a robot that has a token to whoever shows none.
Paper: S1 5.1.2, and 5.1.4 for what a robot does with it.

What such a robot is to the manager: see `classic_robots`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from joro.config.cooperate import Manager
from joro.coordinate import messages
from joro.coordinate.beat import Link
from joro.coordinate.packing import MOST_BYTES
from joro.manager import classic_robots
from joro.manager.classic_lists import list_of, prepare_list
from joro.manager.logbook import Logbook
from joro.manager.orders import share_out
from joro.manager.refusal import Refused
from joro.manager.routing import can_be_asked
from joro.manager.tokens import bearer_of, checked
from joro.serving.body import body_of
from joro.store.control import Control, Transaction
from joro.url import server_of, try_canonical

log = logging.getLogger(__name__)

#: Lists and logs unpacked side by side: beats need a processor, too.
UNPACKED_AT_ONCE = 2


@dataclass(frozen=True)
class Limits:
    """How much anyone may send."""

    list_bytes: int = 32 << 20
    log_bytes: int = 64 << 20
    unpacked_bytes: int = MOST_BYTES
    lines: int = messages.MOST_LINES  # of a list; as many visits of a log


class Classic:
    """M1 to M5."""

    def __init__(
        self, control: Control, settings: Manager, logbook: Logbook, limits: Limits | None = None
    ) -> None:
        self._control = control
        self._settings = settings
        self._logbook = logbook
        self._limits = limits or Limits()
        self._unpacking = asyncio.Semaphore(UNPACKED_AT_ONCE)

    @property
    def routes(self) -> list[Route]:
        return [
            _get(messages.LIST, self.list_servers),
            Route(messages.RECORD, self.record, methods=["POST"]),
            Route(messages.SUBMIT_LOG, self.submit_log, methods=["POST"]),
            _get(messages.IS_RESTART, self.is_restart),
            _get(messages.SUBSCRIBE, self.subscribe),
            _get(messages.UNSUBSCRIBE, self.unsubscribe),
        ]

    def list_servers(self, request: Request) -> Response:
        """M1: all servers of the robot, as gzip."""
        with self._asked(request) as (transaction, robot):
            prepare_list(transaction, robot, self._settings)
        with self._control.reading() as transaction:
            servers = list_of(transaction, robot)
        log.info("%s fetched its list: %d pages", robot, len(servers.entries))
        return Response(messages.write_list(servers), media_type="application/x-gzip")

    async def record(self, request: Request) -> Response:
        """M2: servers that a robot found. S1 does not ask which robot it was."""
        await asyncio.to_thread(self._admit_sender, request)
        body = await body_of(request, self._limits.list_bytes)
        async with self._unpacking:
            said = await asyncio.to_thread(self._record, body)
        return _said(said)

    def _record(self, body: bytes) -> str:
        """Take all that can be asked; what else there is was found on somebody's page, and harms nobody."""
        count = sum(1 for _ in self._entries(body))  # all lines must be right, before any is taken
        taken = share_out(self._control, filter(None, map(_link, self._entries(body))), self._settings)
        said = f"{taken} taken" + (f", {count - taken} cannot be asked" if count > taken else "")
        log.info("pages of servers were recorded: %s", said)
        return said

    def _entries(self, body: bytes) -> Iterator[messages.Entry]:
        """What is on a list, one page after the other: all of them may fill the memory of the machine."""
        return messages.entries(body, self._limits.unpacked_bytes, self._limits.lines)

    async def submit_log(self, request: Request) -> Response:
        """M3: what a robot transferred."""
        await asyncio.to_thread(self._admit_sender, request)
        body = await body_of(request, self._limits.log_bytes)
        name, inside = messages.read_log(body, self._limits.unpacked_bytes)
        await asyncio.to_thread(self._admit_log, request, name.robot)
        async with self._unpacking:
            taken = await asyncio.to_thread(self._logbook.take, name, inside, self._limits.lines)
        said = f"{taken.visits} visits {'taken' if taken.is_new else 'were here already'}"
        log.info("log %s: %s", name, said)
        return _said(said)

    def is_restart(self, request: Request) -> Response:
        """M4: RESTART in the first line, or another word."""
        with self._asked(request, is_fresh=False) as (transaction, robot):
            wanted = classic_robots.told_restart(transaction, robot)
        return Response(messages.answer_restart(wanted), media_type="text/plain")

    def subscribe(self, request: Request) -> Response:
        """M5: a robot wants to take part."""
        robot, is_proved = self._named(request)
        with self._control.transaction() as transaction:
            classic_robots.subscribe(transaction, robot, self._settings, is_proved=is_proved)
        log.info("%s subscribed", robot)
        return _said(f"{robot} takes part")

    def unsubscribe(self, request: Request) -> Response:
        """M5: a robot wants to take part no longer; its servers move."""
        with self._asked(request) as (transaction, robot):
            classic_robots.leave(transaction, robot, self._settings)
        log.info("%s unsubscribed", robot)
        return _said(f"{robot} takes part no longer")

    @contextmanager
    def _asked(self, request: Request, *, is_fresh: bool = True) -> Iterator[tuple[Transaction, str]]:
        """A transaction for a robot that takes part, and its name; whoever asks is up."""
        robot, is_proved = self._named(request)
        with self._control.transaction() as transaction:
            classic_robots.admit(transaction, robot, is_proved=is_proved)
            classic_robots.heard(transaction, robot, self._settings, is_fresh=is_fresh)
            yield transaction, robot

    def _named(self, request: Request) -> tuple[str, bool]:
        """Who asks, and whether a token proves it."""
        robot = messages.robot_of(request.url.query)
        owner = self._admit_sender(request)
        if owner is not None and owner != robot:
            raise Refused(403, f"the token is {owner}'s, not {robot}'s")
        return robot, owner is not None

    def _admit_sender(self, request: Request) -> str | None:
        """The robot whose token is shown; nobody in particular, where S1's robots may come without one."""
        if self._settings.classic and not bearer_of(request):
            return None
        return checked(self._control, request)

    def _admit_log(self, request: Request, robot: str) -> None:
        """A log may come from its own robot, be it one of ours, or one that left: its last log comes then."""
        owner = self._admit_sender(request)
        if owner is not None and owner != robot:
            raise Refused(403, f"the token is {owner}'s, the log {robot}'s")
        if owner is None:
            with self._control.reading() as transaction:
                classic_robots.admit(transaction, robot, is_proved=False, may_have_left=True)


def _get(path: str, endpoint: Callable[[Request], Response]) -> Route:
    """A GET of S1's changes something: whoever asks for a head only must not do that."""
    route = Route(path, endpoint, methods=["GET"])
    if route.methods:
        route.methods.discard("HEAD")
    return route


def _link(entry: messages.Entry) -> Link | None:
    """What an entry leads to; nothing, if its host or port is an impossible one."""
    url = try_canonical(entry.url)
    if url is None or not can_be_asked(server_of(url)):
        return None
    found_on = try_canonical(entry.referrer) if entry.referrer else None
    return Link(url, hops=1, found_on=found_on or "")


def _said(text: str) -> Response:
    return PlainTextResponse(f"{text}\n")
