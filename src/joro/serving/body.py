"""How much of what somebody sends do our programs take in?

In:    a request.
Out:   its body, if that has no more bytes than allowed; else 413. For one that does not go on 408, for
       one that breaks off 400.
Never: reads on when it is too much, whatever its head says of its length; waits for ever.
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

#: The next piece of a body is here by then, or the request is given up.
PATIENCE_S = 30.0


async def body_of(request: Request, limit_bytes: int, patience_s: float = PATIENCE_S) -> bytes:
    """The body of a request, which has a limit."""
    content = bytearray()
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(patience_s) as waiting:
            async for piece in request.stream():
                content += piece
                if len(content) > limit_bytes:
                    raise HTTPException(
                        413, f"the request has more than {limit_bytes:,} bytes; send it in parts"
                    )
                waiting.reschedule(loop.time() + patience_s)
    except TimeoutError:
        raise HTTPException(408, f"nothing more came for {patience_s:g} s; send it again") from None
    except ClientDisconnect:
        raise HTTPException(400, "the request broke off; send it again") from None
    return bytes(content)
