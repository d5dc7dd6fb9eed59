"""`joro sql`: ask the tables a question in SQL."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from joro.cli.options import collection_option
from joro.clock import RealClock
from joro.errors import UsageError
from joro.store.collection import Collection
from joro.store.orders import OrderBook
from joro.tables import making
from joro.tables.query import Answer, ask

#: What a person reads at a time; programs want --csv or --json, and get all.
ROWS_SHOWN = 1_000
#: Columns of a line that goes into a file.
WIDE = 100_000


@click.command()
@collection_option
@click.argument("question")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with a head line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def sql(collection: Collection, question: str, as_csv: bool, as_json: bool) -> None:
    """Ask the tables a question: one SELECT, in the SQL of DuckDB.

    There are two tables, made by `joro tables`. Times are UTC. Both are partitioned by day and by
    part of the servers, and have these two as columns, too. The third is worked out from captures.

    \b
    captures  url surt host server time status mime revisit charset language title text_chars links
              rights digest text_digest text_sketch soft_404 elapsed_ms truncated length warc
              offset day part
    links     source source_host target target_host anchor rel kind time digest warc day part
    near_copies  url copy_of share

    \b
    joro sql -C my-web "select status, count(*) as captures from captures group by all"
    joro sql -C my-web "describe captures"
    joro sql -C my-web --csv "select url, title from captures where language = 'ja' and day = '2026-11-16'"
    joro sql -C my-web --json "select target_host, count(distinct source_host) as votes from links
                               where source_host <> target_host group by all order by votes desc limit 20"

    Nothing is changed, no other file is opened and nothing goes to the network. What an order withholds
    is not there.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other; choose one")
    tables = collection.part("tables")
    if not making.noted(tables):
        raise UsageError(
            f"{collection.path} has no tables yet", remedy=f"make them: joro tables -C {collection.path}"
        )
    now = RealClock().now
    answer = ask(tables, question, OrderBook(collection.orders, now).latest(), now())
    if as_csv:
        _print_csv(answer)
    elif as_json:
        _print_json(answer)
    else:
        _print_table(answer)


def _print_csv(answer: Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.names)
    writer.writerows(answer.rows())


def _print_json(answer: Answer) -> None:
    for row in answer.rows():
        named = dict(zip(answer.names, row, strict=True))
        click.echo(json.dumps(named, ensure_ascii=False, default=str))


def _print_table(answer: Answer) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = answer.rows()
    shown = list(islice(rows, ROWS_SHOWN))
    table = Table(box=None, pad_edge=False, header_style="bold")
    numbers = [
        all(isinstance(row[place], (int, float)) for row in shown) for place in range(len(answer.names))
    ]
    for name, is_number in zip(answer.names, numbers, strict=True):
        table.add_column(escape(name), justify="right" if is_number and shown else "left", overflow="fold")
    for row in shown:
        table.add_row(*(escape(text) for text in _texts(row)))
    # Only a person's screen has an end on the right.
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
    if next(rows, None) is not None:
        click.echo(f"… and more than {ROWS_SHOWN:,} rows; all of them: --csv or --json", err=True)


def _texts(row: tuple[Any, ...]) -> Iterator[str]:
    for value in row:
        text = "" if value is None else str(value)
        yield (
            text if text.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in text)
        )
