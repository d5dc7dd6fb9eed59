"""How many pages a second do robots on several machines collect, at different distances from the web?

In:    a network with a web on one of its machines, and how far away the robots are to be.
Out:   one measurement per number of machines: pages and bytes a second as the web saw them, and what their
       links would allow.
Never: believes a robot: what counts is the log of the servers.
Paper: S3 4 (machines), S1 5 (a manager, robots at different distances).

All machines are namespaces of this one and share its processors. So robots get few units: what holds them
back must be their links, or the figures would tell of the processors.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from joro.config import Archive, Config, Manager
from joro.errors import CollectionError
from joro.scaling.crew import Crew
from joro.scaling.measure import FULL, rates, share_busy, ticks
from joro.scaling.network import Network

#: One way from each robot to the middle of the network, in milliseconds.
DISTANCES_MS = (10.0, 15.0, 20.0, 25.0, 30.0)
#: What each robot's line carries; five full ones are less than the wire of `network` can do.
MBIT_PER_S = 50.0
#: Robots collect so long before it counts, and then so long.
BEFORE_S, COUNTED_S = 3.0, 12.0
PATIENCE_S = 60.0

PROMISES = Manager(lease_s=20.0, beat_s=0.5, grace_s=1.0, plan_every_s=600.0)


@dataclass(frozen=True)
class Field:
    """What is measured on: a web on a network, and how to ask it."""

    network: Network
    config: Config  # with which a robot sees the web
    seeds: list[str]
    latency_s: float  # how long each answer is held back
    log: Callable[[float], list[tuple[float, int, str]]]  # since a moment: when answered, its bytes, to whom
    now: Callable[[], float]  # by the clock of the log


@dataclass(frozen=True)
class Scaling:
    """So many machines, and what came of it."""

    machines: int
    units: int  # of each robot
    pages: int
    pages_per_s: float
    bytes_per_s: float
    possible_per_s: float  # pages, if nothing but the way there and back took time
    slowest_per_s: float  # pages of the robot that got least
    machine_busy: float
    limit: str  # what held it back: links, or the processors of this machine


def possible_per_s(distances_ms: Sequence[float], units: int, latency_s: float) -> float:
    """Pages a second, if each unit always waits for exactly one answer."""
    return sum(units / (latency_s + 2 * each / 1_000) for each in distances_ms)


def measure_machines(field: Field, machines: int, units: int) -> Scaling:
    """Let a manager and so many robots collect for a while."""
    with tempfile.TemporaryDirectory(prefix="joro-scale-") as directory:
        crew = _crew(field, Path(directory), machines, units)
        try:
            _start(crew, field.seeds)
            time.sleep(BEFORE_S)
            since, before = field.now(), ticks()
            time.sleep(COUNTED_S)
            machine_busy = share_busy(before, ticks())
            log = field.log(since)
        finally:
            for worker in [*crew.robots.values(), *crew.managers.values()]:
                worker.kill()
    return _scaling(field, machines, units, log, machine_busy)


def _crew(field: Field, directory: Path, machines: int, units: int) -> Crew:
    config = dataclasses.replace(
        field.config,
        fetch=dataclasses.replace(field.config.fetch, sockets=units),
        politeness=dataclasses.replace(field.config.politeness, interval_s=0.0, retry_limit=0),
        archive=Archive(commit_every_s=1.0),
    )
    crew = Crew(directory, config, PROMISES)
    crew.add_manager(field.network.machine(f"manager-of-{machines}"))
    if machines > 1:
        crew.register(f"robot-of-{machines}", machines)
    for number, distance_ms in enumerate(DISTANCES_MS[:machines]):
        crew.add_robot(
            field.network.machine(
                f"robot-of-{machines}-{number}", delay_s=distance_ms / 1_000, mbit_per_s=MBIT_PER_S
            )
        )
    return crew


def _start(crew: Crew, seeds: Sequence[str]) -> None:
    """All robots are there before the first seed is: nobody must give anything back."""
    for worker in [*crew.managers.values(), *crew.robots.values()]:
        worker.start()
    deadline = time.monotonic() + PATIENCE_S
    while crew.robots_up() < len(crew.robots):
        if time.monotonic() > deadline:
            raise CollectionError("robots did not reach their manager", remedy=crew.last_words())
        time.sleep(0.1)
    crew.seed(seeds)


def _scaling(
    field: Field, machines: int, units: int, log: list[tuple[float, int, str]], machine_busy: float
) -> Scaling:
    pages, pages_per_s, bytes_per_s = rates([(end, size) for end, size, _ in log])
    possible = possible_per_s(DISTANCES_MS[:machines], units, field.latency_s)
    counts = [sum(each == client for _, _, each in log) for client in {client for _, _, client in log}]
    slowest = min(counts) / COUNTED_S if len(counts) == machines else 0.0
    limit = "processors" if machine_busy >= FULL else "links"
    return Scaling(machines, units, pages, pages_per_s, bytes_per_s, possible, slowest, machine_busy, limit)
