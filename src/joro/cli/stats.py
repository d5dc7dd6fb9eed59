"""`joro stats`: what the collection holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click
import msgspec

from joro.cli.options import collection_option
from joro.cli.stats_servers import hardest, lines
from joro.errors import CollectionError
from joro.explainer.explainer import moment
from joro.index.folding import marks
from joro.index.segment import Reader, place
from joro.robot.batches import BatchReport
from joro.robot.batches import last_report as last_batch
from joro.robot.planned import ON_TOP, PlanReport, combined, last_report
from joro.store.accounts import Coverage, coverage
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import share_count, shares, total_counts
from joro.store.pause import Pause, paused
from joro.store.records import Counts, ServerRecord

#: So many of the largest servers are listed.
LARGEST = 10
#: The accounts of `store.accounts` as people read them.
NAMES = {
    "collected": "collected",
    "missing": "missing",
    "unreachable": "unreachable",
    "disallowed": "refused by robots.txt",
    "refused": "refused by our rules",
    "waiting": "waiting for a visit",  # the first one, or another that somebody asked for
}


@click.command()
@collection_option
@click.option(
    "--servers",
    "most",
    default=0,
    type=click.IntRange(min=0),
    metavar="N",
    help="Tell of the N servers that missed most visits, or are asked for most, how they are kept fresh.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def stats(collection: Collection, most: int, as_json: bool) -> None:
    """Show what the collection holds: coverage of pages and servers, the largest servers, archive size.

    Every page found stands in exactly one account, every server in the best of its pages' accounts. Where
    pages are kept fresh, the last planning round is told, too: what they wish for, what it takes, what is
    kept of it, and what was missed; and, of pages taken in batches, how the last batch ended. Of
    searchable pages, near copies and soft 404s are counted.

    \b
    joro stats -C my-web
    joro stats -C my-web --json | jq .coverage
    joro stats -C my-web --json | jq .plan
    joro stats -C my-web --servers 20
    """
    facts = _facts(collection)
    if most:
        facts["kept_fresh"] = hardest(collection, most)
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        _print(facts)


def _facts(collection: Collection) -> dict[str, Any]:
    counts, servers, plans, batches = _frontier_facts(collection)
    accounts = _coverage(counts, servers)
    warcs = list(collection.archive.glob("*.warc.gz"))
    return {
        "collection": str(collection.path),
        "found": sum(accounts.pages.values()),
        "visited": counts.visited,
        "waiting": counts.found - counts.visited,
        "outcomes": {name: number for name, number in _by_number(counts.outcomes) if number},
        "coverage": asdict(accounts),
        "received_bytes": counts.bytes,
        "archive_bytes": sum(warc.stat().st_size for warc in warcs),
        "archive_files": len(warcs),
        "search": marks(Reader(place(collection.index)))._asdict(),
        "servers": len(servers),
        "largest_servers": {name: record.visited for name, record in servers[:LARGEST] if record.visited},
        "plan": msgspec.to_builtins(combined(plans)) if plans else None,
        "robots_planning": len(plans),
        "batches": msgspec.to_builtins(batches),
        "paused": msgspec.to_builtins(paused(collection.path)),
    }


def _by_number(numbers: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(numbers.items(), key=lambda entry: -entry[1])


def _coverage(counts: Counts, servers: list[tuple[str, ServerRecord]]) -> Coverage:
    return coverage(counts, [record for _, record in servers])


def _frontier_facts(
    collection: Collection,
) -> tuple[Counts, list[tuple[str, ServerRecord]], list[PlanReport], list[BatchReport]]:
    folders = shares(collection.frontier, share_count(collection.frontier))
    if not folders:
        raise CollectionError(f"{collection.path} holds no page yet", remedy="run: joro crawl SEED")
    frontiers = [Frontier(folder, read_only=True) for folder in folders]
    # A server without pages is known for its robots.txt only: others' lead there.
    servers = [entry for frontier in frontiers for entry in frontier.all_servers() if entry[1].found]
    counts = total_counts(frontiers)
    plans = [report for frontier in frontiers if (report := last_report(frontier)) is not None]
    batches = [batch for frontier in frontiers if (batch := last_batch(frontier)) is not None]
    for frontier in frontiers:
        frontier.abandon()
    return counts, sorted(servers, key=lambda entry: -entry[1].visited), plans, batches


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, title=facts["collection"], title_justify="left")
    table.add_column(style="bold")
    table.add_column("pages", justify="right")
    table.add_column("servers", justify="right")
    pages, servers, reasons = (facts["coverage"][name] for name in ("pages", "servers", "reasons"))
    table.add_row("found", f"{sum(pages.values()):,}", f"{sum(servers.values()):,}")
    for account, name in NAMES.items():
        table.add_row(f"  {name}", f"{pages[account]:,}", f"{servers[account]:,}")
        for reason, number in reasons.get(account, {}).items():
            if list(reasons[account]) != [account]:
                table.add_row(f"    [dim]{reason}[/]", f"[dim]{number:,}[/]")
    console = Console()
    if facts["paused"] is not None:
        word = str(msgspec.convert(facts["paused"], Pause))
        console.print(word, style="bold", highlight=False, markup=False, soft_wrap=True)
    console.print(table)
    heading = "\n[bold]largest servers[/]" if facts["largest_servers"] else ""
    console.print(f"{_sizes(facts)}{heading}", highlight=False)
    for server, number in facts["largest_servers"].items():
        console.print(f"  {number:>9,} pages  {server}", highlight=False, markup=False, soft_wrap=True)
    if facts["plan"] is not None:
        console.print("\n[bold]keeping pages fresh[/]", highlight=False)
        for line in _plan(msgspec.convert(facts["plan"], PlanReport), facts["robots_planning"]):
            console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
    for batch in msgspec.convert(facts["batches"], list[BatchReport]):
        console.print(f"  {batch}", highlight=False, markup=False, soft_wrap=True)
    for line in lines(facts.get("kept_fresh", [])):
        click.echo(line)


def _plan(plan: PlanReport, robots: int) -> Iterator[str]:
    """The last planning round, of all robots together."""
    whose = f", {robots} robots together" if robots > 1 else ""
    yield f"as planned on {moment(plan.time)}{whose}"
    yield f"wished     {plan.visits_per_day:,.0f} visits a day to {plan.servers:,} servers"
    used = 100 * plan.need / plan.sockets if plan.sockets else 0.0
    yield f"needed     {plan.bound} of {plan.sockets} sockets at least (bound C): utilisation {used:.1f} %"
    if plan.is_revised:
        share = 100 * plan.visits_per_day_after / plan.visits_per_day
        yield (
            f"revised    to {plan.visits_per_day_after:,.0f} visits a day ({share:.1f} %, {plan.how}),"
            f" which needs {plan.bound_after} sockets"
        )
    else:
        yield "revised    nothing: all of it can be kept"
    if plan.is_overdrawn:
        yield (
            f"asked for  {plan.asked_per_day:,.0f} visits a day (visits_per_day); sockets, politeness and"
            f" least_interval_s allow {plan.affordable_per_day:,.0f}"
        )
    elif plan.is_beyond:
        yield f"asked for  {plan.asked_per_day:,.0f} visits a day (visits_per_day); {ON_TOP} take more"
    yield f"sockets    {plan.for_refresh} for known pages, {plan.for_discovery} for new ones"
    yield f"missed     {plan.missed:,} visits in the time before"
    yield f"too much   for {plan.infeasible_servers:,} servers, for {plan.infeasible_after:,} when revised"


def _sizes(facts: dict[str, Any]) -> str:
    received, archived = facts["received_bytes"] / 1e6, facts["archive_bytes"] / 1e6
    files = "1 file" if facts["archive_files"] == 1 else f"{facts['archive_files']:,} files"
    sizes = f"received {received:,.1f} MB, archive {archived:,.1f} MB in {files}"
    return f"\n{sizes}\n{_searchable(facts['search'])}"


def _searchable(search: dict[str, int]) -> str:
    copies, missing = search["near_copies"], search["soft_404"]
    marked = f": {copies:,} near copies of others, {missing:,} soft 404s" if copies or missing else ""
    return f"searchable {search['searchable']:,} pages{marked}"
