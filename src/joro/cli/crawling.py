"""How do commands run robots: one in this process, or several in processes of their own?"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import msgspec
import uvloop

from joro.cli.progress import shown
from joro.clock import RealClock
from joro.coordinate.report import Report, total
from joro.coordinate.share import Share
from joro.discover.scope import Boundary
from joro.errors import JoroError, UsageError
from joro.model import Outcome
from joro.robotset import RobotSet
from joro.store.collection import Collection
from joro.store.layout import counts_in, reshare, set_share_count, share_count
from joro.store.membership import is_unheard, membership, withdraw
from joro.store.orders import OrderBook

if TYPE_CHECKING:
    from joro.robot import Robot


@dataclass(frozen=True)
class Command:
    """What robots are to do, and how the command is called that lets them."""

    words: tuple[str, ...]
    keep_fresh: bool = False  # whatever [refresh] enabled says
    discovers: bool = True  # new pages, behind links

    def adapted(self, collection: Collection) -> Collection:
        """The collection with its settings as this run needs them."""
        if not self.keep_fresh:
            return collection
        refresh = replace(collection.config.refresh, enabled=True)
        return replace(collection, config=replace(collection.config, refresh=refresh))


CRAWL = Command(("crawl",))
KEEP_FRESH = Command(("crawl", "--keep-fresh"), keep_fresh=True)
REFRESH = Command(("refresh",), keep_fresh=True, discovers=False)

#: Robots of a set that was killed end by themselves, within this time.
PATIENCE_S = 40.0
#: A robot of a set reports so often.
REPORT_EVERY_S = 0.2
#: Seconds between two looks whether indexes should be merged.
MERGE_EVERY_S = 60.0
#: A free block of memory at least this large goes back to the machine at once.
LARGE_BYTES = 1_000_000
#: The garbage collector looks through new objects when there are so many: some ten pages' worth.
YOUNG_OBJECTS = 10_000
_M_MMAP_THRESHOLD = -3  # of glibc's <malloc.h>


def collect(
    collection: Collection,
    seeds: list[str],
    *,
    limit: int | None = None,
    processes: int | None = None,
    quiet: bool = False,
    command: Command = CRAWL,
) -> Report:
    """Collect until everything is, or Ctrl-C; says so if there is nothing to do at all.

    Robots of a set are started by the same command.
    """
    collection = command.adapted(collection)
    count = processes or collection.config.machine.processes
    work_alone(collection)
    with collection.lock("robot"):
        with _all_shares(collection, count):
            _lay_out(collection, count)
        if (
            not seeds and not counts_in(collection.frontier).found
        ):  # robots that keep pages fresh would wait for ever
            raise _nothing_known(collection)
        if count > 1:
            return uvloop.run(_collect_with_many(collection, seeds, limit, count, quiet, command))
        with collection.lock("robot-0"):
            return uvloop.run(_collect(collection, seeds, limit, quiet, command))


def belonging(collection: Collection, seeds: list[str]) -> list[str]:
    """The seeds that belong to the collection; of others it is told why not. An error if none does."""
    now = RealClock().now()
    boundary = Boundary(collection.config.scope, OrderBook(collection.orders, lambda: now).forbids)
    refused = {url: reason for url in seeds if (reason := boundary.refusal(url))}
    if not refused:
        return seeds
    url, reason = next(iter(refused.items()))
    more = f" (and {len(refused) - 1:,} more)" if len(refused) > 1 else ""
    said = f"left out: {url:.200}{more}: {reason}"
    if len(refused) == len(seeds):
        raise UsageError(f"no seed belongs to the collection; {said}", remedy="give others, or mend [scope]")
    click.echo(said, err=True)
    return [url for url in seeds if url not in refused]


def work_alone(collection: Collection) -> None:
    """Forget a manager that was never heard of; who has heard of one cannot collect what others do."""
    robot = membership(collection.frontier)
    if robot is None:
        return
    if not is_unheard(collection.frontier):
        raise UsageError(
            f"{collection.path} works for a manager, as {robot.name}",
            remedy=f"run: joro cooperate -C {collection.path}",
        )
    withdraw(collection.frontier)


@contextmanager
def _all_shares(collection: Collection, count: int) -> Iterator[None]:
    """Nobody works on any share: robots whose set was killed have ended."""
    with ExitStack() as stack:
        for number in range(max(count, share_count(collection.frontier))):
            stack.enter_context(collection.lock(f"robot-{number}", patience_s=PATIENCE_S))
        yield


def _lay_out(collection: Collection, count: int) -> None:
    """Spread the frontier over as many shares as there will be robots."""
    before = share_count(collection.frontier)
    if before == count:
        return
    if before:
        click.echo(f"spreading the frontier over {count} instead of {before} processes", err=True)
        uvloop.run(_settle_accounts(collection, before))
        reshare(collection.frontier, count, Share(0, count).owner)
    else:
        set_share_count(collection.frontier, count)


async def _settle_accounts(collection: Collection, count: int) -> None:
    """Replay each share's archive and read its mail, until none is on its way."""
    for _ in range(2):  # what one robot sends in the first round, another reads in the second
        for number in range(count):
            robot = _robot(collection, share=Share(number, count))
            robot.stop()
            await robot.collect([])


def _robot(collection: Collection, **how: Any) -> Robot:
    """A robot in this process; whoever only starts others need not load it (0.2 s)."""
    from joro.robot import Robot

    return Robot(collection, RealClock(), **how)


def _get_ready() -> None:
    """Everything that a robot needs is loaded, and there is none yet: the one to come stays till the end."""
    import joro.robot  # noqa: F401

    return_large_blocks()
    spare_the_collector()


async def _collect(
    collection: Collection, seeds: list[str], limit: int | None, quiet: bool, command: Command
) -> Report:
    _get_ready()
    robot = _robot(collection, page_limit=limit, discovers=command.discovers)
    return await run_shown(collection, robot.collect(seeds), robot.stop, robot.report, quiet)


async def _collect_with_many(
    collection: Collection, seeds: list[str], limit: int | None, count: int, quiet: bool, command: Command
) -> Report:
    file = collection.frontier / "seeds"
    file.write_text("".join(f"{url}\n" for url in seeds))
    words = [sys.executable, "-m", "joro", *command.words, "-C", str(collection.path), "--seeds", str(file)]
    robots = RobotSet(lambda number: [*words, "--share", str(Share(number, count))], count, page_limit=limit)
    report = await run_shown(collection, robots.collect(), robots.stop, lambda: total(robots.reports), quiet)
    if not report.found:
        raise _nothing_known(collection)
    return report


def _nothing_known(collection: Collection) -> UsageError:
    return UsageError(f"{collection.path} knows no page yet", remedy="give a seed: joro crawl https://…")


async def run_shown(
    collection: Collection,
    work: Coroutine[Any, Any, None],
    stop: Callable[[], None],
    report: Callable[[], Report],
    quiet: bool,
) -> Report:
    """Show how the work goes, until it is done or Ctrl-C stops it; the last report."""
    loop = asyncio.get_running_loop()
    stopped = False

    def end(number: int) -> None:
        """First Ctrl-C: end gently. The second one is the shell's usual, abrupt one (and just as safe)."""
        nonlocal stopped
        stopped = True
        loop.remove_signal_handler(number)
        click.echo("\nstopping: letting the visits under way end (Ctrl-C again to leave at once)", err=True)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    try:
        async with shown(report, RealClock(), quiet=quiet), _merging(collection):
            await work
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)  # uvloop would go on swallowing them
    return msgspec.structs.replace(report(), stopped=stopped)


@asynccontextmanager
async def _merging(collection: Collection) -> AsyncIterator[None]:
    """Have the indexes of closed WARCs merged now and then, by a process of its own."""
    words = ["joro", "archive", "merge", "--if-due", "--quiet", "-C", str(collection.path)]

    async def go_on() -> None:
        await asyncio.sleep(MERGE_EVERY_S)
        from joro.archive.background import BackgroundMerge  # 0.02 s, which short crawls need not pay

        background = BackgroundMerge(collection.archive, [sys.executable, "-m", *words])
        while True:
            with suppress(JoroError, OSError):  # captures are found without it, only later
                background.consider()
            await asyncio.sleep(MERGE_EVERY_S)

    merger = asyncio.create_task(go_on())
    try:
        yield
    finally:
        merger.cancel()
        await asyncio.gather(merger, return_exceptions=True)


def collect_share(collection: Collection, seeds: list[str], share: Share, command: Command = CRAWL) -> None:
    """One robot of a set: reports on standard output, ends when standard input does."""
    speak_above_the_progress()
    collection = command.adapted(collection)
    with collection.lock(f"robot-{share.number}", patience_s=PATIENCE_S):
        uvloop.run(_collect_share(collection, seeds, share, command))


async def _collect_share(collection: Collection, seeds: list[str], share: Share, command: Command) -> None:
    _get_ready()
    robot = _robot(collection, share=share, discovers=command.discovers)
    reporter = asyncio.create_task(keep_reporting(robot.report, robot.stop))
    try:
        await robot.collect(seeds)
    finally:
        reporter.cancel()
    print(msgspec.json.encode(robot.report()).decode(), flush=True)


async def keep_reporting(report: Callable[[], Report], stop: Callable[[], None]) -> None:
    """Tell how things go now and then and whenever asked; the end of the questions is the end of the work."""
    loop = asyncio.get_running_loop()
    questions = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    try:
        while not questions.at_eof():
            print(msgspec.json.encode(report()).decode(), flush=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_EVERY_S):
                    await questions.readline()
    except BrokenPipeError:
        pass  # the set was killed, which is the end of the questions, too
    finally:
        stop()


def speak_above_the_progress() -> None:
    """What a robot of a set has to say takes the place of the set's progress line, which follows below."""
    if sys.stderr.isatty():
        logging.basicConfig(format="\r\x1b[2K%(message)s")


def return_large_blocks() -> None:
    """Keep no memory that a large body once took.

    Left to itself glibc takes the first large block that is freed as a sign that more will come, keeps
    their room, and small things settle in it: what hostile servers cost a crawl (bench/hostile.py) then
    varies by 20 MB from run to run, instead of 3. Other C libraries have no such switch or no such habit.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


def spare_the_collector() -> None:
    """What is loaded by now stays: the garbage collector need not look through it again and again.

    Nor after every few hundred things that a crawl makes, nearly none of which is garbage. What is garbage by
    now goes before: robots that have settled accounts, with all their tables.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def summary(report: Report) -> str:
    """The collection in one line."""
    ok = sum(report.outcomes.get(outcome.value, 0) for outcome in (Outcome.OK, Outcome.NOT_MODIFIED))
    pages = "1 page" if report.asked_for == 1 else f"{report.asked_for:,} pages"
    again = f", {report.revisits:,} visited again" if report.revisits else ""
    others = f", {report.left_out:,} left out" if report.left_out else ""
    return (
        f"{pages} visited ({ok:,} ok){again}{others}, {report.waiting:,} waiting,"
        f" {report.bytes / 1e6:,.1f} MB"
    )
