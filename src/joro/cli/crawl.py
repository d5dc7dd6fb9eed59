"""`joro crawl`: collect pages, starting at the seeds given."""

from __future__ import annotations

from pathlib import Path

import click

from joro.cli import crawling
from joro.cli.options import collection_option, seed_options
from joro.coordinate.share import Share
from joro.discover.seeds import read_seeds
from joro.store.collection import Collection


@click.command()
@seed_options
@collection_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages.")
@click.option(
    "-p",
    "--processes",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Robots beside each other, one per core at best (default: machine.processes in joro.toml).",
)
@click.option("--share", type=Share.parse, metavar="K/N", hidden=True)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def crawl(
    seeds: tuple[str, ...],
    collection: Collection,
    files: tuple[Path, ...],
    limit: int | None,
    processes: int | None,
    share: Share | None,
    quiet: bool,
) -> None:
    """Collect pages, starting at the SEEDs and following links as far as [scope] allows.

    Stop with Ctrl-C whenever you like; the same command (also without seeds) goes on where it stopped,
    even after a crash: no page is lost, none is archived twice.

    \b
    joro crawl -C my-web https://example.org/
    joro crawl -C my-web --seeds seeds.txt --limit 10000
    joro crawl -C my-web --processes 4         use four cores
    joro crawl -C my-web                       go on
    """
    chosen = read_seeds(seeds, files)
    if share is not None:
        crawling.collect_share(collection, chosen, share)
        return
    report = crawling.collect(collection, chosen, limit=limit, processes=processes, quiet=quiet)
    click.echo(crawling.summary(report))
