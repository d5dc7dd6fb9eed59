"""How is somebody turned away?

In:    why.
Out:   a status that says so.
Never: is sent without a line in the log that says whom, and why.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from joro.errors import ControlError

log = logging.getLogger(__name__)


class Refused(HTTPException):
    """Somebody is turned away, and it is written down."""


def refused(request: Request, status: int, said: str, headers: Mapping[str, str] | None = None) -> Response:
    """One line of JSON for whoever asks, and one in the log."""
    note(request, status, said)
    return JSONResponse({"problem": said}, status, headers)


def without_store(request: Request, error: ControlError) -> Response:
    """The same while the control store is away: robots ask another manager. Only the log says where it is."""
    note(request, 503, str(error))
    return JSONResponse(
        {"problem": "the control store does not answer; ask again"}, 503, {"retry-after": "1"}
    )


def note(request: Request, status: int, why: str) -> None:
    """One line in the log; what others wrote into it cannot start another one."""
    address = request.client.host if request.client else "?"
    line = f"refused {request.method} {request.url.path} to {address}: {status} {why}"
    log.warning("%s", line.encode("unicode_escape").decode("ascii")[:1_000])
