"""How does the portal get onto the network?

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

from granian.constants import Interfaces
from granian.server.embed import Server
from starlette.types import ASGIApp

from joro.errors import PortInUse, UsageError


def free_port(address: str, port: int) -> int:
    """The port, once we know that we may have it; 0 means any.

    Asked before the start because the server below would share a port with whoever has it already.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise _complaint(address, port, error) from None
        taken: int = probe.getsockname()[1]
        return taken


def _complaint(address: str, port: int, error: OSError) -> PortInUse | UsageError:
    if error.errno == errno.EADDRINUSE:
        return PortInUse(
            f"{address}:{port} is in use", remedy="stop what serves there, or choose another --port"
        )
    if error.errno == errno.EACCES:
        return PortInUse(f"port {port} is reserved for root", remedy="choose a --port of 1024 or more")
    return UsageError(
        f"{address} is not an address of this machine", remedy="use 127.0.0.1, or 0.0.0.0 for everyone"
    )


def address_of(address: str, port: int) -> str:
    """What to open in a browser."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, address)
    host = f"[{reachable}]" if ":" in reachable and not reachable.startswith("[") else reachable
    return f"http://{host}:{port}/"


def serve(app: ASGIApp, address: str, port: int, started: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `started` is called when the port is ours."""
    asyncio.run(_serve(app, address, port, started))


async def _serve(app: ASGIApp, address: str, port: int, started: Callable[[], None]) -> None:
    server = Server(app, address, port, interface=Interfaces.ASGINL, websockets=False, log_enabled=False)
    server.on_startup(started)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    await server.serve()
