"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

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
