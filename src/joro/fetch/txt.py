"""What do the TXT records of a name say?

In:    a host name.
Out:   their texts; none when there are none, or no name server answers.
Never: asks anyone but name servers; blocks the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pycares

from joro.errors import ConfigError

LOOKUP_LIMIT_S = 15.0
#: More text than this is no proof of anything.
RECORDS_LIMIT = 100


async def texts_of(name: str, nameservers: Sequence[str] = ()) -> list[str]:
    """The TXT records of a name."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str]) -> None:
        if not answer.done():
            answer.set_result(found)

    def report(result: Any, error: int | None) -> None:  # in c-ares' thread
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, [] if error or result is None else _texts(result))

    try:
        channel = pycares.Channel(
            servers=list(nameservers) or None, flags=pycares.ARES_FLAG_NOSEARCH, timeout=2.0
        )
    except (pycares.AresError, ValueError) as error:
        raise ConfigError(
            f"fetch.nameservers: {', '.join(nameservers)} cannot be used ({error.args[-1]})",
            remedy='write each as "address" or "address:port"',
        ) from None
    try:
        channel.query(name, pycares.QUERY_TYPE_TXT, callback=report)
        async with asyncio.timeout(LOOKUP_LIMIT_S):
            return await answer
    except TimeoutError:
        return []
    finally:
        channel.close()


def _texts(result: Any) -> list[str]:
    found = []
    for record in list(result.answer)[:RECORDS_LIMIT]:
        content = getattr(record.data, "data", None)
        if isinstance(content, bytes):
            found.append(content.decode("utf-8", "replace"))
    return found
