"""`joro import`: take captures of others in."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from joro import __version__
from joro.cli.options import collection_option, quiet_option
from joro.clock import RealClock
from joro.errors import UsageError
from joro.store.collection import Collection
from joro.store.layout import share_count

if TYPE_CHECKING:
    from joro.importer.learning import Lore
    from joro.importer.taking import Taker


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@collection_option
@click.option("--no-learning", is_flag=True, help="Only archive: let no page be known by it.")
@quiet_option
def take_in(files: tuple[Path, ...], collection: Collection, no_learning: bool, quiet: bool) -> None:
    """Take captures of others in: WARC, WACZ, or CDXJ for their history alone.

    Their pages become known, with all that the captures tell about how often each changes. What is in the
    archive already is passed over, so an import that was interrupted is simply done again.

    \b
    joro import -C my-web old.warc.gz other.wacz
    joro import -C my-web index.cdxj          how pages changed, without the pages
    """
    from joro.importer.foreign import kind_of

    kinds = {path: kind_of(path) for path in files}
    with ExitStack() as held:
        held.enter_context(collection.lock("robot"))
        for place in range(max(share_count(collection.frontier), 1)):
            held.enter_context(collection.lock(f"robot-{place}"))
        with_bytes = [path for path, kind in kinds.items() if kind != "cdxj"]
        if with_bytes:
            _take_captures(collection, with_bytes, kinds, learns=not no_learning, quiet=quiet)
        for path in (path for path, kind in kinds.items() if kind == "cdxj"):
            _take_history(collection, path, quiet=quiet)
    if with_bytes and not quiet:
        click.echo(f"make them searchable: joro index -C {collection.path}")


def _take_captures(
    collection: Collection, paths: list[Path], kinds: dict[Path, str], *, learns: bool, quiet: bool
) -> None:
    from joro.importer.foreign import warcs_in
    from joro.importer.learning import Lore, learn
    from joro.importer.taking import Taker

    clock = RealClock()
    taker = Taker(collection, clock, f"{collection.config.identity.name}/{__version__}")
    lore = Lore()
    try:
        for path in paths:
            before, left_out = taker.taken, Counter(taker.left_out)
            if kinds[path] == "wacz":
                with warcs_in(path) as warcs:
                    for warc in warcs:
                        _each(taker, warc, lore)
            else:
                _each(taker, path, lore)
            if not quiet:
                click.echo(_told(path, taker.taken - before, taker.left_out - left_out))
    finally:
        taker.close()
    if learns:
        pages = learn(collection, lore, clock.now(), has_bytes=True)
        if not quiet:
            click.echo(f"pages with a history of their own: {pages:,}")


def _each(taker: Taker, path: Path, lore: Lore) -> None:
    from joro.importer.foreign import records

    for sighting in taker.take(records(path)):
        lore.add(sighting)


def _told(path: Path, taken: int, left_out: Counter[str]) -> str:
    reasons = "".join(f", {reason}: {count:,}" for reason, count in sorted(left_out.items()) if count)
    return f"{path}: captures taken in: {taken:,}{reasons}"


def _take_history(collection: Collection, path: Path, *, quiet: bool) -> None:
    from joro.importer.foreign import Lines, sightings
    from joro.importer.learning import Lore, learn

    lore, lines = Lore(), Lines()
    for sighting in sightings(path, lines):
        lore.add(sighting)
    if not lines.readable:
        raise UsageError(f"{path}: no line can be read as CDXJ", remedy="check the file, or convert it first")
    if lines.unreadable:
        click.echo(f"{path}: lines that could not be read: {lines.unreadable:,}", err=True)
    pages = learn(collection, lore, RealClock().now(), has_bytes=False)
    if not quiet:
        click.echo(f"{path}: pages with a history of their own: {pages:,}")


vars()["import"] = take_in  # the name of the command, which no function may have
