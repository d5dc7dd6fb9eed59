"""`joro refresh`: visit known pages again, to keep them fresh."""

from __future__ import annotations

from pathlib import Path

import click

from joro.cli import crawling
from joro.cli.options import collection_option, process_options
from joro.coordinate.share import Share
from joro.discover.seeds import read_seeds
from joro.store.collection import Collection


@click.command()
@collection_option
@process_options
@click.option("--seeds", "files", type=click.Path(path_type=Path), multiple=True, hidden=True)
def refresh(
    collection: Collection,
    processes: int | None,
    limit: int | None,
    share: Share | None,
    quiet: bool,
    files: tuple[Path, ...],
) -> None:
    """Visit known pages again when they are likely to have changed, and look for no new ones.

    Goes on until it is stopped, by Ctrl-C or SIGTERM; the same command takes up where it stopped. Links
    are not followed; pages that were found before and still wait for their first visit are visited.
    How often pages are visited again is up to [refresh] in joro.toml. What was collected by plain crawls is
    taken in at the first start, spread over refresh.first_interval_s.

    To look for new pages as well: joro crawl --keep-fresh.

    \b
    joro refresh -C my-web
    joro refresh -C my-web --limit 10000       about so many visits
    joro refresh -C my-web --processes 4       use four cores
    joro stats -C my-web                       can the schedule be kept?
    """
    if share is not None:
        crawling.collect_share(collection, read_seeds((), files), share, crawling.REFRESH)
        return
    report = crawling.collect(
        collection, [], limit=limit, processes=processes, quiet=quiet, command=crawling.REFRESH
    )
    click.echo(crawling.summary(report))
