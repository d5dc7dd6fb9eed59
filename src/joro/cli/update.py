"""`joro update`: let a robot become a newer one by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from joro import __version__
from joro.cli.options import collection_option, directory_option
from joro.clock import RealClock
from joro.errors import UsageError
from joro.store.collection import Collection

if TYPE_CHECKING:
    from joro.updater.journal import Journal
    from joro.updater.keeper import Keeper
    from joro.updater.shelf import Shelf
    from joro.updater.source import Source


@click.group()
def update() -> None:
    """Let a robot become a newer one by itself, and the older one again when that fails.

    Where releases come from, and whose signature counts, stands in [update] of joro.toml. Every step is in
    logs/update.log of the collection.
    """
    from joro.updater.release import need_extra

    need_extra()


@update.command(context_settings={"ignore_unknown_options": True})
@directory_option(
    "-C", "--collection", "path", help="The collection's directory (default: the one that COMMAND works on)."
)
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="Look for a newer release so often (default: daily at update.check_at).",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
def run(path: Path | None, every_s: float | None, command: tuple[str, ...]) -> NoReturn:
    """Run a joro COMMAND, and start it anew whenever a newer release has come.

    A newer release is downloaded, verified, installed beside the one that runs, and asked for its self-check.
    Then the command is ended gently and started again, of the new release; if that one fails within
    update.probation_s, the one before is started again.

    \b
    joro update run -- cooperate -C my-web
    joro update run --every 3600 -- crawl -C my-web --keep-fresh
    """
    from joro.updater.supervisor import Supervisor

    words = list(command)
    collection = Collection.open(path or _collection_in(words))
    clock = RealClock()
    with _keeping(collection, echo=True) as (keeper, journal):
        settings = collection.config.update
        supervisor = Supervisor(keeper, words, settings, journal, clock, every_s=every_s)
        code = asyncio.run(supervisor.run())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a download under way in its thread is not waited for


@update.command()
@collection_option
def check(collection: Collection) -> None:
    """Ask the channel whether there is a newer release; change nothing.

    \b
    joro update check -C my-web
    """
    from joro.updater.release import is_newer, verified

    source, shelf = _source(collection), _shelf(collection)
    manifest = verified(source.newest(), collection.config.update.public_keys)
    running = shelf.running()
    bad = shelf.notes().bad.get(manifest.version)
    if not is_newer(manifest.version, running):
        click.echo(f"{running} runs; the channel offers nothing newer ({manifest.version})")
    elif bad:
        click.echo(f"{running} runs; {manifest.version} failed here before: {bad}")
    else:
        click.echo(f"{running} runs; {manifest.version} can be had: joro update now")


@update.command()
@collection_option
def now(collection: Collection) -> None:
    """Update at once; a supervisor that is running is told to.

    Without one, the new release is switched to and begins its probation when it is started.

    \b
    joro update now -C my-web
    """
    if _is_left_to_supervisor(collection, "now"):
        return
    with _keeping(collection, echo=True) as (keeper, _):
        keeper.mend()
        version = keeper.bring()
        if version is not None:
            keeper.adopt(version)


@update.command()
@collection_option
def status(collection: Collection) -> None:
    """Show which release runs, which are here, and what came of the last look.

    \b
    joro update status -C my-web
    """
    from joro.updater.journal import spelled

    shelf = _shelf(collection)
    notes, running = shelf.notes(), shelf.running()
    on_trial = notes.trial is not None and notes.trial.version == running
    click.echo(f"runs: {running}" + (" (on trial)" if on_trial else ""))
    click.echo(f"here: {', '.join(shelf.versions())} (pip installed {shelf.installed})")
    with shelf.lock() as holder:
        click.echo(f"supervisor: {holder or 'none'}")
    if notes.looked_at:
        click.echo(f"last look: {spelled(notes.looked_at)}")
    if notes.said:
        click.echo(f"last step: {notes.said}")
    for version, reason in notes.bad.items():
        click.echo(f"failed: {version}: {reason}")


@update.command("roll-back")
@collection_option
def roll_back(collection: Collection) -> None:
    """Go back to the release before; this one is not tried again.

    \b
    joro update roll-back -C my-web
    """
    if _is_left_to_supervisor(collection, "roll-back"):
        return
    with _keeping(collection, looks=False) as (keeper, _):
        keeper.mend()
        click.echo(f"{keeper.fail('an operator rolled it back')} is started next")


def _is_left_to_supervisor(collection: Collection, word: str) -> bool:
    """Leave a word for the supervisor, if one is running."""
    from joro.store.durable import write_whole
    from joro.updater.supervisor import WANTED

    shelf = _shelf(collection)
    if word == "roll-back" and shelf.before(shelf.running()) is None:
        return False  # which then says why it cannot be
    with shelf.lock() as holder:
        if not holder:
            return False
    write_whole(shelf.directory / WANTED, word.encode())
    click.echo(f"the supervisor ({holder}) does it; see: joro update status -C {collection.path}")
    return True


@contextlib.contextmanager
def _keeping(
    collection: Collection, *, echo: bool = False, looks: bool = True
) -> Iterator[tuple[Keeper, Journal]]:
    """The keeper of a collection's robot, while nobody else is one."""
    from joro.updater.journal import Journal
    from joro.updater.keeper import Keeper

    shelf, clock = _shelf(collection), RealClock()
    journal = Journal(collection.logs, clock.now, _echo if echo else lambda _line: None)
    settings = collection.config.update
    source = _source(collection) if looks else None
    keeper = Keeper(shelf, settings, source, journal, clock, collection.path)
    with shelf.lock(patience_s=2.0) as holder:  # somebody may just be asking for the status
        if holder:
            raise UsageError(f"{holder} updates {collection.path} already", remedy="leave it to that one")
        yield keeper, journal


def _echo(line: str) -> None:
    click.echo(f"update: {line}", err=True)


def _shelf(collection: Collection) -> Shelf:
    from joro.updater.shelf import Shelf

    return Shelf(collection.path / "releases", __version__)


def _source(collection: Collection) -> Source:
    from joro.updater.release import check_keys
    from joro.updater.source import Source

    check_keys(collection.config.update.public_keys)
    return Source(collection.config.update, collection.config.cooperate, collection.path)


def _collection_in(words: list[str]) -> Path:
    """The directory that a command names with -C; else, as for that command, the current one."""
    for place, word in enumerate(words):
        if word in ("-C", "--collection") and place + 1 < len(words):
            return Path(words[place + 1])
        for spelling in ("--collection=", "-C"):
            if word.startswith(spelling) and word != spelling:
                return Path(word.removeprefix(spelling))
    return Path()
