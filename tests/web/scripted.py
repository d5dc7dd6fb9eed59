"""A server that says exactly the bytes it is told to, for everything a well-behaved one would never send."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Scripted:
    """What was received, and where to connect."""

    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    callers: list[str] = field(default_factory=list)  # addresses they came from


@asynccontextmanager
async def scripted(
    *answers: Answer,
    close: bool = False,
    address: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Scripted]:
    """Give the n-th request the n-th answer (the last one for all that follow)."""
    web = Scripted()
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        web.connections += 1
        web.callers.append(writer.get_extra_info("peername")[0])
        writers.add(writer)
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                web.requests.append(request)
                answer = answers[min(len(web.requests), len(answers)) - 1]
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    await answer(writer)
                await writer.drain()
                if close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, address, port, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)
