"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from joro.coordinate.share import Share
from joro.store.collection import Collection

F = TypeVar("F", bound=Callable[..., Any])


def collection_option(command: F) -> F:
    """`-C DIR`, handed on as an open `Collection`."""
    return click.option(
        "-C",
        "--collection",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(),
        metavar="DIR",
        callback=lambda _ctx, _param, path: Collection.open(path),
        help="The collection's directory (default: the current one).",
    )(command)


def process_options(command: F) -> F:
    """How many robots, for how long (`processes`, `limit`, `share`, `quiet`)."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
        click.option("--share", type=Share.parse, metavar="K/N", hidden=True),
        click.option(
            "-p",
            "--processes",
            type=click.IntRange(1, 256),
            metavar="N",
            help="Robots beside each other, one per core at best (default: machine.processes in joro.toml).",
        ),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages."),
    ):
        command = option(command)
    return command


def seed_options(command: F) -> F:
    """Seeds as arguments (`seeds`) and as files (`files`)."""
    file = click.option(
        "--seeds",
        "files",
        type=click.Path(path_type=Path, dir_okay=False),
        multiple=True,
        metavar="FILE",
        help="A file of seeds, one URL a line; # starts a comment. May be given several times.",
    )
    return click.argument("seeds", nargs=-1, metavar="[SEED]…")(file(command))
