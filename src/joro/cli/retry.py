"""`joro retry`: let pages that were visited wait once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import click

from joro.cli.options import collection_option
from joro.config import servers_like
from joro.discover.seeds import with_scheme
from joro.errors import CollectionError, UsageError
from joro.store.accounts import FAILED
from joro.store.again import wait_again
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import share_count, shares
from joro.store.records import PageRecord
from joro.url import canonical, fingerprint, readable, server_of

#: Robots of a set that was killed end by themselves, within this time.
PATIENCE_S = 40.0


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]…")
@collection_option
@click.option("--failed", is_flag=True, help="Pages whose server gave no proper answer.")
@click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="PATTERN",
    help='Pages of a server: "example.jp", "*.example.jp" or "http://one.example:8080". May be repeated.',
)
@click.option("--all", "everything", is_flag=True, help="Every page visited.")
def retry(
    urls: tuple[str, ...], collection: Collection, failed: bool, servers: tuple[str, ...], everything: bool
) -> None:
    """Let pages that were visited wait again; the next crawl collects them.

    Given together, --failed and --server mean failed pages of that server. Nothing is deleted: versions
    collected before stay in the archive, and searchable until a newer one takes their place. A server
    keeps the pause it was promised. Pages given by their URLs come before all others of their servers.
    URLs and servers that the collection does not know are named; if it knows none of them, that is an error.
    With --all, links that a quota turned away count as never met: after raising it, they are followed.

    \b
    joro retry -C my-web --failed                      whatever did not answer
    joro retry -C my-web --server www.example.org      one site
    joro retry -C my-web --failed --server "*.org"     failed pages of some
    joro retry -C my-web --all                         everything
    joro retry -C my-web https://example.org/          one page
    """
    wanted = _wish(urls, failed, servers, everything)
    if urls or servers:
        _tell_unknown(collection, [canonical(with_scheme(url)) for url in urls], servers)
    number = _let_wait(collection, wanted, urgent=bool(urls), anew=everything)
    if number:
        pages = "1 page waits" if number == 1 else f"{number:,} pages wait"
        click.echo(f"{pages} again; collect: joro crawl -C {collection.path}")
    else:
        click.echo("no page visited is like that, or all of them wait already")


def _wish(
    urls: tuple[str, ...], failed: bool, servers: tuple[str, ...], everything: bool
) -> Callable[[PageRecord], bool]:
    if not (urls or failed or servers or everything):
        raise UsageError("retry what", remedy="give --failed, --server PATTERN, --all, or a URL")
    if (urls and (failed or servers or everything)) or (everything and (failed or servers)):
        raise UsageError(
            "URLs, --all and --failed or --server mean different pages", remedy="give one of them"
        )
    if urls:
        chosen = {canonical(with_scheme(url)) for url in urls}
        return lambda record: record.url in chosen
    is_meant = servers_like([_server(pattern) for pattern in servers or ("*",)], "--server")
    return lambda record: (not failed or record.outcome in FAILED) and is_meant(server_of(record.url))


def _server(pattern: str) -> str:
    plain = pattern.strip().removesuffix("/")
    if not plain or "/" in plain.partition("://")[2] or ("/" in plain and "://" not in plain):
        raise UsageError(
            f"--server {pattern!r} is no server",
            remedy='write "example.jp", "*.example.jp" or "http://one.example:8080"',
        )
    return plain


def _tell_unknown(collection: Collection, urls: list[str], patterns: tuple[str, ...]) -> None:
    """Name those of the URLs or patterns that mean nothing here; an error, when none of them does."""
    with ExitStack() as stack:
        frontiers = [Frontier(folder, read_only=True) for folder in _folders(collection)]
        for frontier in frontiers:
            stack.callback(frontier.abandon)
        unknown = [url for url in dict.fromkeys(urls) if not any(_knows(each, url) for each in frontiers)]
        # A server without pages is known for its robots.txt only.
        names = (name for each in frontiers for name, record in each.all_servers() if record.found)
        strange = _without_server(patterns, names) if patterns else []
    if unknown:
        problem = f"not known here: {', '.join(map(readable, unknown))}"
        remedy = f"mend its spelling, or collect it: joro crawl -C {collection.path} URL"
        _tell(problem, remedy, is_all=len(unknown) == len(set(urls)))
    if strange:
        problem = f"no server known here is like --server {', '.join(strange)}"
        remedy = f"mend it, or collect from there: joro crawl -C {collection.path} URL"
        _tell(problem, remedy, is_all=len(strange) == len(set(patterns)))


def _knows(frontier: Frontier, url: str) -> bool:
    return frontier.visited(fingerprint(url)) is not None or frontier.queued(url) is not None


def _without_server(patterns: tuple[str, ...], names: Iterable[str]) -> list[str]:
    """The patterns that none of these servers is like."""
    left = {pattern: servers_like([_server(pattern)], "--server") for pattern in patterns}
    for name in names:
        left = {pattern: is_meant for pattern, is_meant in left.items() if not is_meant(name)}
        if not left:
            break
    return list(left)


def _tell(problem: str, remedy: str, *, is_all: bool) -> None:
    if is_all:
        raise UsageError(problem, remedy=remedy)
    click.echo(f"{problem}; {remedy}", err=True)


def _folders(collection: Collection) -> list[Path]:
    folders = shares(collection.frontier, share_count(collection.frontier))
    if not folders:
        raise CollectionError(f"{collection.path} holds no page yet", remedy="run: joro crawl SEED")
    return folders


def _let_wait(
    collection: Collection, wanted: Callable[[PageRecord], bool], *, urgent: bool, anew: bool
) -> int:
    number = 0
    with collection.lock("robot"):
        for place, folder in enumerate(_folders(collection)):
            with collection.lock(f"robot-{place}", patience_s=PATIENCE_S):
                number += wait_again(folder, wanted, urgent=urgent, anew=anew)
    return number
