"""Where do robots find the releases they update themselves to?

In:    a directory of channels, each a directory that `joro release make` filled; who is asking.
Out:   the newest manifest of a channel, signed; its wheels, in ranges.
Never: hands anything to somebody who is no robot of ours, or anything that is no manifest or wheel.
Paper: S1 5.3.1, prs-update.source.

    GET /releases/CHANNEL          the newest manifest and its signature
    GET /releases/CHANNEL/FILE     the same as newest.json; a wheel
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

NEWEST = "newest.json"
_CHANNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\.(whl|json)")


def routes(directory: Path, who: Callable[[Request], str]) -> list[Route]:
    """The routes of all channels; `who` names the robot that asks, or raises."""

    async def release(request: Request) -> Response:
        await asyncio.to_thread(who, request)
        channel, name = request.path_params["channel"], request.path_params.get("file", NEWEST)
        path = directory / channel / name
        is_one = _CHANNEL.fullmatch(channel) and _FILE.fullmatch(name)
        if not is_one or not await asyncio.to_thread(path.is_file):
            raise HTTPException(404, f"channel {channel[:64]!r} has no {name[:100]!r}")
        kind = "application/json" if name.endswith(".json") else "application/octet-stream"
        return FileResponse(path, media_type=kind)

    return [Route("/releases/{channel}", release), Route("/releases/{channel}/{file}", release)]
