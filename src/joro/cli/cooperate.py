"""`joro cooperate`: collect for a manager, together with other robots."""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import replace
from pathlib import Path

import click
import msgspec
import uvloop

from joro.cli import crawling
from joro.cli.options import collection_option, processes_option, quiet_option, seed_options
from joro.clock import RealClock
from joro.coordinate.messages import robot_name
from joro.coordinate.report import Report, total
from joro.coordinate.share import Share
from joro.discover.seeds import read_seeds
from joro.errors import BadMessage, UsageError
from joro.robot import Robot
from joro.robot.joining import joining
from joro.robotset import RobotSet
from joro.store.collection import Collection
from joro.store.layout import set_share_count, share_count
from joro.store.membership import Membership, is_unheard, join, membership


@click.command()
@seed_options
@collection_option
@click.option("--manager", "managers", multiple=True, metavar="URL", help="A manager; may be given twice.")
@click.option("--name", metavar="NAME", help="The robot's name there (default: this machine's).")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The robot's token, or lines of NAME TOKEN.",
)
@processes_option("Robots beside each other: NAME-0, NAME-1 …")
@click.option("--share", type=Share.parse, metavar="K/N", hidden=True)
@quiet_option
def cooperate(
    seeds: tuple[str, ...],
    collection: Collection,
    files: tuple[Path, ...],
    managers: tuple[str, ...],
    name: str | None,
    token_file: str | None,
    processes: int | None,
    share: Share | None,
    quiet: bool,
) -> None:
    """Collect for a manager, which shares servers out among robots; go on until stopped.

    The manager's operator registers the robot (joro manager robot add NAME) and gives it a token. Servers
    come from the manager; SEEDs are told to it. Stop with Ctrl-C: the robot commits, tells its last words,
    and others take its servers over. The same command goes on, even after a crash.

    \b
    joro cooperate -C my-web --manager https://one.example:8768 --name tokyo --token-file tokyo.token
    joro cooperate -C my-web                   with all of it in [cooperate] of joro.toml
    """
    collection = _adapted(collection, managers, token_file)
    chosen = read_seeds(seeds, files)
    if share is None:
        chosen = crawling.belonging(collection, chosen)
    count = share.count if share is not None else processes or collection.config.machine.processes
    robot = _member(collection, name or collection.config.cooperate.name, count)
    crawling.return_large_blocks()
    if share is not None:
        crawling.speak_above_the_progress()
        with collection.lock(f"robot-{share.number}", patience_s=crawling.PATIENCE_S):
            uvloop.run(_work_in_set(collection, robot, chosen, share))
        return
    with collection.lock("robot"):
        report = _work(collection, robot, chosen, count, quiet)
    click.echo(crawling.summary(report))


def _adapted(collection: Collection, managers: tuple[str, ...], token_file: str | None) -> Collection:
    """The collection with its settings as the command line has them."""
    settings = collection.config.cooperate
    settings = replace(
        settings,
        managers=managers or settings.managers,
        token_file=token_file or settings.token_file,
    )
    return replace(collection, config=replace(collection.config, cooperate=settings))


def _member(collection: Collection, name: str, count: int) -> Membership:
    """Who we are; the frontier is laid out for so many robots, once and for all."""
    known = membership(collection.frontier)
    name = name or (known.name if known is not None else socket.gethostname())
    try:
        robot_name(f"{name}-0")
    except BadMessage as error:
        raise UsageError(error.problem, remedy="give --name, of letters, digits, dots and hyphens") from None
    before = share_count(collection.frontier)
    if known is None and before:
        raise UsageError(
            f"{collection.path} has been collected without a manager",
            remedy="let the robot have a collection of its own: joro init DIR",
        )
    robot = join(collection.frontier, name)
    if before not in (0, count) and not is_unheard(collection.frontier):
        raise UsageError(
            f"the servers in {collection.path} belong to {before} robots, not {count}",
            remedy=f"give --processes {before}, or take a collection of its own",
        )
    if before != count:
        set_share_count(collection.frontier, count)
    return robot


def _as_process(robot: Membership, share: Share) -> Membership:
    return robot if share.count == 1 else Membership(f"{robot.name}-{share.number}", robot.identity)


def _work(collection: Collection, robot: Membership, seeds: list[str], count: int, quiet: bool) -> Report:
    for number in range(count):  # mistakes are made before anything is opened
        joining(collection, RealClock(), _as_process(robot, Share(number, count)), number)
    if count > 1:
        return uvloop.run(_work_with_many(collection, robot, seeds, count, quiet))
    with collection.lock("robot-0", patience_s=crawling.PATIENCE_S):
        return uvloop.run(_work_alone(collection, robot, seeds, quiet))


async def _work_alone(collection: Collection, robot: Membership, seeds: list[str], quiet: bool) -> Report:
    clock = RealClock()
    working = Robot(collection, clock, joined=joining(collection, clock, robot))
    return await crawling.run_shown(collection, working.collect(seeds), working.stop, working.report, quiet)


async def _work_with_many(
    collection: Collection, robot: Membership, seeds: list[str], count: int, quiet: bool
) -> Report:
    settings = collection.config.cooperate
    words = [sys.executable, "-m", "joro", "cooperate", "-C", str(collection.path), "--name", robot.name]
    words += [word for url in settings.managers for word in ("--manager", url)]
    words += ["--token-file", settings.token_file] if settings.token_file else []
    robots = RobotSet(
        lambda number: [*words, "--share", str(Share(number, count)), *(seeds if not number else ())], count
    )
    work = robots.collect()
    return await crawling.run_shown(collection, work, robots.stop, lambda: total(robots.reports), quiet)


async def _work_in_set(collection: Collection, robot: Membership, seeds: list[str], share: Share) -> None:
    """One robot of several: reports on standard output, ends when standard input does."""
    clock = RealClock()
    joined = joining(collection, clock, _as_process(robot, share), share.number)
    working = Robot(collection, clock, share=share, joined=joined)

    def report() -> Report:
        return msgspec.structs.replace(working.report(), idle=False)  # a manager may always have more

    reporter = asyncio.create_task(crawling.keep_reporting(report, working.stop))
    try:
        await working.collect(seeds)
    finally:
        reporter.cancel()
    print(msgspec.json.encode(report()).decode(), flush=True)
