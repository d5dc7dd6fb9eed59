"""How does a beat get into the manager, and its answer out?

In:    requests of robots that proved who they are.
Out:   Starlette routes for beats and journals.
Never: lets a robot speak for another; takes a body without end, or one that is none of ours: 400 and a word
       why, with nothing changed. Blocks the event loop: the store is asked in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from joro.config.cooperate import Manager
from joro.coordinate.beat import BEAT, BEAT_BYTES, JOURNAL, Answer, Beat, encode
from joro.errors import ControlError
from joro.manager.beats import beat
from joro.manager.journals import page
from joro.manager.refusal import Refused, refused, without_store
from joro.serving.body import body_of
from joro.store.control import Control

#: One post may be longer than beats should be: that of a first commit, with all that was there before.
BODY_LIMIT_BYTES = 16 * BEAT_BYTES
MSGPACK = "application/msgpack"

Endpoint = Callable[[Request], Awaitable[Response]]
_read = msgspec.msgpack.Decoder(Beat).decode


def application_routes(control: Control, settings: Manager, who: Callable[[Request], str]) -> list[Route]:
    """The routes of robots that beat; `who` names the robot that asks, or raises."""
    desk = _Desk(control, settings, who)
    return [
        Route(BEAT, _told(desk.beat), methods=["POST"]),
        Route(JOURNAL, _told(desk.journal)),
    ]


class _Desk:
    def __init__(self, control: Control, settings: Manager, who: Callable[[Request], str]) -> None:
        self._control = control
        self._settings = settings
        self._who = who

    async def beat(self, request: Request) -> Response:
        name = await asyncio.to_thread(self._who, request)
        body = await body_of(request, BODY_LIMIT_BYTES)
        return _packed(await asyncio.to_thread(self._beat, name, body))

    def _beat(self, name: str, body: bytes) -> bytes:
        try:
            told = _read(body)
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
            RecursionError,
        ) as error:  # the last: nested too deep
            raise Refused(400, f"this is no beat: {error}") from None
        if told.robot != name:
            raise Refused(403, f"the token is {name}'s, the beat {told.robot[:60]}'s")
        answer: Answer = beat(self._control, told, self._settings)
        return encode(answer)

    async def journal(self, request: Request) -> Response:
        name = await asyncio.to_thread(self._who, request)
        server, after = request.query_params.get("server", ""), request.query_params.get("after", "0")
        is_name = server.isascii() and server.isprintable() and server
        if not is_name or not (after.isascii() and after.isdecimal()) or len(after) > 18:
            raise Refused(400, "ask ?server=SERVER&after=NUMBER")
        found = await asyncio.to_thread(page, self._control, name, server, int(after))
        return _packed(await asyncio.to_thread(encode, found))


def _packed(content: bytes) -> Response:
    return Response(content, media_type=MSGPACK)


def _told(endpoint: Endpoint) -> Endpoint:
    """What goes wrong, as JSON a robot can show; 503 when the store is away: it asks another manager then."""

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ControlError as error:
            return without_store(request, error)
        except Refused as error:
            return refused(request, error.status_code, error.detail, error.headers)

    return answer
