"""`joro breaker`: run the proxy that stops a robot which asks too much."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from pathlib import Path

import click
import uvloop

from joro.breaker.proxy import Breaker
from joro.cli.options import collection_option, listening_options
from joro.cli.ready import announce, ready_option
from joro.clock import RealClock
from joro.store.collection import Collection


@click.command()
@collection_option
@listening_options("breaker")
@ready_option("the port")
def breaker(
    collection: Collection, address: str | None, port: int | None, ready_file: Path | None, quiet: bool
) -> None:
    """Limit how often anyone is asked, whatever the robot does, until Ctrl-C.

    A proxy in a process of its own: it counts what really leaves, per server, per address and in all, refuses
    what is too much, leaves those asked too often alone for a while, and raises an alert. Robots go through
    it when their fetch.breaker names it. Its state is at / and /metrics.

    \b
    joro breaker -C my-web
    curl http://127.0.0.1:8766/
    """
    settings = collection.config.breaker
    settings = dataclasses.replace(
        settings,
        address=address if address is not None else settings.address,
        port=port if port is not None else settings.port,
    )
    uvloop.run(_serve(Breaker(settings, RealClock()), settings.address, ready_file, quiet))


async def _serve(breaker: Breaker, address: str, ready_file: Path | None, quiet: bool) -> None:
    await breaker.start()
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    if not quiet:
        host = f"[{address}]" if ":" in address else address
        click.echo(
            f'breaker: {host}:{breaker.port} until Ctrl-C; robots: [fetch] breaker = "{host}:{breaker.port}"'
        )
    announce(ready_file, breaker.port)
    await done.wait()
    await breaker.stop()
