"""`joro index`: make collected pages searchable."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

from joro import indexer
from joro.cli.options import collection_option, quiet_option
from joro.cli.progress import bar
from joro.index.folding import Marks, marks
from joro.index.segment import Reader, place
from joro.indexer import Counts, Decision
from joro.store.collection import Collection


@click.command()
@collection_option
@click.option("--follow", is_flag=True, help="Go on as pages are collected, until Ctrl-C.")
@click.option("--rebuild", is_flag=True, help="Make the index anew from the whole archive.")
@quiet_option
def index(collection: Collection, follow: bool, rebuild: bool, quiet: bool) -> None:
    """Make collected pages searchable, each in its newest version.

    Goes on where it stopped; it may be interrupted at any time. Pages that are gone, or that ask not to
    be indexed (noindex), are taken out.

    \b
    joro index -C my-web
    joro index -C my-web --follow     beside joro crawl
    """
    if follow and rebuild:
        raise click.UsageError("--follow and --rebuild exclude each other; rebuild first")
    with _progress(quiet) as progress:
        if follow:
            counts = indexer.follow(collection, _stop(), progress)
        else:
            counts = indexer.index_new(collection, progress, rebuild=rebuild)
    if not quiet:
        click.echo(summary(counts, marks(Reader(place(collection.index)))))


def summary(counts: Counts, marked: Marks) -> str:
    """`12 captures: 9 indexed, 2 not HTML, 1 noindex; 9 pages searchable, of which 2 near copies`."""
    copies = f", of which {marked.near_copies:,} near copies" if marked.near_copies else ""
    searchable = f"{_pages(counts.searchable)} searchable{copies}"
    if not counts.captures:
        return f"nothing new; {searchable}"
    parts = ", ".join(
        f"{counts.decisions[decision]:,} {decision.value}"
        for decision in Decision
        if counts.decisions[decision]
    )
    captures = f"{counts.captures:,} {'capture' if counts.captures == 1 else 'captures'}"
    return f"{captures}: {parts}; {searchable}"


def _pages(number: int) -> str:
    return f"{number:,} {'page' if number == 1 else 'pages'}"


def _stop() -> threading.Event:
    """Set by Ctrl-C or a polite end from outside: what has been read is then committed, not dropped."""
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    return stop


@contextmanager
def _progress(quiet: bool) -> Iterator[indexer.Progress | None]:
    """A bar over the bytes of the archive, where there is someone to see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("indexing"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[captures]:,} captures, {task.fields[searchable]:,} pages searchable"),
        TimeRemainingColumn(),
    )
    with bar(*columns, quiet=quiet) as progress:
        line = progress.add_task("", total=None, captures=0, searchable=0)

        def show(counts: Counts) -> None:
            progress.update(
                line,
                completed=counts.read_bytes,
                total=max(counts.waiting_bytes, 1),
                captures=counts.captures,
                searchable=counts.searchable,
            )

        yield show
