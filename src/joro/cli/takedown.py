"""`joro takedown`: hide, erase, embargo and exclude pages on request, and keep a record of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import msgspec

from joro.cli.options import collection_option, quiet_option
from joro.cli.period import period, period_options, time_in
from joro.cli.progress import bar
from joro.clock import RealClock
from joro.errors import UsageError
from joro.model import DAY_S
from joro.store.collection import Collection
from joro.store.orders import EMBARGO, EXCLUSION, LIFT, TAKEDOWN, Order, OrderBook
from joro.url import canonical, host_of

_DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
#: "." or ".." in place of a name in a path, escaped or not.
_DOTS = re.compile(r"[/\\](?:\.|%2e){1,2}(?=[/\\]|$)", re.IGNORECASE)

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def takedown() -> None:
    """Hide, erase, embargo and exclude pages on request.

    An order acts at once, everywhere: in search, replay, exports, the API and SQL, also in programs that are
    running. What a take-down means is erased from the disk by `joro takedown collect`.
    """


_PAGES = (
    click.option("--url", metavar="URL", help="One page."),
    click.option("--prefix", metavar="URL", help="All pages whose URL begins so."),
    click.option("--host", metavar="HOST", help='A host; "*.example.org": it and all names below it.'),
)
_CAPTURES = (
    click.option("--digest", metavar="SHA1", help='A payload wherever it is: "sha1:" and 32 letters.'),
    click.option("--all", "everything", is_flag=True, help="Every capture (give dates)."),
)
_WHY = (
    click.option("--reason", default="", metavar="WHY", help="Why; kept with the order."),
    click.option("--requester", default="", metavar="WHO", help="Who asked for it."),
)


def target_options(command: F) -> F:
    """What an order is about (`target`), and who wants it why."""
    for option in reversed((*_PAGES, *_CAPTURES, *_WHY)):
        command = option(command)
    return command


def page_options(command: F) -> F:
    """The same where it is about pages, which a robot visits or not."""
    for option in reversed((*_PAGES, *_WHY)):
        command = option(command)
    return command


@takedown.command()
@collection_option
@target_options
@period_options
def add(
    collection: Collection, since: str | None, until: str | None, reason: str, requester: str, **what: Any
) -> None:
    """Take pages down: hidden from now on, never visited again, erased by `joro takedown collect`.

    \b
    joro takedown add -C my-web --host example.org --requester "its owner" --reason "asked by mail"
    joro takedown add -C my-web --prefix https://example.org/private/
    joro takedown add -C my-web --url https://example.org/old --until 2026-01-01
    """
    _give(collection, TAKEDOWN, what, since, until, reason=reason, requester=requester)
    click.echo(f"erase it from the disk: joro takedown collect -C {collection.path}")


@takedown.command()
@collection_option
@target_options
@period_options
@click.option("--opens", metavar="TIME", help="Hidden until that time.")
@click.option(
    "--days",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Hidden so long after each capture.",
)
def embargo(
    collection: Collection,
    since: str | None,
    until: str | None,
    reason: str,
    requester: str,
    opens: str | None,
    days: float | None,
    **what: Any,
) -> None:
    """Hide captures until a date, or for some days each; then they show by themselves.

    \b
    joro takedown embargo -C my-web --host example.org --opens 2027-01-01
    joro takedown embargo -C my-web --prefix https://example.org/news/ --days 30
    """
    if (opens is None) == (days is None):
        raise UsageError("an embargo ends somewhere", remedy="give --opens TIME or --days N")
    after_s = (days or 0.0) * DAY_S
    if not math.isfinite(after_s):
        raise UsageError(f"--days {days} has no end", remedy="give a number of days, or --opens TIME")
    end = {"opens": time_in("--opens", opens), "after_s": after_s}
    _give(collection, EMBARGO, what, since, until, reason=reason, requester=requester, **end)


@takedown.command()
@collection_option
@page_options
def exclude(collection: Collection, reason: str, requester: str, **what: Any) -> None:
    """Never visit pages again; what was collected stays and is shown.

    \b
    joro takedown exclude -C my-web --host example.org --requester "its owner"
    """
    _give(collection, EXCLUSION, what, None, None, reason=reason, requester=requester)


@takedown.command()
@collection_option
@click.argument("number", type=click.IntRange(min=1))
@click.option("--reason", default="", metavar="WHY", help="Why; kept with the order.")
@click.option("--requester", default="", metavar="WHO", help="Who asked for it.")
def lift(collection: Collection, number: int, reason: str, requester: str) -> None:
    """Let an order no longer hold; what was erased does not come back.

    \b
    joro takedown lift -C my-web 3 --reason "a mistake"
    """
    book = _book(collection)
    if number not in {order.number for order in book.latest().all}:
        raise UsageError(f"no order {number} is in force", remedy="see: joro takedown list")
    book.give(Order(0, LIFT, "order", str(number), 0.0, reason=reason, requester=requester))
    click.echo(f"order {number} is lifted")


@takedown.command("list")
@collection_option
@click.option("--audit", is_flag=True, help="What was erased when, instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_orders(collection: Collection, audit: bool, as_json: bool) -> None:
    """List every order ever given, or every collection of what they take down.

    \b
    joro takedown list -C my-web
    joro takedown list -C my-web --audit --json
    """
    from joro.takedown import history

    records: list[Any] = history(collection.orders) if audit else _book(collection).history()
    if as_json:
        for record in records:
            click.echo(json.dumps(msgspec.to_builtins(record), ensure_ascii=False))
    elif not records:
        click.echo("none")
    else:
        _print_audit(records) if audit else _print_orders(collection, records)


@takedown.command()
@collection_option
@quiet_option
def collect(collection: Collection, quiet: bool) -> None:
    """Erase from the disk what take-downs mean: WARCs, indexes, tables, frontier.

    May be interrupted at any time, and run again. Files that a robot is writing wait until it closes them.

    \b
    joro takedown collect -C my-web
    """
    from joro import indexer
    from joro.redistribute.forget import forget as forget_packages
    from joro.takedown import sweep

    copies = {"index": indexer.forget, "tables": _forget_tables, "packages": forget_packages}
    with _progress(quiet) as progress:
        swept = sweep(collection, RealClock(), copies, progress)
    done = swept.archive
    click.echo(
        f"captures erased: {done.captures:,} ({done.erased_bytes:,} bytes, WARC files: {len(done.warcs):,}), "
        f"pages forgotten: {swept.pages:,}, pages taken out of the index: {swept.copies.get('index', 0):,}"
    )
    if done.kept:
        click.echo(f"later captures that needed their bytes, written anew: {done.kept:,}")
    if remade := swept.copies.get("tables", 0):
        click.echo(
            f"joro sql shows no rows of the WARC files concerned ({remade:,}) before: "
            f"joro tables -C {collection.path}"
        )
    if done.waiting:
        click.echo(f"WARC files that a robot is writing: {len(done.waiting)}; run it again when it has ended")
    for part in swept.busy:
        again = "the indexer does it now" if part == "index" else "run it again when they have ended"
        click.echo(f"others work in the {part}: {again}")


def _forget_tables(collection: Collection) -> int:
    from joro.tables import making

    tables = collection.part("tables")
    with collection.lock("tables"):
        changed = set(making.missing(collection.archive, tables)) & set(making.noted(tables))
        making.forget(tables, changed)
    return len(changed)


def _give(
    collection: Collection,
    act: str,
    what: dict[str, Any],
    since: str | None,
    until: str | None,
    **other: Any,
) -> None:
    target, value = _target(what)
    first, end = period(since, until)
    if target == "all" and first is None and end is None:
        raise UsageError("--all without dates means everything", remedy="give --since or --until, too")
    order = _book(collection).give(Order(0, act, target, value, 0.0, first, end, **other))
    click.echo(f"{order.sentence}; captures that are meant: {_count(collection, order):,}")


def _count(collection: Collection, order: Order) -> int:
    from joro.archive.index import CaptureIndex
    from joro.takedown import meant

    return sum(1 for _ in meant(CaptureIndex(collection.archive), order))


def _target(what: dict[str, Any]) -> tuple[str, str]:
    given = {name: value for name, value in what.items() if value}
    if len(given) != 1:
        raise UsageError(
            "an order is about one thing", remedy="give one of --url, --prefix, --host, --digest and --all"
        )
    ((name, value),) = given.items()
    if name == "everything":
        return "all", ""
    if name == "digest":
        if not _DIGEST.fullmatch(value):
            raise UsageError(f"--digest {value!r} is no digest", remedy="write it as joro archive list does")
        return name, value
    if name == "host":
        return name, host_target(value)
    return name, _prefix(value) if name == "prefix" else canonical(_with_scheme(value))


def _with_scheme(text: str) -> str:
    return text if "://" in text else f"http://{text}"


def _prefix(text: str) -> str:
    """How URLs begin: for a page an empty query is the same as none, for a prefix it is not."""
    start = _with_scheme(text.strip()).partition("#")[0]
    path = re.sub(r"[\t\r\n]", "", start.partition("?")[0])  # as those who read URLs do
    if _DOTS.search(path):
        raise UsageError(
            f"--prefix {text!r} has dots in place of a name, which may lead to more than is meant",
            remedy=f"write it without them: is it {canonical(start)}?",
        )
    spelled = canonical(start)
    return f"{spelled}?" if start.endswith("?") and "?" not in spelled else spelled


def host_target(text: str) -> str:
    """A host as orders have it; `*.` in front stands for all names below it, too."""
    name = text.strip().removeprefix("*.")
    if not name or "/" in name or "*" in name or ":" in name.strip("[]").rpartition("]")[2]:
        raise UsageError(f"--host {text!r} is no host", remedy='write "example.org" or "*.example.org"')
    return ("*." if text.strip().startswith("*.") else "") + host_of(canonical(f"http://{name}/"))


def _book(collection: Collection) -> OrderBook:
    return OrderBook(collection.orders, RealClock().now)


def _print_orders(collection: Collection, orders: list[Order]) -> None:
    from joro.archive.times import warc_date

    standing = {order.number for order in _book(collection).latest().all}
    now = RealClock().now()
    for order in orders:
        state = "" if order.number in standing or order.act == LIFT else ", lifted"
        if order.act == EMBARGO and order.opens is not None and order.opens <= now:
            state = ", open"
        span = "".join(
            f" {word} {warc_date(time)[:16].replace('T', ' ')}"
            for word, time in (("since", order.since), ("until", order.until), ("opens", order.opens))
            if time is not None
        )
        span += f" for {order.after_s / DAY_S:g} days after each capture" if order.after_s else ""
        said = "".join(f"; {text}" for text in (order.requester, order.reason) if text)
        date = warc_date(order.time)[:16].replace("T", " ")
        click.echo(
            f"{order.number:>4}  {date}  {order.act} of {order.target} {order.value}{span}{state}{said}"
        )


def _print_audit(records: list[Any]) -> None:
    from joro.archive.times import warc_date

    for record in records:
        date = warc_date(record.time)[:19].replace("T", " ")
        click.echo(
            f"{record.collection:>4}  {date}  {record.event}  orders: {len(record.orders)}, captures: "
            f"{record.captures:,}, bytes: {record.erased_bytes:,}, pages: {record.pages:,}"
        )


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

    with bar(TextColumn("erasing"), BarColumn(), MofNCompleteColumn(), quiet=quiet) as progress:
        line = progress.add_task("", total=None)
        total: list[int] = []

        def show(warc: str, left: int) -> None:
            total[:] = total or [left]
            progress.update(line, completed=total[0] - left, total=total[0])

        yield show
