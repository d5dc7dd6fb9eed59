"""`joro archive`: check the archive, list the versions of a page, show one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import click
import msgspec

from joro.archive import check as checking
from joro.archive import storing
from joro.archive.check import Verdict
from joro.archive.check_merged import check_merged, remake
from joro.archive.far import size_of
from joro.archive.index import NO_LIMITS, CaptureIndex, Limits
from joro.archive.merge import is_due, read_manifest
from joro.archive.merge import merge as merge_indexes
from joro.archive.names import warcs
from joro.archive.read import response_at
from joro.archive.times import time_typed, warc_date
from joro.cli.options import collection_option, quiet_option
from joro.cli.period import period, period_options
from joro.cli.progress import bar
from joro.clock import RealClock
from joro.errors import CollectionError, UsageError
from joro.model import Capture
from joro.parse.payload import payload
from joro.store.collection import Collection
from joro.store.orders import OrderBook
from joro.url import canonical

if TYPE_CHECKING:
    from rich.progress import TaskID

#: A file with thousands of bad records is one story, told by its first lines.
PROBLEMS_SHOWN = 3
_SEE_ORDERS = "see: joro takedown list, and joro takedown lift"


@click.group()
def archive() -> None:
    """Look after the archived captures."""


@archive.command()
@collection_option
@click.option("--mend", is_flag=True, help="Cut torn ends and make indexes anew where that is all it needs.")
def check(collection: Collection, mend: bool) -> None:
    """Verify every record and every index; exit code 1 if anything is wrong.

    \b
    joro archive check -C my-web
    joro archive check -C my-web --mend
    """
    with ExitStack() as held:
        if mend:
            held.enter_context(collection.lock("robot"))
        verdicts = _check_all(collection, busy=not mend and _is_busy(collection))
        disorderly = [verdict.warc for verdict in verdicts if verdict.disorder]
        if mend and disorderly:
            for warc in disorderly:
                checking.repair(collection.archive / warc)
            verdicts = _check_all(collection, busy=False)
        faults = check_merged(collection.archive)
        if mend and faults:
            remake(collection.archive)
            faults = check_merged(collection.archive)
    if not _report(verdicts, checking.missing(collection.archive), faults):
        raise click.exceptions.Exit(1)


def _is_busy(collection: Collection) -> bool:
    try:
        with collection.lock("robot"):
            return False
    except CollectionError:
        return True


def _check_all(collection: Collection, *, busy: bool) -> list[Verdict]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    directory = collection.archive
    names = warcs(directory)
    with bar(TextColumn("checking"), BarColumn(), DownloadColumn(), TimeRemainingColumn()) as progress:
        whole = progress.add_task("", total=sum(size_of(directory / name) for name in names))
        return [
            checking.check(directory, name, busy=busy, progress=lambda size: progress.advance(whole, size))
            for name in names
        ]


def _report(verdicts: list[Verdict], missing: list[str], faults: list[str]) -> bool:
    """One line per bad file, one for all; True when all is well."""
    bad = [verdict for verdict in verdicts if verdict.problems]
    for verdict in bad:
        shown = verdict.problems[:PROBLEMS_SHOWN]
        more = len(verdict.problems) - len(shown)
        click.echo(
            f"{verdict.warc}: {', '.join(shown)}{f' and {more:,} more' if more else ''}; {verdict.remedy}"
        )
    for name in missing:
        click.echo(f"{name}: is gone, only its index is left; restore it from a copy")
    for fault in faults:
        click.echo(f"merged index: {fault}; {checking.MEND}")
    records = sum(verdict.records for verdict in verdicts)
    captures = sum(verdict.captures for verdict in verdicts)
    is_whole = not (bad or missing or faults)
    end = "all whole" if is_whole else f"bad files: {len(bad) + len(missing) + len(faults)}"
    click.echo(f"WARC files: {len(verdicts)}, records: {records:,}, captures: {captures:,}; {end}")
    return is_whole


@archive.command()
@collection_option
@click.option("--if-due", is_flag=True, help="Only if enough WARCs were closed that it pays.")
@quiet_option
def merge(collection: Collection, if_due: bool, quiet: bool) -> None:
    """Merge the indexes of closed WARCs, so that captures are found at once however many there are.

    Robots have it done by themselves. It may be interrupted at any time, and robots, searches and replays
    go on meanwhile.

    \b
    joro archive merge -C my-web
    """
    if if_due and not is_due(collection.archive):
        return
    with _merge_progress(quiet) as progress:
        merged = merge_indexes(collection.archive, progress)
    if not quiet:
        runs = read_manifest(collection.archive).runs
        lines = sum(run.lines for run in runs)
        click.echo(f"WARC files merged: {merged}; {lines:,} captures in merged indexes: {len(runs)}")


@archive.command()
@collection_option
@click.option(
    "--free", is_flag=True, help="Then delete WARCs here whose copies are whole, but for each robot's last."
)
@quiet_option
def upload(collection: Collection, free: bool, quiet: bool) -> None:
    """Copy closed WARCs and indexes to another place: archive.url in joro.toml.

    That is a directory, or an object store such as s3://bucket/prefix (AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL say who and where). WARCs deleted here with --free
    are read from there, record by record. It may be interrupted at any time; what is there already is not
    copied again.

    \b
    joro archive upload -C my-web
    joro archive upload -C my-web --free
    """
    url = _place(collection)
    with _merge_progress(quiet) as progress:
        copied = storing.upload(collection.archive, url, lambda done, whole: progress("copying", done, whole))
    freed = storing.free(collection.archive) if free else []
    if not quiet:
        click.echo(
            f"WARC files copied to {url}: {copied}" + (f", deleted here: {len(freed)}" if free else "")
        )


@archive.command()
@collection_option
def attach(collection: Collection) -> None:
    """Take over the archive at archive.url: its indexes come here, its WARCs are read there.

    \b
    joro init copy && joro archive attach -C copy     with archive.url in copy/joro.toml
    """
    taken = storing.attach(collection.archive, _place(collection))
    click.echo(f"WARC files taken over: {taken}")


def _place(collection: Collection) -> str:
    url = collection.config.archive.url
    if not url:
        raise UsageError(
            "archive.url is empty", remedy=f"set it in {collection.path / 'joro.toml'}: s3://bucket/prefix"
        )
    return url


@contextmanager
def _merge_progress(quiet: bool) -> Iterator[Callable[[str, int, int], object]]:
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with bar(*columns, quiet=quiet) as progress:
        phases: dict[str, TaskID] = {}

        def show(what: str, done: int, whole: int) -> None:
            if what not in phases:
                phases[what] = progress.add_task(what, total=whole)
            progress.update(phases[what], completed=done)

        yield show


@archive.command("list")
@collection_option
@click.argument("what")
@click.option(
    "--by",
    type=click.Choice(["url", "prefix", "host", "domain", "digest"]),
    default="url",
    show_default=True,
    help="What is given; a domain is a host and all below it.",
)
@period_options
@click.option("--status", type=int, metavar="N", help="Only captures with this HTTP status.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_captures(
    collection: Collection,
    what: str,
    by: str,
    since: str | None,
    until: str | None,
    status: int | None,
    as_json: bool,
) -> None:
    """List captures: every version of a page, oldest first, or those of a directory, a host, a payload.

    \b
    joro archive list -C my-web https://example.org/
    joro archive list -C my-web --by prefix https://example.org/news/ --since 20261101
    joro archive list -C my-web --by domain example.org --status 404 --json
    """
    begin, end = period(since, until)
    limits = Limits(-math.inf if begin is None else begin, math.inf if end is None else end, status=status)
    captures = _found(_shown(collection), what, by, limits)
    first = next(captures, None)
    if first is None:
        raise _not_archived(collection, what, limits) if by == "url" else _none_found(what)
    if not as_json:
        url = "" if by == "url" else f"{'':<26}  URL"
        click.echo(f"{'time (UTC)':<19}  status  {'bytes':>9}  {'type':<24}  digest{url}")
    for capture in chain([first], captures):
        click.echo(_as_json(capture) if as_json else _as_line(capture, with_url=by != "url"))


def _found(index: CaptureIndex, what: str, by: str, limits: Limits) -> Iterator[Capture]:
    if by == "host" or by == "domain":
        return index.of_host(what, subdomains=by == "domain", limits=limits)
    if by == "digest":
        return index.of_digest(what if ":" in what else f"sha1:{what}", limits)
    return index.under(what, limits) if by == "prefix" else index.versions(canonical(what), limits)


def _as_line(capture: Capture, *, with_url: bool) -> str:
    time = warc_date(capture.time)[:19].replace("T", " ")
    line = f"{time}  {capture.status:>6}  {capture.length:>9,}  {capture.mime:<24}  {capture.digest[5:]}"
    return f"{line}  {capture.url}" if with_url else line


def _as_json(capture: Capture) -> bytes:
    return msgspec.json.encode({**msgspec.structs.asdict(capture), "time": warc_date(capture.time)})


@archive.command()
@collection_option
@click.argument("url")
@click.option("--time", "moment", metavar="TIME", help="The version closest to 2026-11-16T05:55 or 20261116.")
@click.option("--headers", is_flag=True, help="Print the response head, too.")
@click.option(
    "--raw", is_flag=True, help="Print the body as received: compressed and in chunks if it came so."
)
def show(collection: Collection, url: str, moment: str | None, headers: bool, raw: bool) -> None:
    """Print an archived page: its newest version, or the one closest to a time.

    \b
    joro archive show -C my-web --time 2026-11-01 https://example.org/ > old.html
    """
    index = _shown(collection)
    page = canonical(url)
    capture = index.newest(page) if moment is None else index.nearest(page, time_typed(moment, "--time"))
    if capture is None:
        raise _not_archived(collection, url)
    response = response_at(collection.archive, capture)
    body = response.body if raw else payload(response)
    click.echo((response.head if headers else b"") + body, nl=False)


def _shown(collection: Collection) -> CaptureIndex:
    """The captures that no order withholds."""
    return CaptureIndex(
        collection.archive, withheld=OrderBook(collection.orders, RealClock().now).is_withheld
    )


def _none_found(what: str) -> UsageError:
    return UsageError(
        f"no capture of {what} was found",
        remedy="see whether --by, --since, --until and --status are meant",
    )


def _not_archived(collection: Collection, url: str, limits: Limits = NO_LIMITS) -> UsageError:
    """Why nothing of a page is shown."""
    page, clock = canonical(url), RealClock()
    book, index = OrderBook(collection.orders, clock.now), CaptureIndex(collection.archive)
    within = next(index.versions(page, limits), None)  # whatever orders say
    if within is None and next(_shown(collection).versions(page), None) is not None:
        return _none_found(url)
    hidden = within or next(index.versions(page), None)
    if hidden is not None and (order := book.order_about(hidden)) is not None:
        return UsageError(f"{url} is not shown: {order.sentence}", remedy=_SEE_ORDERS)
    if (order := book.latest().forbids(page, clock.now())) is not None:
        why = f"is not in the archive, and must not be visited: {order.sentence}"
        return UsageError(f"{url} {why}", remedy=_SEE_ORDERS)
    return UsageError(
        f"{url} is not in the archive", remedy=f"collect it: joro crawl -C {collection.path} {url}"
    )
