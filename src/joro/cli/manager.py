"""`joro manager`: share servers out among robots on several machines."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from getpass import GetPassWarning
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from joro.cli.options import (
    ca_option,
    collection_option,
    directory_option,
    file_option,
    listening_options,
    make_folder,
    plain_option,
    processes_option,
    seed_options,
)
from joro.clock import RealClock
from joro.errors import UsageError
from joro.store.collection import Collection

if TYPE_CHECKING:
    from joro.redistribute.caller import Caller
    from joro.store.control import Control

F = TypeVar("F", bound=Callable[..., Any])

#: How often a look is taken by --wait-quiet, and how often in a row all must be quiet.
LOOK_S, QUIET_LOOKS = 0.5, 3


@click.group()
def manager() -> None:
    """Share servers out among robots on several machines.

    A manager tells robots which servers are theirs, passes links on, and gives the servers of a robot that is
    silent to others. `serve` runs one; two of them with one PostgreSQL database stand in for each other.
    """


def place_options(command: F) -> F:
    """A manager's collection, or a manager that runs elsewhere (`place`)."""

    @wraps(command)
    def called(
        directory: Path,
        url: str | None,
        password_file: Path | None,
        ca: Path | None,
        plain: bool,
        **more: Any,
    ) -> Any:
        return command(place=Place(directory, url, password_file, ca, plain), **more)

    for option in (
        plain_option("password"),
        ca_option,
        file_option("--password-file", help="The file with the operator's password there."),
        click.option("--manager", "url", metavar="URL", help="Ask the manager at this address, over HTTP."),
        directory_option(
            "-C",
            "--collection",
            "directory",
            default=Path(),
            help="The collection of the manager, if it is on this machine (default: the current one).",
        ),
    ):
        called = option(called)
    return called  # type: ignore[return-value]


@dataclass(frozen=True)
class Place:
    """Where a manager is."""

    directory: Path
    url: str | None
    password_file: Path | None
    ca: Path | None
    plain: bool

    def caller(self) -> Caller | None:
        """How to ask it over HTTP, if it runs elsewhere."""
        from joro.redistribute.caller import Caller

        if self.url is None:
            return None
        if self.password_file is None:
            raise UsageError("the manager wants the operator's password", remedy="give --password-file FILE")
        remedies = dict.fromkeys(
            (401, 403), f"set one there (joro manager password), and put it into {self.password_file}"
        )
        word = _word_in(self.password_file)
        return Caller(self.url, word, ca=self.ca, plain=self.plain, remedies=remedies, kind="manager")


@manager.command()
@collection_option
@listening_options("manager")
def serve(collection: Collection, address: str | None, port: int | None, quiet: bool) -> None:
    """Run the manager until Ctrl-C or SIGTERM.

    What it does and refuses is in logs/manager.log of its collection.

    \b
    joro manager serve -C hub
    joro manager serve -C hub --address 0.0.0.0 --port 8768
    """
    from joro.manager.rounds import Rounds
    from joro.manager.service import application, write_log
    from joro.serving.listen import address_of, listening_place
    from joro.serving.listen import serve as serve_at

    settings = collection.config.manager
    certificate = _certificate(settings.certificate, settings.key)
    address, port = listening_place(address or settings.address, settings.port if port is None else port)
    place = address_of(address, port, is_secure=certificate is not None)

    def started() -> None:
        if not quiet:
            click.echo(f"{collection.path.resolve().name} is managed at {place} until Ctrl-C")

    with write_log(collection.logs), suppress(KeyboardInterrupt), _awaited_store(collection) as control:
        rounds = Rounds(control, settings)
        rounds.start()
        try:
            serve_at(application(collection, control, RealClock()), address, port, started, certificate)
        finally:
            rounds.stop()


def _certificate(certificate: str, key: str) -> tuple[Path, Path] | None:
    if not certificate and not key:
        return None
    files = Path(certificate), Path(key)
    if not (certificate and key):
        raise UsageError(
            "manager.certificate and manager.key go together", remedy="set both in joro.toml, or neither"
        )
    for file in files:
        if not file.is_file():
            raise UsageError(f"there is no file {file}", remedy="mend manager.certificate and manager.key")
    return files


@manager.group()
def robot() -> None:
    """Say which robots take part."""


@robot.command("add")
@collection_option
@click.argument("name")
@processes_option("It is N robots on one machine, NAME-0, NAME-1 …, each with a token.", default=1)
def add_robot(collection: Collection, name: str, processes: int) -> None:
    """Register a robot, and print its token: once, for only its hash is kept.

    A robot that is registered already gets a new token; the old one ends.

    \b
    joro manager robot add -C hub tokyo > tokyo.token
    joro manager robot add -C hub osaka --processes 4 > osaka.token
    """
    from joro.manager import tokens

    with _store(collection) as control:
        if processes == 1:
            click.echo(tokens.add_robot(control, name))
        else:
            for each in (f"{name}-{number}" for number in range(processes)):
                click.echo(f"{each} {tokens.add_robot(control, each)}")
    click.echo(f"for a file that only {name} can read: cooperate.token_file in its joro.toml", err=True)


@robot.command("remove")
@collection_option
@click.argument("name")
def remove_robot(collection: Collection, name: str) -> None:
    """Refuse a robot from now on; its servers go to others when its lease is over.

    \b
    joro manager robot remove -C hub tokyo
    """
    from joro.manager import tokens

    with _store(collection) as control:
        tokens.remove_robot(control, name)
    click.echo(f"{name} takes part no longer")


@robot.command("list")
@collection_option
def list_robots(collection: Collection) -> None:
    """List the robots, and how they fare.

    \b
    joro manager robot list -C hub
    """
    from joro.manager.pages_rows import robots_shown

    with _store(collection) as control, control.reading() as transaction:
        robots, _ = robots_shown(transaction)
    for each in robots:
        kind = " (classic)" if each.kind == "classic" else ""
        click.echo(
            f"{each.name}{kind}  {each.state}; {each.servers:,} servers; asked: {each.asked}; "
            f"lease: {each.lease}; restart: {each.restart}"
        )
    if not robots:
        click.echo("none")


@manager.command()
@collection_option
@file_option("--file", help="Read the password from a file instead of asking for it.")
@click.option("--none", "is_none", is_flag=True, help="Let only this machine in, without a password.")
def password(collection: Collection, file: Path | None, is_none: bool) -> None:
    """Set the operator's password: the control pages can then be used from elsewhere.

    It is also what --password-file of other commands must hold. All logins end.

    \b
    joro manager password -C hub
    joro manager password -C hub --none
    """
    from joro.manager.operator import set_password

    said = ""
    if not is_none:
        said = _word_in(file) if file else _spoken(_asked_password(), "the password")
        if not said:
            raise UsageError("the password is empty", remedy="say --none to have none")
    with _store(collection) as control:
        set_password(control, said)
    click.echo("there is no password: only this machine is let in" if is_none else "the password is set")


def _asked_password() -> str:
    with warnings.catch_warnings(action="error", category=GetPassWarning):
        try:
            return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
        except GetPassWarning:
            raise UsageError(
                "there is no terminal to ask for the password on", remedy="give --file FILE"
            ) from None


@manager.command()
@place_options
@seed_options
def seeds(place: Place, seeds: tuple[str, ...], files: tuple[Path, ...]) -> None:
    """Give robots pages to begin with; their servers get owners.

    \b
    joro manager seeds -C hub https://example.org/ --seeds more.txt
    joro manager seeds https://example.org/ --manager https://hub.example:8768 --password-file hub.password
    """
    from joro.discover.seeds import read_seeds
    from joro.manager import orders
    from joro.manager.pages import SEEDS

    urls = read_seeds(seeds, files)
    if not urls:
        raise UsageError("no seed is given", remedy="give URLs, or --seeds FILE")
    caller = place.caller()
    if caller:
        caller.post(SEEDS, urls, dict[str, int])
    else:
        collection = Collection.open(place.directory)
        with _store(collection) as control:
            orders.add_seeds(control, urls, collection.config.manager)
    click.echo("1 seed is on its way" if len(urls) == 1 else f"{len(urls):,} seeds are on their way")


@manager.command()
@place_options
@click.option("--wait-quiet", is_flag=True, help="Wait until no robot has anything left to do.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(place: Place, wait_quiet: bool, as_json: bool) -> None:
    """Show how all robots fare together.

    \b
    joro manager status -C hub
    joro manager status -C hub --wait-quiet && joro manager status -C hub --json
    """
    with _looking(place) as look:
        found = look()
        looks = 1
        while wait_quiet and (looks := looks + 1 if found["quiet"] else 0) <= QUIET_LOOKS:
            time.sleep(LOOK_S)
            found = look()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    servers, robots = found["servers"], found["robots"]
    up = [each for each in robots if each["state"] == "up"]
    click.echo(f"robots    {len(up):,} of {len(robots):,} up")
    click.echo(f"servers   {servers['known']:,} known, {servers['on_their_way']:,} on their way")
    click.echo(f"pages     {sum(each['visited'] for each in robots):,} visited, ", nl=False)
    click.echo(f"{sum(each['waiting'] for each in robots):,} waiting")
    click.echo("quiet     " + ("yes" if found["quiet"] else "no"))


@contextmanager
def _looking(place: Place) -> Iterator[Callable[[], dict[str, Any]]]:
    """A way to look at the status again and again."""
    from joro.coordinate.beat import STATUS
    from joro.manager.status import status

    caller = place.caller()
    if caller:
        yield lambda: caller.get(STATUS, dict[str, Any])
    else:
        with _store(Collection.open(place.directory)) as control:
            yield lambda: status(control)


@manager.command()
@collection_option
@click.argument("robots", nargs=-1, metavar="[ROBOT]…")
@click.option("--all", "everyone", is_flag=True, help="All robots.")
@click.option(
    "--pages", type=click.IntRange(1, 999_999_999), metavar="N", help="Limit the next lists: 50, in S1."
)
@click.option("--unlimited", is_flag=True, help="Let the next lists be without limit.")
def restart(
    collection: Collection, robots: tuple[str, ...], everyone: bool, pages: int | None, unlimited: bool
) -> None:
    """Let robots forget what they know of their servers and begin anew; limit lists of classic ones (S1, M4).

    \b
    joro manager restart -C hub tokyo
    joro manager restart -C hub --all --pages 50
    joro manager restart -C hub --unlimited
    """
    from joro.manager import orders

    if pages and unlimited:
        raise UsageError("--pages and --unlimited exclude each other", remedy="give one of them")
    if not (robots or everyone or pages or unlimited):
        raise UsageError("nothing is to be done", remedy="name robots, or give --all, --pages or --unlimited")
    if robots and everyone:
        raise UsageError(f"--all and {robots[0]} exclude each other", remedy="give one of them")
    with _store(collection) as control, control.transaction() as transaction:
        if pages or unlimited:
            orders.limit_lists(transaction, pages)
        if everyone:
            found = transaction.rows("SELECT name FROM robots WHERE state <> 'left' ORDER BY name")
            robots = tuple(name for (name,) in found)
        orders.restart(transaction, robots)
    for each in robots:
        click.echo(f"{each} restarts when it asks next")
    if everyone and not robots:
        click.echo("no robot takes part")
    if pages or unlimited:
        click.echo(
            f"the next lists are {f'limited to {pages:,} pages of each server' if pages else 'unlimited'}"
        )


@manager.command()
@collection_option
@click.option("--robot", metavar="NAME", help="Only servers of this robot.")
def servers(collection: Collection, robot: str | None) -> None:
    """List servers: whose they are, where they go, and what was received of them.

    \b
    joro manager servers -C hub
    joro manager servers -C hub --robot tokyo
    """
    from joro.manager.tokens import no_robot

    where, values = ("WHERE owner = ?", (robot,)) if robot is not None else ("", ())
    with _store(collection) as control, control.reading() as transaction:
        if robot is not None and not transaction.rows("SELECT name FROM robots WHERE name = ?", robot):
            raise no_robot(robot)
        rows = transaction.rows(f"SELECT name, owner, heir, kb FROM servers {where} ORDER BY name", *values)
    for name, owner, heir, kb in rows:
        to = f" → {heir}" if heir else ""
        click.echo(f"{name}  {owner or '–'}{to}  {kb:,.0f} KB")
    if not rows:
        click.echo("none")


@manager.command()
@collection_option
@directory_option("--to", "directory", required=True, help="Where the three files go.")
def measured(collection: Collection, directory: Path) -> None:
    """Write down distances, sizes and shares, for `joro cooperate-report --run DIR`.

    \b
    joro manager measured -C hub --to run
    joro cooperate-report --run run --out report
    """
    from joro.coordinate import experiment
    from joro.manager.measured import experiment_of

    with _store(collection) as control, control.reading() as transaction:
        found = experiment_of(transaction)
    experiment.write(found, make_folder(directory, "--to"))
    click.echo(f"written: {len(found.servers):,} servers, {len(found.robots):,} robots to {directory}")


@contextmanager
def _store(collection: Collection) -> Iterator[Control]:
    """The control store of a manager's collection."""
    from joro.store.control import open_control

    control = open_control(collection.config.manager.database, collection.path, RealClock())
    try:
        yield control
    finally:
        control.close()


@contextmanager
def _awaited_store(collection: Collection) -> Iterator[Control]:
    """The same, as soon as it is there."""
    from joro.manager.starting import awaited
    from joro.store.control import open_control

    settings = collection.config.manager
    opened = partial(open_control, settings.database, collection.path, RealClock())
    with closing(awaited(opened, partial(click.echo, err=True))) as control:
        yield control


def _word_in(file: Path) -> str:
    """The password in a file of one line."""
    try:
        word = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{file} cannot be read ({reason})", remedy="check its name and rights") from None
    return _spoken(word, f"the password in {file}")


def _spoken(word: str, what: str) -> str:
    """The password, if the commands that need it can send it."""
    from joro.trust import sendable

    return sendable(word, what, remedy="take one line of ASCII letters, digits and signs")
