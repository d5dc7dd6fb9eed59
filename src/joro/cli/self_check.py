"""`joro self-check`: see whether this version works on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from joro import __version__
from joro.cli.options import directory_option


@click.command("self-check")
@directory_option("-C", "--collection", help="Also open this collection, to read only.")
def self_check(collection: Path | None) -> None:
    """See whether this version works on this machine: import everything, collect, archive, read again.

    Pages come from a server of its own on loopback and go to a scratch collection. Robots that update
    themselves ask every new release for this before they switch to it.

    \b
    joro self-check
    joro self-check -C my-web
    """
    from joro.updater.fitness import prove

    prove(collection, click.echo)
    click.echo(f"joro {__version__} works here")
