"""`joro release`: make signed releases that robots update themselves to."""

from __future__ import annotations

from pathlib import Path

import click

from joro.cli.options import directory_option, file_option
from joro.clock import RealClock


@click.group()
def release() -> None:
    """Make signed releases that robots update themselves to.

    Make a key once, and keep it where no robot is. Robots get its public half: update.public_keys in their
    joro.toml. A channel is a directory that any web server, or a manager, hands out.
    """
    from joro.updater.release import need_extra

    need_extra()


@release.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def key(file: Path) -> None:
    """Make a key pair: the secret key into a new FILE; the public key is printed.

    For a FILE that is there, its public key is printed again.

    \b
    joro release key release.key
    """
    from joro.updater.release import new_key, public_of

    click.echo(public_of(file) if file.exists() else new_key(file))
    click.echo('the public key; robots need it: [update] public_keys = ["…"]', err=True)


@release.command()
@file_option("--wheel", required=True, help="The wheel to release.", exists=True)
@file_option("--key", required=True, help="The secret key to sign it with.", exists=True)
@directory_option("--to", "directory", required=True, help="The channel.")
def make(wheel: Path, key: Path, directory: Path) -> None:
    """Add a wheel to a channel, signed, as its newest release. Older ones stay.

    \b
    joro release make --wheel dist/joro-0.2.0-py3-none-any.whl --key release.key --to releases/stable
    """
    from joro.updater.channel import Channel

    manifest = Channel(directory).add(wheel, key, RealClock().now())
    click.echo(f"{manifest.version}  {manifest.file}  {manifest.bytes:,} bytes  SHA-256 {manifest.sha256}")


@release.command("list")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="CHANNEL")
def list_releases(directory: Path) -> None:
    """List the releases in a channel, oldest first.

    \b
    joro release list releases/stable
    """
    from joro.updater.channel import Channel
    from joro.updater.journal import spelled

    manifests = Channel(directory).all()
    for each in manifests:
        click.echo(f"{each.version}  {spelled(each.created)}  {each.bytes:,} bytes  Python {each.python}")
    if not manifests:
        click.echo("none")
