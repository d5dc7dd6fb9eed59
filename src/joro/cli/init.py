"""`joro init`: a new, empty collection."""

from __future__ import annotations

from pathlib import Path

import click

from joro import config
from joro.cli.options import file_option
from joro.store.collection import Collection


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path(), required=False)
@file_option(
    "--settings",
    help="Start from the settings in FILE, e.g. those `joro testweb --settings FILE` wrote.",
    exists=True,
)
def init(directory: Path, settings: Path | None) -> None:
    """Make a new collection in DIRECTORY (default: the current one).

    A collection is one directory that holds everything: settings, frontier, archive, tables,
    documents, index and logs. Copy it, move it, delete it as a whole.

    \b
    joro init my-web
    joro init test --settings testweb.toml
    """
    chosen = config.load(settings) if settings else config.Config()
    collection = Collection.create(directory, chosen)
    click.echo(
        f"made the collection {collection.path}; its settings are in {collection.path / config.FILE_NAME}"
    )
    click.echo(f"next: joro run -C {collection.path} https://…")
