"""`joro search`: search the collected pages."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.text import Text

from joro.cli.options import collection_option, number_option
from joro.clock import RealClock
from joro.errors import CollectionError
from joro.index import query as queries
from joro.index.query import Results, plain
from joro.index.segment import Reader, place
from joro.index.snippet import Marked
from joro.store.collection import Collection
from joro.store.orders import OrderBook
from joro.url import readable


@click.command()
@click.argument("query", nargs=-1, required=True, metavar="QUERY…")
@collection_option
@number_option("-n", "limit", default=10, least=1, most=1_000, help="Show at most N results.")
@click.option(
    "--all", "every", is_flag=True, help="Show each near copy as a result of its own, and soft 404s, too."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, the same as the portal's /api/search.")
def search(query: tuple[str, ...], collection: Collection, limit: int, every: bool, as_json: bool) -> None:
    """Search the collected pages: all words must be there.

    Pages that say nearly the same are one result, with the others named below; pages that only say that
    there is no such page (soft 404) are counted. Finding nothing is an answer, not an error: the exit code
    is 0.

    \b
    joro search -C my-web 検索 エンジン
    joro search -C my-web '"full text" -engine'    a phrase, and without a word
    joro search -C my-web web site:example.org lang:en
    """
    reader = Reader(place(collection.index))
    if reader.searcher() is None:
        raise CollectionError(
            f"nothing in {collection.path} is searchable yet", remedy=f"run: joro index -C {collection.path}"
        )
    orders = OrderBook(collection.orders, RealClock().now)
    found = queries.search(reader, " ".join(query), limit=limit, hidden=orders.hides(), every=every)
    if as_json:
        click.echo(json.dumps(plain(found), ensure_ascii=False, indent=2))
    else:
        _print(found, len(reader))


def _print(found: Results, searchable: int) -> None:
    console = Console(highlight=False, emoji=False, markup=False)
    is_piped = not console.is_terminal  # only a person's screen has an end on the right
    for hit in found.hits:
        title = _marked(hit.title, "bold") if hit.title.text else Text("(no title)", "dim")
        console.print(title, soft_wrap=is_piped)
        console.print(Text(readable(hit.url), "green"), soft_wrap=True)
        console.print(_marked(hit.snippet), soft_wrap=is_piped)
        if hit.soft_404:
            console.print(Text("says that there is no such page (soft 404)", "dim"), soft_wrap=is_piped)
        if hit.similar:
            pages = "1 similar page" if hit.similar == 1 else f"{hit.similar:,} similar pages"
            console.print(Text(f"{pages}, shown with --all:", "dim"), soft_wrap=is_piped)
            for url in hit.copies:
                console.print(Text(f"  {readable(url)}", "dim"), soft_wrap=True)
        console.print()
    match = (
        "1 page matches"
        if found.total == 1
        else f"{found.total:,} pages match"
        if found.total
        else "no page matches"
    )
    console.print(Text(f"{match}; {searchable:,} searchable, {found.elapsed_s * 1000:.1f} ms", "dim"))
    if found.left_out:
        pages = "1 page says" if found.left_out == 1 else f"{found.left_out:,} pages say"
        console.print(Text(f"{pages} that there is no such page (soft 404), shown with --all", "dim"))


def _marked(marked: Marked, style: str = "") -> Text:
    text = Text(style=style)
    for piece, highlighted in marked.pieces():
        text.append(piece, "bold yellow" if highlighted else None)
    return text
