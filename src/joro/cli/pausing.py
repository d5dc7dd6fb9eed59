"""`joro pause` and `joro resume`: let robots stand still, and go on."""

from __future__ import annotations

import click

from joro.cli.options import collection_option
from joro.clock import RealClock
from joro.store import pause as pauses
from joro.store.collection import Collection


@click.command()
@collection_option
@click.option("--why", default="", metavar="TEXT", help="A reason, for whoever sees robots standing still.")
def pause(collection: Collection, why: str) -> None:
    """Let all robots of a collection stand still, until joro resume.

    Visits under way end and are committed, nothing new begins, within a second or so. Robots need not be
    stopped for it; those started later wait, too, also after a restart of the machine. Pausing twice is
    pausing once.

    \b
    joro pause -C my-web
    joro pause -C my-web --why "the router is being replaced"
    """
    click.echo(f"{pauses.pause(collection.path, RealClock().now(), why)}; {_remedy(collection)}")


@click.command()
@collection_option
def resume(collection: Collection) -> None:
    """Let robots that joro pause stopped go on; those that run do so within a second or so.

    \b
    joro resume -C my-web
    """
    before = pauses.resume(collection.path)
    click.echo(f"goes on, after it was {before}" if before is not None else "it was not paused")


def _remedy(collection: Collection) -> str:
    return f"to go on: joro resume -C {collection.path}"
