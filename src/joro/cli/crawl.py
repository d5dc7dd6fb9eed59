"""`joro crawl`: collect pages, starting at the seeds given."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click
import uvloop

from joro.cli.options import collection_option
from joro.cli.progress import shown
from joro.clock import RealClock
from joro.discover.seeds import read_seeds
from joro.errors import UsageError
from joro.robot import Robot
from joro.store.collection import Collection
from joro.store.records import Counts


@click.command()
@click.argument("seeds", nargs=-1, metavar="[SEED]…")
@collection_option
@click.option(
    "--seeds",
    "files",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="A file of seeds, one URL a line; # starts a comment. May be given several times.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N pages.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def crawl(
    seeds: tuple[str, ...], collection: Collection, files: tuple[Path, ...], limit: int | None, quiet: bool
) -> None:
    """Collect pages, starting at the SEEDs and following links as far as [scope] allows.

    Stop with Ctrl-C whenever you like; the same command (also without seeds) goes on where it stopped,
    even after a crash: no page is lost, none is archived twice.

    \b
    joro crawl -C my-web https://example.org/
    joro crawl -C my-web --seeds seeds.txt --limit 10000
    joro crawl -C my-web                       go on
    """
    counts = collect(collection, read_seeds(seeds, files), limit=limit, quiet=quiet)
    click.echo(summary(counts))


def collect(
    collection: Collection, seeds: list[str], *, limit: int | None = None, quiet: bool = False
) -> Counts:
    """Run the robot until it is done or Ctrl-C; says so if there is nothing to do at all."""
    with collection.lock("robot"):
        return uvloop.run(_collect(collection, seeds, limit, quiet))


async def _collect(collection: Collection, seeds: list[str], limit: int | None, quiet: bool) -> Counts:
    clock = RealClock()
    robot = Robot(collection, clock, page_limit=limit)
    if not seeds and not robot.frontier.counts.found:
        await robot.collect([])
        raise UsageError(f"{collection.path} knows no page yet", remedy="give a seed: joro crawl https://…")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _stop, robot, number)
    async with shown(robot, clock, quiet=quiet):
        await robot.collect(seeds)
    return robot.frontier.counts


def _stop(robot: Robot, number: int) -> None:
    """First Ctrl-C: end gently. The second one is the shell's usual, abrupt one (and just as safe)."""
    asyncio.get_running_loop().remove_signal_handler(number)
    click.echo("\nstopping: letting the visits under way end (Ctrl-C again to leave at once)", err=True)
    robot.stop()


def summary(counts: Counts) -> str:
    """The collection in one line."""
    ok = counts.outcomes.get("ok", 0)
    return (
        f"{counts.visited:,} pages visited ({ok:,} ok), {counts.found - counts.visited:,} waiting,"
        f" {counts.bytes / 1e6:,.1f} MB"
    )
