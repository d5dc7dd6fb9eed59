"""`joro testweb`: serve a synthetic internet on loopback."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import click
import uvloop

from joro.cli.options import file_option
from joro.cli.ready import announce, ready_option
from joro.config import render
from joro.testweb.settings import ADDRESSING, LOOPBACK, PROFILES, SIZES, Settings
from joro.testweb.web import TestWeb, config


@click.command()
@click.option("--seed", default=7, show_default=True, metavar="N", help="Same seed, same web, byte for byte.")
@click.option("--hosts", default=1_000, show_default=True, metavar="N", help="Number of hosts.")
@click.option(
    "--pages", default=20_000, show_default=True, metavar="N", help="Number of pages, all hosts together."
)
@click.option("--port", default=0, metavar="PORT", help="Port to serve on (default: any free one).")
@click.option("--dns-port", default=0, metavar="PORT", help="Port of its name server; -1: none.")
@click.option(
    "--addresses",
    type=click.Choice(ADDRESSING),
    default="one",
    show_default=True,
    help="All hosts on 127.0.0.1, or each on its own 127.x.y.z.",
)
@click.option(
    "--network",
    default=LOOPBACK,
    show_default=True,
    help="Where its addresses are: loopback, or in 10.0.0.0/8 on a network of our own.",
)
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="mixed",
    show_default=True,
    help="bench: only well-behaved hosts, 20 KB pages with exactly 30 links.",
)
@click.option(
    "--sizes",
    type=click.Choice(SIZES),
    default="power-law",
    show_default=True,
    help="A few hosts with most of the pages, or all of one size.",
)
@click.option("--roles", default="", metavar="ROLE,…", help="Only hosts of these roles (and normal ones).")
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    metavar="N",
    help="Virtual seconds per real second; 0: time stands still until the oracle's /clock?pass_s=… moves it.",
)
@click.option("--latency", default=0.0, metavar="MS", help="Hold every answer back this long (real time).")
@click.option("--memory", default=1_000, show_default=True, metavar="MB", help="Memory for ready answers.")
@click.option("--warm", is_flag=True, help="Make every page before serving the first.")
@file_option("--log", written=True, help="Append the access log here (TSV).")
@file_option("--settings", written=True, help="Write a joro.toml with which a collection sees this web.")
@ready_option("the port and the name server's port")
def testweb(
    seed: int,
    hosts: int,
    pages: int,
    port: int,
    dns_port: int,
    addresses: str,
    network: str,
    profile: str,
    sizes: str,
    roles: str,
    speed: float,
    latency: float,
    memory: int,
    warm: bool,
    log: Path | None,
    settings: Path | None,
    ready_file: Path | None,
) -> None:
    """Serve a deterministic synthetic internet on loopback, with an oracle that knows the truth.

    \b
    joro testweb                                 a thousand hosts with every vice there is
    joro testweb --roles normal --pages 5000     only well-behaved ones
    joro testweb --settings my-web/joro.toml     and let a collection see it
    joro testweb --speed 1440                    a day in a minute
    curl -H 'Host: oracle.testweb' http://127.0.0.1:PORT/summary
    """
    wanted = Settings(
        seed=seed,
        hosts=hosts,
        pages=max(pages, hosts) if pages > 0 else pages,
        addresses=addresses,
        network=network,
        profile=profile,
        sizes=sizes,
        roles=tuple(role.strip() for role in roles.split(",") if role.strip()),
        speed=speed,
        latency_s=latency / 1_000,
        memory_bytes=memory * 1_000_000,
        warm=warm,
        port=port,
        dns_port=dns_port,
        log=log,
    )
    uvloop.run(_serve(TestWeb(wanted), settings, ready_file))


async def _serve(web: TestWeb, settings: Path | None, ready_file: Path | None) -> None:
    await web.start()
    done = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    _announce(web, settings, ready_file)
    await done.wait()
    await web.stop()


def _announce(web: TestWeb, settings: Path | None, ready_file: Path | None) -> None:
    toml = render(config(web.port, web.dns_port, web.settings))
    if settings is not None:
        settings.write_text(toml, encoding="utf-8")
    click.echo(f"test web: {len(web.plan.hosts)} hosts, {web.plan.pages} pages, seed {web.settings.seed}")
    address = web.settings.address()
    click.echo(f"serving:  {address}:{web.port}")
    click.echo(f"names:    {address}:{web.dns_port}" if web.dns_port else "names:    none")
    click.echo(f"oracle:   http://{address}:{web.port}/_oracle/summary")
    click.echo(f"start at: {web.plan.seeds()[0]}")
    if settings is None:
        click.echo("a collection sees it with these lines in its joro.toml:")
        click.echo("\n".join(_set_in(toml)))
    announce(ready_file, web.port, web.dns_port)


def _set_in(toml: str) -> Iterator[str]:
    """The settings of a joro.toml without its comments, each below the name of its section."""
    section = ""
    for line in toml.splitlines():
        if line.startswith("["):
            section = line
        elif line and not line.startswith("#"):
            yield from filter(None, (section, line))
            section = ""
