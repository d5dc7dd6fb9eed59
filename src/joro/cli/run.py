"""`joro run`: collect, index and serve, everything together."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from joro.cli.crawling import collect, summary
from joro.cli.options import collection_option, quiet_option, seed_options
from joro.discover.seeds import read_seeds
from joro.errors import PortInUse
from joro.store.collection import Collection


@click.command()
@seed_options
@collection_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop collecting after N pages.")
@click.option("--once", is_flag=True, help="End when everything is searchable; do not serve the portal.")
@quiet_option
def run(
    seeds: tuple[str, ...],
    collection: Collection,
    files: tuple[Path, ...],
    limit: int | None,
    once: bool,
    quiet: bool,
) -> None:
    """Collect from the SEEDs, make every page searchable as it arrives, and serve the portal.

    Pages can be searched while collecting goes on. When nothing is left to collect, the portal stays
    until Ctrl-C. Robot, indexer and portal are three processes; each can also be run by itself
    (joro crawl, joro index, joro portal).

    \b
    joro run -C my-web https://example.org/
    joro run -C my-web --limit 1000 --once https://example.org/
    """
    chosen = read_seeds(seeds, files)
    # A SIGTERM takes indexer and portal along, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _portal(collection, wanted=not once) as portal:
        with _beside(collection, "index", "--follow", "--quiet"):
            report = collect(collection, chosen, limit=limit, quiet=quiet)
        click.echo(f"collected: {summary(report)}")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        indexed = subprocess.run(_words(collection, "index", "--quiet"), check=False)
        if indexed.returncode or report.stopped:
            sys.exit(indexed.returncode)
        if portal is not None:
            click.echo(f"searchable at {_address(collection)} until Ctrl-C")
            sys.exit(portal.wait())


@contextmanager
def _portal(collection: Collection, *, wanted: bool) -> Iterator[subprocess.Popen[bytes] | None]:
    """The portal, once it answers; if it cannot start (it says why itself), neither do we."""
    if not wanted:
        yield None
        return
    if _answers(collection):
        raise PortInUse(
            f"something serves on {_address(collection)} already",
            remedy="stop it, or set another portal.port in joro.toml",
        )
    with _beside(collection, "portal", "--quiet") as process:
        while not _answers(collection):
            if process.poll() is not None:
                sys.exit(process.returncode)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
        click.echo(f"portal: {_address(collection)}")
        yield process


@contextmanager
def _beside(collection: Collection, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A joro command in a process of its own; the terminal's Ctrl-C reaches it through us."""
    process = subprocess.Popen(_words(collection, *command), stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        _end(process)


def _words(collection: Collection, *command: str) -> list[str]:
    return [sys.executable, "-m", "joro", *command, "-C", str(collection.path)]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()  # unlike SIGINT, no traceback from one that is still importing
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address(collection: Collection) -> str:
    portal = collection.config.portal
    return f"http://{portal.address}:{portal.port}/"


def _answers(collection: Collection) -> bool:
    portal = collection.config.portal
    try:
        socket.create_connection((portal.address, portal.port), timeout=1).close()
    except OSError:
        return False
    return True
