"""How does a program that answers browsers get onto the network?

In:    an application, an address and a port.
Out:   answers, until Ctrl-C or a polite signal.
Never: starts another process, so that there is only one to end; serves beside someone on the same port;
       lets those who connect and say nothing keep the others out.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server
from starlette.types import ASGIApp

from joro.errors import PortInUse, UsageError

#: Connections that may be open at once, and those that may wait to be let in.
CONNECTIONS, WAITING = 4096, 1024
#: Files we open ourselves.
OWN_FILES = 200
#: Whoever has not said what is wanted by then is hung up on.
PATIENCE_MS = 30_000


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
        except (OSError, TypeError) as error:  # what no name of a machine can be has no spelling in DNS
            raise _complaint(address, port, error) from None
        number, taken, *_ = probe.getsockname()
        return number, taken


def _complaint(address: str, port: int, error: OSError | TypeError) -> PortInUse | UsageError:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return PortInUse(
            f"{address}:{port} is in use", remedy="stop what serves there, or choose another --port"
        )
    if number == errno.EACCES:
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
    *,
    patience_ms: int = PATIENCE_MS,
) -> None:
    """Serve until SIGINT or SIGTERM; `started` is called as soon as someone would be answered.

    With a `certificate` and its key (PEM files) by TLS. Who says nothing for `patience_ms` is hung up on.
    """
    if certificate is not None:
        _check(*certificate)
    asyncio.run(_serve(app, address, port, started, certificate or (None, None), patience_ms))


def _check(certificate: Path, key: Path) -> None:
    """The server below would fail in its own words, and ask on the terminal for a key's password."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise UsageError(
            f"{certificate} and {key} are no certificate and its key ({error.strerror or error})",
            remedy="give two PEM files that belong together, the key without a password",
        ) from None


async def _serve(
    app: ASGIApp,
    address: str,
    port: int,
    started: Callable[[], None],
    certificate: tuple[Path, Path] | tuple[None, None],
    patience_ms: int,
) -> None:
    server = Server(
        app,
        address,
        port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,  # while it waits to see whether somebody speaks HTTP/2, nobody is hung up on
        websockets=False,
        log_enabled=False,
        backlog=WAITING,
        backpressure=_room(),
        http1_settings=HTTP1Settings(header_read_timeout=patience_ms),
        ssl_cert=certificate[0],
        ssl_key=certificate[1],
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    announcing = asyncio.create_task(_announce(reachable(address), port, started))
    await server.serve()
    announcing.cancel()


def _room() -> int:
    """How many connections we may have open: each is a file, and of these the system allows so many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = CONNECTIONS + OWN_FILES if hard == resource.RLIM_INFINITY else hard
    return max(OWN_FILES, min(CONNECTIONS, files - OWN_FILES))


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
