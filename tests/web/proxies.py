"""A SOCKS5 and an HTTP proxy, just large enough to see what a client asks of them."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Relay = Callable[["Proxy", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Proxy:
    """`asked` has what clients wanted: the places of SOCKS and CONNECT, the heads of plain requests."""

    goal: int  # the port where every name leads
    port: int = 0
    asked: list[str] = field(default_factory=list)
    refuse: bool = False


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
        await writer.drain()
    writer.close()


async def _join(
    proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bytes = b""
) -> None:
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", proxy.goal)
    far_writer.write(first)
    await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))


async def socks5(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """RFC 1928 without authentication."""
    count = (await reader.readexactly(2))[1]
    await reader.readexactly(count)
    writer.write(b"\x05\x00")
    kind = (await reader.readexactly(4))[3]
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
    port = int.from_bytes(await reader.readexactly(2), "big")
    proxy.asked.append(f"{host}:{port}")
    writer.write(b"\x05\x00\x00\x01" + bytes(6))
    await _join(proxy, reader, writer)


async def http(proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """CONNECT, and plain requests with a whole URL (one for each connection)."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, target, _ = head.split(b" ", 2)
    proxy.asked.append(head.decode())
    if proxy.refuse:
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    elif method == b"CONNECT":
        writer.write(b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n")
        await _join(proxy, reader, writer)
    else:
        path = b"/" + target.split(b"/", 3)[3]
        await _join(proxy, reader, writer, head.replace(target, path, 1))


@asynccontextmanager
async def proxy(relay: Relay, goal: int, *, refuse: bool = False) -> AsyncIterator[Proxy]:
    """A proxy that leads everyone to one port of this machine."""
    state = Proxy(goal, refuse=refuse)
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            await relay(state, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)
