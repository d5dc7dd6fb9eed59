"""How is somebody turned away?

In:    why.
Out:   a status that says so.
Never: is sent without a line in the log: `service` sees to it.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request


class Refused(HTTPException):
    """Somebody is turned away, and it is written down."""


async def body_of(request: Request, limit_bytes: int) -> bytes:
    """The body of a request, which has a limit."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > limit_bytes:
            raise Refused(413, f"the request has more than {limit_bytes:,} bytes; send it in parts")
    return bytes(content)
