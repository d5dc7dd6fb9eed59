"""`joro stats`: what the collection holds."""

from __future__ import annotations

import json
from typing import Any

import click

from joro.cli.options import collection_option
from joro.errors import CollectionError
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import share_count, shares, total_counts
from joro.store.records import Counts, ServerRecord

#: So many of the largest servers are listed.
LARGEST = 10


@click.command()
@collection_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def stats(collection: Collection, as_json: bool) -> None:
    """Show what the collection holds: pages by outcome, the largest servers, archive size.

    \b
    joro stats -C my-web
    joro stats -C my-web --json | jq .outcomes
    """
    facts = _facts(collection)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        _print(facts)


def _facts(collection: Collection) -> dict[str, Any]:
    counts, servers = _frontier_facts(collection)
    warcs = list(collection.archive.glob("*.warc.gz"))
    return {
        "collection": str(collection.path),
        "found": counts.found,
        "visited": counts.visited,
        "waiting": counts.found - counts.visited,
        "outcomes": dict(sorted(counts.outcomes.items(), key=lambda entry: -entry[1])),
        "received_bytes": counts.bytes,
        "archive_bytes": sum(warc.stat().st_size for warc in warcs),
        "archive_files": len(warcs),
        "servers": len(servers),
        "largest_servers": {name: record.visited for name, record in servers[:LARGEST]},
    }


def _frontier_facts(collection: Collection) -> tuple[Counts, list[tuple[str, ServerRecord]]]:
    folders = shares(collection.frontier, share_count(collection.frontier))
    if not folders:
        raise CollectionError(f"{collection.path} holds no page yet", remedy="run: joro crawl SEED")
    frontiers = [Frontier(folder, read_only=True) for folder in folders]
    servers = [entry for frontier in frontiers for entry in frontier.all_servers()]
    counts = total_counts(frontiers)
    for frontier in frontiers:
        frontier.abandon()
    return counts, sorted(servers, key=lambda entry: -entry[1].visited)


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=None, show_header=False, title=facts["collection"], title_justify="left")
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name in ("found", "visited", "waiting", "servers"):
        table.add_row(name, f"{facts[name]:,}")
    for outcome, number in facts["outcomes"].items():
        table.add_row(f"  {outcome}", f"{number:,}")
    table.add_row("received", f"{facts['received_bytes'] / 1e6:,.1f} MB")
    table.add_row("archive", f"{facts['archive_bytes'] / 1e6:,.1f} MB in {facts['archive_files']} files")
    for server, number in facts["largest_servers"].items():
        table.add_row(f"  {server}", f"{number:,} pages")
    console.print(table)
