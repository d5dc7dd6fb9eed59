"""Robots and managers on machines of their own, with everything going wrong that can.

`play` lets them collect a web while somebody pulls plugs, and `judge` says what became of it.
"""

from __future__ import annotations

import dataclasses
import heapq
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from joro.config import Archive, Config, Manager
from joro.scaling.crew import Crew, Worker
from joro.scaling.network import Network
from joro.testweb.running import Running, separate
from joro.testweb.settings import Settings
from tests.namespaces import Postgres, postgres_on
from tests.nats import Nats, nats_server
from tests.scenarios.archived import responses
from tests.scenarios.crawls import QUIET
from tests.scenarios.judge import Verdict, judge
from tests.scenarios.laws import LATENCY_S

#: Short, so that robots lose their servers often.
PROMISES = Manager(lease_s=3.0, beat_s=0.3, grace_s=1.0, plan_every_s=3.0, rule="plan")
KINDS = ("robot", "manager", "database", "partition")


@dataclass(frozen=True)
class Plot:
    """What is to happen."""

    robots: int
    managers: int
    hosts: int
    pages: int
    kills: int
    interval_s: float  # between two visits to a server
    kill_every_s: float  # on average
    spread: bool = False  # and none before its part of the pages is collected
    seed: int = 7
    sockets: int = 50
    exchange: bool = False  # links go straight to robots, by JetStream
    patience_s: float = 120.0  # without any progress
    limit_s: float = 600.0  # from the last kill on
    promises: Manager = PROMISES


@dataclass
class Scene:
    """A web, and those who collect it."""

    plot: Plot
    web: Running
    crew: Crew
    database: Postgres
    exchange: Nats | None = None
    killed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)  # last words of robots that ended by themselves

    @property
    def workers(self) -> list[Worker]:
        return [*self.crew.managers.values(), *self.crew.robots.values()]


@contextmanager
def scene(directory: Path, plot: Plot, network: Network) -> Iterator[Scene]:
    """All of them at work, robots without anything to do yet."""
    settings = Settings(
        hosts=plot.hosts,
        pages=plot.pages,
        sizes="even",
        roles=("normal",),
        addresses="own",
        network="10.98.0.0/16",
        latency_s=LATENCY_S,
        seed=plot.seed,
        log=directory / "web.tsv",
    )
    with ExitStack() as stack:
        home = network.machine("web", also=settings.network)
        web = stack.enter_context(separate(settings, home.run, lambda port: home.dial(port, "10.98.0.1")))
        database = stack.enter_context(postgres_on(network.machine("database")))
        exchange = None
        if plot.exchange:
            hall = network.machine("exchange")
            exchange = stack.enter_context(nats_server(hall.address, hall.run, hall.dial))
        promises = dataclasses.replace(plot.promises, database=database.url)
        crew = Crew(directory, _config(web, plot), promises, exchange.url if exchange else "")
        for number in range(plot.managers):
            crew.add_manager(network.machine(f"manager-{number}", delay_s=0.001)).start()
        if plot.robots > 1:
            crew.register("robot", plot.robots)
        stage = Scene(plot, web, crew, database, exchange)
        for number in range(plot.robots):
            crew.add_robot(network.machine(f"robot-{number}", delay_s=0.002 * number)).start()
        try:
            _until(lambda: crew.robots_up() == plot.robots, 120, crew)
            yield stage
        finally:
            for worker in stage.workers:
                worker.kill()


def _config(web: Running, plot: Plot) -> Config:
    politeness = dataclasses.replace(
        web.config.politeness,
        **QUIET,
        interval_s=plot.interval_s,
        retry_limit=20,
        retry_wait_s=1.0,
        suspend_after_s=0.0,
    )
    return dataclasses.replace(
        web.config,
        fetch=dataclasses.replace(web.config.fetch, sockets=plot.sockets, timeout_s=10.0),
        politeness=politeness,
        archive=Archive(commit_every_s=0.3),
    )


def play(stage: Scene) -> Verdict:
    """Collect everything; meanwhile kill, cut and heal at random moments."""
    stage.crew.seed(stage.web.seeds)
    wanted = {url for url, hops in stage.web.oracle.get("/reachable").items() if hops <= 15}
    Plugs(stage).pull()
    _finish(stage)
    for robot in stage.crew.robots.values():
        robot.stop()
    archived: Counter[str] = Counter()
    for robot in stage.crew.robots.values():
        archived += responses(robot.collection)
    return judge(stage.web.oracle.get("/log"), wanted, archived, stage.plot.interval_s)


class Plugs:
    """Who is killed when, and comes back when."""

    def __init__(self, stage: Scene) -> None:
        self._stage = stage
        self._chance = random.Random(stage.plot.seed)
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._away: set[str] = set()
        promises = stage.plot.promises
        self._gone_s = promises.lease_s + promises.grace_s  # away so long, and others get one's servers

    def pull(self) -> None:
        """All kills of the plot, one after the other, and all who are away come back."""
        plot = self._stage.plot
        known = (*KINDS, "exchange") if plot.exchange else KINDS
        kinds = [known[number % len(known)] for number in range(plot.kills)]
        self._chance.shuffle(kinds)
        for number, kind in enumerate(kinds):
            self._wait(plot.kill_every_s * self._chance.uniform(0.5, 1.5))
            while plot.spread and self._collected() < 0.95 * number / plot.kills:
                self._wait(1.0)
            while not getattr(self, f"_{kind}")():
                self._wait(0.2)  # until somebody else is there, too
            self._stage.killed[kind] += 1
        while self._later:
            self._wait(max(0.0, self._later[0][0] - time.monotonic()))

    def _collected(self) -> float:
        """About the share of the pages that servers were asked for."""
        return float(self._stage.web.oracle.get("/summary")["requests"]) / self._stage.plot.pages

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            while self._later and self._later[0][0] <= time.monotonic():
                heapq.heappop(self._later)[2]()
            self._revive()
            if time.monotonic() >= until:
                return
            time.sleep(0.05)

    def _revive(self) -> None:
        """Start again who ended by itself, as a supervisor would. A robot never should.

        A manager does that begins while the connections to its database are ended: it says so and ends.
        """
        for worker in self._stage.workers:
            if worker.name not in self._away and not worker.is_running:
                if worker.name in self._stage.crew.robots:
                    self._stage.ended[worker.last_words] += 1
                worker.start()

    def _back(self, worker: Worker, seconds: float, comes: Callable[[], None]) -> None:
        self._away.add(worker.name)

        def back() -> None:
            comes()
            self._away.discard(worker.name)

        self._later_on(seconds, back)

    def _later_on(self, seconds: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._later, (time.monotonic() + seconds, self._count, what))

    def _one(self, workers: dict[str, Worker]) -> Worker | None:
        """Somebody who is there, if somebody else is, too."""
        there = [worker for worker in workers.values() if worker.name not in self._away]
        return self._chance.choice(there) if len(there) > 1 else None

    def _robot(self) -> bool:
        robot = self._one(self._stage.crew.robots)
        if robot is None:
            return False
        robot.kill()  # and is back at once, or after others have its servers
        away_s = self._chance.choice((0.2, 1.0, self._gone_s + 1.0, self._gone_s + 4.0))
        self._back(robot, away_s, robot.start)
        return True

    def _manager(self) -> bool:
        manager = self._one(self._stage.crew.managers)
        if manager is None:
            return False
        manager.kill()
        self._back(manager, self._chance.uniform(0.2, 3.0), manager.start)
        return True

    def _database(self) -> bool:
        self._stage.database.terminate()
        return True

    def _exchange(self) -> bool:
        exchange = self._stage.exchange
        if exchange is None or exchange.process is None:
            return False
        exchange.kill()
        self._later_on(self._chance.uniform(0.2, 8.0), exchange.start)
        return True

    def _partition(self) -> bool:
        """Longer than the lease, mostly; from all, or from the managers while the web is there as before."""
        robot = self._one(self._stage.crew.robots)
        if robot is None:
            return False
        managers = [manager.machine for manager in self._stage.crew.managers.values()]
        robot.machine.cut(*(managers if self._chance.random() < 0.5 else ()))
        if self._chance.random() < 0.25:
            robot.kill()

        def heal() -> None:
            robot.machine.heal()
            if not robot.is_running:
                robot.start()

        self._back(robot, self._gone_s + self._chance.uniform(-2.0, 4.0), heal)
        return True


def _finish(stage: Scene) -> None:
    """Until all is quiet, or nothing happens any more."""
    progress, since = -1, time.monotonic()
    deadline, quiet = since + stage.plot.limit_s, 0
    while quiet < 3:
        time.sleep(0.7)
        status = stage.crew.status()
        quiet = quiet + 1 if status and status["quiet"] else 0
        requests = stage.web.oracle.get("/summary")["requests"]
        if requests != progress:
            progress, since = requests, time.monotonic()
        if time.monotonic() - since > stage.plot.patience_s:
            return  # what is missing is lost
        assert time.monotonic() < deadline, f"not done {stage.plot.limit_s:g} s after the last kill: {status}"


def _until(what: Callable[[], bool], patience_s: float, crew: Crew) -> None:
    deadline = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < deadline, crew.last_words()
        time.sleep(0.1)
