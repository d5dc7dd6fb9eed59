"""`joro crawl`: collect pages, starting at the seeds given."""

from __future__ import annotations

from pathlib import Path

import click

from joro.cli import crawling
from joro.cli.options import collection_option, process_options, seed_options
from joro.coordinate.share import Share
from joro.discover.seeds import read_seeds
from joro.store.collection import Collection


@click.command()
@seed_options
@collection_option
@process_options
@click.option("--keep-fresh", is_flag=True, help="Also visit known pages again; go on until stopped.")
def crawl(
    seeds: tuple[str, ...],
    collection: Collection,
    files: tuple[Path, ...],
    limit: int | None,
    processes: int | None,
    keep_fresh: bool,
    share: Share | None,
    quiet: bool,
) -> None:
    """Collect pages, starting at the SEEDs and following links as far as [scope] allows.

    Stop with Ctrl-C whenever you like; the same command (also without seeds) goes on where it stopped,
    even after a crash: no page is lost, none is archived twice. A page that was found by a link and is now
    given as a SEED becomes one: it is visited again, and links are followed from there on.

    With --keep-fresh (or [refresh] enabled in joro.toml) pages are visited again when they are likely to
    have changed, new ones in the time that is left, and the crawl goes on until it is stopped.

    \b
    joro crawl -C my-web https://example.org/
    joro crawl -C my-web --seeds seeds.txt --limit 10000
    joro crawl -C my-web --processes 4         use four cores
    joro crawl -C my-web                       go on
    joro crawl -C my-web --keep-fresh          go on, and keep fresh what is there
    """
    chosen = read_seeds(seeds, files)
    if share is None:
        chosen = crawling.belonging(collection, chosen)
    command = crawling.KEEP_FRESH if keep_fresh else crawling.CRAWL
    if share is not None:
        crawling.collect_share(collection, chosen, share, command)
        return
    report = crawling.collect(
        collection, chosen, limit=limit, processes=processes, quiet=quiet, command=command
    )
    click.echo(crawling.summary(report))
