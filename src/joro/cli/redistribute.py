"""`joro redistribute`: hand captures to registered parties, and receive them from other collections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from joro.cli.options import (
    ca_option,
    collection_option,
    directory_option,
    file_option,
    make_folder,
    number_option,
    plain_option,
    quiet_option,
)
from joro.cli.period import period, period_options
from joro.cli.progress import byte_bar
from joro.clock import RealClock
from joro.errors import JoroError, UsageError
from joro.parse.rights import Purpose
from joro.store.collection import Collection

if TYPE_CHECKING:
    from joro.redistribute.caller import Caller
    from joro.redistribute.journal import Transferred
    from joro.redistribute.sources import Source

PORT = 8767

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def redistribute() -> None:
    """Hand captures to registered parties, and receive them from other collections.

    A collection that others fetch from runs `serve`, and registers them with `party add`. One that gathers
    what others hold lists them in redistribution.toml and runs `collect`; those behind a firewall run `push`.
    Whoever has no collection runs `fetch`.
    """


def caller_options(command: F) -> F:
    """Whom to talk to, and how (`url`, `token_file`, `ca`, `plain`)."""
    for option in (
        plain_option("token"),
        ca_option,
        file_option(
            "--token-file",
            required=True,
            help="The file with the token that the service's operator gave you.",
        ),
    ):
        command = option(command)
    return click.argument("url")(command)


schedule_option = click.option(
    "--schedule",
    metavar="CRON",
    help='Go on for ever, at these times (UTC), as crontab has them: "30 3 * * *".',
)


@redistribute.command()
@collection_option
@click.option(
    "--address", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."
)
@number_option("--port", default=PORT, most=65_535, help="Port; 0: any.")
@file_option("--certificate", help="Certificate chain for TLS (PEM).", exists=True)
@file_option("--key", help="Its key (PEM).", exists=True)
@quiet_option
def serve(
    collection: Collection, address: str, port: int, certificate: Path | None, key: Path | None, quiet: bool
) -> None:
    """Serve packages to registered parties, and take in what they push, until Ctrl-C.

    \b
    joro redistribute serve -C my-web
    joro redistribute serve -C my-web --address 0.0.0.0 --certificate chain.pem --key key.pem
    """
    from joro.redistribute.service import application
    from joro.serving.listen import address_of, listening_place
    from joro.serving.listen import serve as serve_at

    if (certificate is None) != (key is None):
        raise UsageError("a certificate has a key", remedy="give both --certificate and --key")
    address, port = listening_place(address, port)
    place = address_of(address, port, is_secure=certificate is not None)

    def started() -> None:
        if not quiet:
            click.echo(f"{collection.path.resolve().name} is offered at {place} until Ctrl-C")

    pair = (certificate, key) if certificate and key else None
    serve_at(application(collection, RealClock()), address, port, started, pair)


@redistribute.group()
def party() -> None:
    """Say who may fetch what, or push."""


@party.command()
@collection_option
@click.argument("name")
@click.option(
    "--purpose",
    "purposes",
    multiple=True,
    type=click.Choice([purpose.value for purpose in Purpose if purpose is not Purpose.EXPORT]),
    help="What it will do with captures: those whose owners reserve that are left out. May be repeated.",
)
@click.option("--hosts", default="", metavar="REGEX", help="Hosts it may have (default: all).")
@click.option(
    "--bytes-per-day", type=click.IntRange(min=0), default=0, metavar="N", help="0: no limit (default)."
)
@click.option(
    "--requests-per-day", type=click.IntRange(min=0), default=0, metavar="N", help="0: no limit (default)."
)
@click.option("--push", "may_push", is_flag=True, help="It may bring captures, too.")
@click.option("--contact", default="", metavar="WHOM", help="Whom to write to.")
def add(collection: Collection, name: str, hosts: str, **terms: Any) -> None:
    """Register a party, and print its token: once, for only its hash is kept.

    A party that is registered already gets these terms and a new token; the old one ends.

    \b
    joro redistribute party add -C my-web tokyo --purpose search --bytes-per-day 10000000000
    joro redistribute party add -C my-web osaka --push --contact ops@osaka.example
    """
    from joro.archive.hosts import hosts_like
    from joro.redistribute.parties import Party

    hosts_like(hosts, "--hosts")
    click.echo(_book(collection).add(Party(name, "", RealClock().now(), hosts=hosts, **terms)))
    click.echo(f"the token of {name}; put it into a file that only {name} can read", err=True)


@party.command()
@collection_option
@click.argument("name")
def remove(collection: Collection, name: str) -> None:
    """Take a party off the list; from now on it is refused.

    \b
    joro redistribute party remove -C my-web tokyo
    """
    _book(collection).remove(name)
    click.echo(f"{name} is no longer registered")


@party.command("list")
@collection_option
def list_parties(collection: Collection) -> None:
    """List who is registered, and on which terms.

    \b
    joro redistribute party list -C my-web
    """
    parties = _book(collection).all()
    for each in parties:
        terms = [f"purposes: {', '.join(each.purposes) or 'none'}"]
        terms += [f"hosts: {each.hosts}"] if each.hosts else []
        terms += [f"{each.bytes_per_day:,} bytes a day"] if each.bytes_per_day else []
        terms += [f"{each.requests_per_day:,} requests a day"] if each.requests_per_day else []
        terms += ["may push"] if each.may_push else []
        terms += [each.contact] if each.contact else []
        click.echo(f"{each.name}  {'; '.join(terms)}")
    if not parties:
        click.echo("none")


@redistribute.command()
@collection_option
@click.argument("names", nargs=-1, metavar="[SOURCE]…")
@click.option("--now", is_flag=True, help="Fetch at once from these sources (default: all), and end.")
@plain_option("token")
@quiet_option
def collect(collection: Collection, names: tuple[str, ...], now: bool, plain: bool, quiet: bool) -> None:
    """Receive what the sources in redistribution.toml hold, at the times given there.

    After a failure again in an hour; after another, at the next time of the schedule.

    \b
    joro redistribute collect -C my-web
    joro redistribute collect -C my-web --now tokyo
    """
    from joro.redistribute.collect import Collector, caller_of
    from joro.redistribute.sources import FILE_NAME, sources_of

    sources = [source for source in sources_of(collection) if not source.pushes]
    unknown = set(names) - {source.name for source in sources}
    if unknown or not sources:
        raise UsageError(
            f"{FILE_NAME} in {collection.path} has no source {', '.join(sorted(unknown)) or 'to fetch from'}",
            remedy="write it as docs/guides/redistribution.md shows",
        )
    chosen = [source for source in sources if not names or source.name in names]
    callers = {source.name: caller_of(collection, source, plain=plain) for source in chosen}

    def attempt(source: Source) -> Transferred:
        with byte_bar(source.name, quiet=quiet) as progress:
            return Collector(collection, source, callers[source.name], RealClock(), progress).collect()

    if now:
        for source in chosen:
            _tell(source.name, attempt(source))
    else:
        asyncio.run(_keep_all([(each.name, each.cron, partial(attempt, each)) for each in chosen]))


@redistribute.command()
@collection_option
@caller_options
@click.option("--now", is_flag=True, help="Push at once, and end.")
@quiet_option
def push(collection: Collection, url: str, now: bool, quiet: bool, **how: Any) -> None:
    """Bring what this collection holds to a service that cannot reach it, as its schedule there says.

    \b
    joro redistribute push -C my-web https://hub.example:8767/ --token-file hub.token
    joro redistribute push -C my-web https://hub.example:8767/ --token-file hub.token --now
    """
    from joro.redistribute.push import Pusher

    caller = _caller(url, **how)

    def attempt() -> Transferred:
        with byte_bar("pushing", quiet=quiet) as progress:
            return Pusher(collection, caller, RealClock(), progress).push()

    if now:
        _tell(url, attempt())
        return
    wanted = Pusher(collection, caller, RealClock()).schedule()
    asyncio.run(_keep_all([(url, wanted.cron, attempt)]))


@redistribute.command()
@caller_options
@directory_option("--to", "directory", required=True, help="Where deliveries go.")
@click.option("--hosts", default="", metavar="REGEX", help="Only hosts in whose names this is found.")
@period_options
@click.option("--day", default="", metavar="DAY", help="Only what came to the service on a day (UTC).")
@click.option("--whole", is_flag=True, help='Bring along what captures speak of that say "as before".')
@click.option("--difference", is_flag=True, help="Only what came to the service since the last delivery.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["zip", "warc", "wacz"]),
    default="zip",
    show_default=True,
    help="zip: html/…/host:port.zip as S1 had it; warc: WARC files and indexes; wacz: one WACZ a delivery.",
)
@schedule_option
@quiet_option
def fetch(
    url: str,
    directory: Path,
    hosts: str,
    since: str | None,
    until: str | None,
    day: str,
    whole: bool,
    difference: bool,
    form: str,
    schedule: str | None,
    quiet: bool,
    **how: Any,
) -> None:
    """Fetch captures from a service as a third party; no collection is needed.

    \b
    joro redistribute fetch https://hub.example:8767/ --token-file hub.token --to pages --hosts '\\.ac\\.jp$'
    joro redistribute fetch https://hub.example:8767/ --token-file hub.token --to pages --difference \\
        --schedule "30 3 * * *"
    """
    from joro.redistribute.cron import Cron
    from joro.redistribute.selection import Selection, checked
    from joro.redistribute.subscriber import Subscriber

    begin, end = period(since, until)
    selection = checked(Selection(hosts, begin, end, day, whole))
    caller = _caller(url, **how)
    cron = Cron.parse(schedule) if schedule else None
    make_folder(directory, "--to")

    def attempt() -> Transferred:
        keep, close = _keeping(directory, form)
        with byte_bar("fetching", quiet=quiet) as progress:
            subscriber = Subscriber(caller, directory, keep, RealClock(), progress)
            received = subscriber.fetch(selection, difference=difference)
        close()
        return received

    if cron is None:
        _tell(url, attempt())
    else:
        asyncio.run(_keep_all([(url, cron, attempt)]))


def _keeping(directory: Path, form: str) -> tuple[Callable[[Path], None], Callable[[], None]]:
    """What to do with each package, and at the end of a delivery."""
    from joro.exporter.directories import folder_of, name_of
    from joro.redistribute.subscriber import HIDDEN, keep_warc
    from joro.redistribute.tree import keep_tree

    if form == "zip":
        return keep_tree(directory, lambda url: folder_of(name_of(url))), lambda: None
    if form == "warc":
        return keep_warc(directory, RealClock()), lambda: None
    waiting = directory / HIDDEN / "delivery"
    return keep_warc(waiting, RealClock()), lambda: _pack(waiting, directory)


def _pack(waiting: Path, directory: Path) -> None:
    """One WACZ of all WARCs that arrived."""
    import shutil

    from joro.archive.names import warcs
    from joro.archive.times import stamp, warc_date
    from joro.exporter.wacz import pack

    if warcs(waiting):
        now = RealClock().now()
        pack(waiting, directory / f"delivery-{stamp(warc_date(now))}.wacz", title="delivery", now=now)
    shutil.rmtree(waiting)


def _caller(url: str, token_file: Path, ca: Path | None, plain: bool) -> Caller:
    from joro.redistribute.caller import Caller
    from joro.redistribute.sources import token_in

    return Caller(url, token_in(token_file), ca=ca, plain=plain)


def _book(collection: Collection) -> Any:
    from joro.redistribute.parties import PartyBook

    return PartyBook(collection.part("redistribution"))


def _tell(who: str, received: Transferred) -> None:
    click.echo(f"{who}: {received.captures:,} captures, {received.bytes:,} bytes")


async def _keep_all(timetable: list[tuple[str, Any, Callable[[], Transferred]]]) -> None:
    """Attempt each transfer at its times, until Ctrl-C."""
    from joro.redistribute.timetable import keep

    async def attempt(who: str, transfer: Callable[[], Transferred]) -> bool:
        try:
            _tell(who, await _aside(transfer))
        except JoroError as error:
            click.echo(f"joro: {who}: {error}", err=True)
            return False
        return True

    clock = RealClock()
    await asyncio.gather(
        *(keep(cron, partial(attempt, who, transfer), clock) for who, cron, transfer in timetable)
    )


async def _aside(transfer: Callable[[], Transferred]) -> Transferred:
    """The same in a thread that Ctrl-C does not wait for: a transfer may be cut off at any moment."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Transferred] = loop.create_future()

    def carry_out() -> None:
        try:
            received = transfer()
        except BaseException as error:
            loop.call_soon_threadsafe(outcome.set_exception, error)
        else:
            loop.call_soon_threadsafe(outcome.set_result, received)

    threading.Thread(target=carry_out, daemon=True).start()
    return await outcome
