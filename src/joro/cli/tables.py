"""`joro tables`: make tables of captures and links."""

from __future__ import annotations

import click

from joro.cli.options import collection_option, processes_option, quiet_option
from joro.cli.progress import byte_bar
from joro.store.collection import Collection
from joro.tables import making


@click.command()
@collection_option
@processes_option("Processes beside each other")
@quiet_option
def tables(collection: Collection, processes: int | None, quiet: bool) -> None:
    """Make tables of captures and links from every closed WARC that is not in them yet.

    They are Parquet files in the collection's tables/, partitioned by day and by part of the servers:
    `joro sql`, DuckDB, Polars and Spark read them. It may be interrupted at any time, and goes on where it
    stopped.

    \b
    joro tables -C my-web
    joro sql -C my-web "select status, count(*) from captures group by all"
    """
    with byte_bar("reading", quiet=quiet) as progress:
        made = making.make(collection, progress, processes=processes or collection.config.machine.processes)
    if not quiet:
        gone = f", WARC files forgotten: {made.forgotten}" if made.forgotten else ""
        later = f"; still written to, and left for the next time: {made.open}" if made.open else ""
        click.echo(f"WARC files read: {made.warcs}, table files written: {made.files}{gone}{later}")
