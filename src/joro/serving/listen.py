"""How does a program that answers browsers get onto the network?

In:    an application, an address and a port.
Out:   answers, until Ctrl-C or a polite signal.
Never: starts another process, so that there is only one to end; serves beside someone on the same port.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from granian.constants import Interfaces
from granian.server.embed import Server
from starlette.types import ASGIApp

from joro.errors import PortInUse, UsageError


def listening_place(address: str, port: int) -> tuple[str, int]:
    """Address and port as numbers, once we know that we may have them; port 0 means any.

    Asked before the start because the server below would share a port with whoever has it already.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            if not address:
                raise OSError  # to the system it means everywhere, to a person nothing
            probe.bind((address, port))
        except OSError as error:
            raise _complaint(address, port, error) from None
        number, taken, *_ = probe.getsockname()
        return number, taken


def _complaint(address: str, port: int, error: OSError) -> PortInUse | UsageError:
    if error.errno == errno.EADDRINUSE:
        return PortInUse(
            f"{address}:{port} is in use", remedy="stop what serves there, or choose another --port"
        )
    if error.errno == errno.EACCES:
        return PortInUse(f"port {port} is reserved for root", remedy="choose a --port of 1024 or more")
    return UsageError(
        f"{address!r} is not an address of this machine", remedy="use 127.0.0.1, or 0.0.0.0 for everyone"
    )


def reachable(address: str) -> str:
    """Where someone on this machine finds what listens on `address`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)


def address_of(address: str, port: int, *, is_secure: bool = False) -> str:
    """What to open in a browser."""
    host = reachable(address)
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if is_secure else 'http'}://{name}:{port}/"


def serve(
    app: ASGIApp,
    address: str,
    port: int,
    started: Callable[[], None],
    certificate: tuple[Path, Path] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `started` is called as soon as someone would be answered.

    With a `certificate` and its key (PEM files) by TLS.
    """
    asyncio.run(_serve(app, address, port, started, certificate or (None, None)))


async def _serve(
    app: ASGIApp,
    address: str,
    port: int,
    started: Callable[[], None],
    certificate: tuple[Path, Path] | tuple[None, None],
) -> None:
    server = Server(
        app,
        address,
        port,
        interface=Interfaces.ASGINL,
        websockets=False,
        log_enabled=False,
        ssl_cert=certificate[0],
        ssl_key=certificate[1],
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    announcing = asyncio.create_task(_announce(reachable(address), port, started))
    await server.serve()
    announcing.cancel()


async def _announce(address: str, port: int, started: Callable[[], None]) -> None:
    """The server's own start hook comes before it listens, so we knock until it opens."""
    while True:
        try:
            _, writer = await asyncio.open_connection(address, port)
        except OSError:
            await asyncio.sleep(0.01)
            continue
        writer.close()
        started()
        return
