"""Options that several commands share, so that they are spelled and explained once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from joro.coordinate.share import Share
from joro.errors import UsageError
from joro.store.collection import Collection

F = TypeVar("F", bound=Callable[..., Any])


def file_option(*names: str, exists: bool = False, written: bool = False, **more: Any) -> Callable[[F], F]:
    """An option that names a file; `exists`: one that is there; `written`: one that we are to write."""
    if written:
        more["callback"] = _writable
    return click.option(
        *names, type=click.Path(path_type=Path, dir_okay=False, exists=exists), metavar="FILE", **more
    )


def _writable(_ctx: click.Context, param: click.Parameter, file: Path | None) -> Path | None:
    """A mistyped folder, or one that is only to be read, is found before anything is opened or served."""
    if file is not None and not file.parent.is_dir():
        raise UsageError(
            f"there is no folder {file.parent} for {param.opts[0]}", remedy="make it, or mend the name"
        )
    if file is not None and not file.exists():
        try:
            _write_into(file.parent)
        except OSError as error:
            raise UsageError(
                f"{param.opts[0]} {file} cannot be written ({error.strerror})", remedy="name another file"
            ) from None
    return file


def _write_into(folder: Path) -> None:
    """Make a file there, of which nothing is left."""
    from tempfile import TemporaryFile  # 10 ms, which other commands need not pay

    with TemporaryFile(dir=folder):
        pass


def number_option(
    *names: str, default: int, help: str, least: int = 0, most: int | None = None
) -> Callable[[F], F]:
    """An option that is a whole number."""
    return click.option(
        *names, default=default, show_default=True, type=click.IntRange(least, most), metavar="N", help=help
    )


def directory_option(*names: str, **more: Any) -> Callable[[F], F]:
    """An option that names a directory, which may have to be made."""
    return click.option(*names, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", **more)


def make_folder(folder: Path, option: str = "--out") -> Path:
    """For what will be written: first, not after minutes of work. It may be there, but only to be read."""
    what = "made"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        what = "written to"
        _write_into(folder)
    except OSError as error:
        raise UsageError(
            f"{option} {folder} cannot be {what} ({error.strerror})", remedy="name a folder"
        ) from None
    return folder


quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
ca_option = file_option("--ca", help="Certificates to trust beside the known ones (PEM).")


def plain_option(secret: str) -> Callable[[F], F]:
    """`--plain`, for commands that show a secret to a machine of ours."""
    return click.option(
        "--plain", is_flag=True, help=f"Use http:// although the {secret} can be read on the way."
    )


def _named(_ctx: click.Context, _param: click.Parameter, address: str | None) -> str | None:
    """An empty address would be every one of the machine, without anybody having said so."""
    if address is not None and not address.strip():
        raise UsageError(
            "--address names no address", remedy="give one, like 127.0.0.1, or 0.0.0.0 for everyone"
        )
    return address


def listening_options(section: str) -> Callable[[F], F]:
    """Where a program listens (`address`, `port`) if not where joro.toml says; and `quiet`."""

    def add(command: F) -> F:
        for option in (
            click.option("-q", "--quiet", is_flag=True, help="Do not print the address."),
            click.option(
                "--port",
                type=click.IntRange(0, 65_535),
                metavar="N",
                help=f"Listen on this port (default: {section}.port; 0 = any free one).",
            ),
            click.option(
                "--address",
                callback=_named,
                metavar="ADDRESS",
                help=f"Listen on this address (default: {section}.address).",
            ),
        ):
            command = option(command)
        return command

    return add


def collection_option(command: F) -> F:
    """`-C DIR`, handed on as an open `Collection`."""
    return directory_option(
        "-C",
        "--collection",
        default=Path(),
        callback=lambda _ctx, _param, path: Collection.open(path),
        help="The collection's directory (default: the current one).",
    )(command)


def processes_option(help: str, default: int | None = None) -> Callable[[F], F]:
    """`-p N`, as many as machine.processes says if there is no other default."""
    return click.option(
        "-p",
        "--processes",
        type=click.IntRange(1, 256),
        default=default,
        metavar="N",
        help=help if default is not None else f"{help} (default: machine.processes in joro.toml).",
    )


def process_options(command: F) -> F:
    """How many robots, for how long (`processes`, `limit`, `share`, `quiet`)."""
    for option in (
        quiet_option,
        click.option("--share", type=Share.parse, metavar="K/N", hidden=True),
        processes_option("Robots beside each other, one per core at best"),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages."),
    ):
        command = option(command)
    return command


def seed_options(command: F) -> F:
    """Seeds as arguments (`seeds`) and as files (`files`)."""
    file = file_option(
        "--seeds",
        "files",
        multiple=True,
        help="A file of seeds, one URL a line; # starts a comment. May be given several times.",
    )
    return click.argument("seeds", nargs=-1, metavar="[SEED]…")(file(command))
