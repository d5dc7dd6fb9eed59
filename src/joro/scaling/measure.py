"""How many pages a second do so many units collect, and what holds them back?

In:    a web to collect from, with its own log; setups of units and processes.
Out:   one measurement per setup: pages and bytes a second as the web saw them, processor time, the limit.
Never: believes the robot: what counts is the log of the servers. Leaves a process or a file behind, unless it
       is killed with -9: then robots end by themselves, for the web is gone.
Paper: S3 4, pages and bandwidth against units (50, 100, 150 …), processes and machines.

A unit of S3 is one connection at a time: here a socket of a robot.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joro.config import Config, Machine
from joro.errors import CollectionError
from joro.store.collection import Collection

#: Start and end of a run are left out, so many hundredths of its pages each.
EDGE_PERCENT = 10
#: No run is longer than this at the speed its units allow: slow setups need fewer pages for a good figure.
LONGEST_RUN_S = 10.0
#: Robots are given this time to end.
PATIENCE_S = 40.0
#: A processor used so much is a full one: what is missing went to the operating system's own work.
FULL = 0.85
#: Units that do so much of what the latency allows are the limit: the rest is transfer and parsing.
NEARLY_ALL = 0.8


@dataclass(frozen=True)
class Ground:
    """What is measured on: a web that is up, and how to ask it."""

    config: Config  # with which a collection sees it
    seeds: list[str]
    latency_s: float  # how long each answer is held back
    forget: Callable[[], None]  # the log begins anew
    log: Callable[[], list[tuple[float, int]]]  # when each page was answered, and its bytes
    cpu_s: Callable[[], float]  # processor time the web has used


@dataclass(frozen=True)
class Measurement:
    """One setup and what came of it."""

    units: int  # in each process
    processes: int
    pages: int
    pages_per_s: float
    bytes_per_s: float
    robots_cores: float  # processors that the robots kept busy
    web_cores: float  # the same for the test web, which shares the machine
    machine_busy: float  # share of all processors in use, by whomever
    limit: str  # what held it back: units, robots, test web, machine

    @property
    def sockets(self) -> int:
        """Units of all processes together."""
        return self.units * self.processes


def measure(ground: Ground, units: int, processes: int, pages: int) -> Measurement:
    """Collect about so many pages with so many units, from nothing."""
    settings = dataclasses.replace(
        ground.config,
        machine=Machine(processes=processes),
        fetch=dataclasses.replace(ground.config.fetch, sockets=units),
        politeness=dataclasses.replace(ground.config.politeness, interval_s=0.0, retry_limit=0),
    )
    if ground.latency_s:
        pages = min(pages, max(100, int(LONGEST_RUN_S * units * processes / ground.latency_s)))
    with tempfile.TemporaryDirectory(prefix="joro-scale-") as directory:
        collection = Collection.create(Path(directory) / "collection", settings)
        seeds = Path(directory) / "seeds"
        seeds.write_text("".join(f"{url}\n" for url in ground.seeds))
        ground.forget()
        before, web_before, ticks_before = time.monotonic(), ground.cpu_s(), ticks()
        robots_cpu_s = _crawl(collection, seeds, pages)
        elapsed_s = time.monotonic() - before
    web_cores = (ground.cpu_s() - web_before) / elapsed_s
    machine_busy = share_busy(ticks_before, ticks())
    count, pages_per_s, bytes_per_s = rates(ground.log())
    robots_cores = robots_cpu_s / elapsed_s
    achieved = pages_per_s * ground.latency_s / (units * processes)
    limit = limit_of(achieved, machine_busy, robots_cores / processes, web_cores)
    return Measurement(
        units, processes, count, pages_per_s, bytes_per_s, robots_cores, web_cores, machine_busy, limit
    )


def rates(log: list[tuple[float, int]]) -> tuple[int, float, float]:
    """Pages, and pages and bytes a second in the middle of the run."""
    answers = sorted(log)
    edge = len(answers) * EDGE_PERCENT // 100
    middle = answers[edge : len(answers) - edge]
    if len(middle) < 2 or middle[-1][0] <= middle[0][0]:
        return len(answers), 0.0, 0.0
    seconds = middle[-1][0] - middle[0][0]
    return len(answers), (len(middle) - 1) / seconds, sum(size for _, size in middle[1:]) / seconds


def limit_of(achieved: float, machine_busy: float, cores_per_robot: float, web_cores: float) -> str:
    """What held a run back; the test web answers from one processor, as does each robot.

    `achieved` is the share of what the units would do if answers came at once and cost nothing.
    """
    if achieved >= NEARLY_ALL:
        return "units"
    if machine_busy >= FULL:
        return "machine"
    if cores_per_robot >= FULL:
        return "robots"
    return "test web" if web_cores >= FULL else "units"


def _crawl(collection: Collection, seeds: Path, pages: int) -> float:
    """Collect in processes of their own; the processor time they used."""
    words = ["crawl", "-q", "-C", str(collection.path), "--seeds", str(seeds), "--limit", str(pages)]
    with _ended([sys.executable, "-m", "joro", *words], collection) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise CollectionError(
            f"the crawl ended with exit code {process.returncode}", remedy="see its message above"
        )
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _ended(command: list[str], collection: Collection) -> Iterator[subprocess.Popen[bytes]]:
    """A crawl that does not outlive the block."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for number in range(collection.config.machine.processes):
            with collection.lock(f"robot-{number}", patience_s=PATIENCE_S):
                continue  # robots outlive a set that was cut off while starting them, for a moment


def ticks() -> tuple[int, int]:
    """Ticks that all processors have been idle, and all ticks, since the machine started."""
    try:
        counts = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    except OSError:
        return 0, 0
    return counts[3] + counts[4], sum(counts)


def share_busy(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Share of all processors in use between two moments."""
    idle, total = after[0] - before[0], after[1] - before[1]
    return 1.0 - idle / total if total else 0.0
