"""How do managers and robots get to work on machines of a network?

In:    a network, and settings with which a robot alone would see the web that is to be collected.
Out:   managers that share a control store, robots registered with them, each on a machine of its own; any of
       them can be killed and started again.
Never: speaks for them: they are started by the commands that people type, and asked over HTTP.
"""

from __future__ import annotations

import dataclasses
import http.client
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from joro.config import Config, Cooperate, Manager
from joro.coordinate.beat import STATUS
from joro.errors import CollectionError
from joro.scaling.network import Machine
from joro.store.collection import Collection

JORO = (sys.executable, "-m", "joro")
PORT = 8768


@dataclass
class Worker:
    """A manager or a robot on its machine."""

    name: str
    machine: Machine
    collection: Path
    words: tuple[str, ...]  # after `joro`
    process: subprocess.Popen[Any] | None = None
    deaths: int = 0

    def start(self) -> None:
        """Begin, or go on."""
        with self.log.open("ab") as log:
            words = [*JORO, *self.words, "-C", str(self.collection)]
            self.process = self.machine.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def log(self) -> Path:
        """What it said."""
        return self.collection.with_suffix(".log")

    @property
    def last_words(self) -> str:
        """What it said last."""
        said = self.log.read_text(encoding="utf-8").strip() if self.log.exists() else ""
        return f"{self.name}: {said.splitlines()[-1] if said else 'nothing'}"

    @property
    def is_running(self) -> bool:
        """Has it been started, and not ended?"""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """As `kill -9` does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.deaths += 1

    def stop(self, patience_s: float = 90.0) -> None:
        """End it as a person would."""
        if self.process is not None and self.is_running:
            self.process.terminate()
            self.process.wait(patience_s)


@dataclass
class Crew:
    """Managers and robots that work for one collection of the web."""

    directory: Path
    config: Config  # of a robot
    promises: Manager = field(default_factory=Manager)
    exchange: str = ""
    managers: dict[str, Worker] = field(default_factory=dict)
    robots: dict[str, Worker] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)

    def add_manager(self, machine: Machine) -> Worker:
        """A manager, not yet started."""
        name = machine.name
        settings = dataclasses.replace(self.promises, address=machine.address, port=PORT)
        path = Collection.create(self.directory / name, Config(manager=settings)).path
        worker = self.managers[name] = Worker(name, machine, path, ("manager", "serve", "-q"))
        return worker

    def register(self, name: str, count: int) -> None:
        """Register robots NAME-0, NAME-1 … together, two at least: it takes a second, however many."""
        for line in self.manage("robot", "add", name, "--processes", str(count)).splitlines():
            robot, _, token = line.partition(" ")
            self._tokens[robot] = token

    def add_robot(self, machine: Machine) -> Worker:
        """A robot, registered and not yet started."""
        name = machine.name
        if name not in self._tokens:
            self._tokens[name] = self.manage("robot", "add", name)
        cooperate = Cooperate(
            managers=tuple(f"http://{each.machine.address}:{PORT}" for each in self.managers.values()),
            name=name,
            token=self._tokens[name],
            plain=True,
            exchange=self.exchange,
        )
        settings = dataclasses.replace(self.config, cooperate=cooperate)
        path = Collection.create(self.directory / name, settings).path
        worker = self.robots[name] = Worker(name, machine, path, ("cooperate",))
        return worker

    def manage(self, *words: str) -> str:
        """What `joro manager …` says on the first manager's machine."""
        first = next(iter(self.managers.values()))
        command = [*JORO, "manager", *words, "-C", str(first.collection)]
        process = first.machine.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, complaint = process.communicate()
        if process.returncode:
            raise CollectionError(f"joro manager {' '.join(words)} failed", remedy=complaint.strip())
        return str(said).strip()

    def status(self) -> Any:
        """How all of it goes, as a manager that is there tells it; None: none is."""
        token = next(iter(self._tokens.values()), "")  # any robot may ask
        for manager in self.managers.values():
            connection = http.client.HTTPConnection(manager.machine.address)
            try:
                connection.sock = manager.machine.dial(PORT, timeout_s=5.0)
                connection.request("GET", STATUS, headers={"Authorization": f"Bearer {token}"})
                answer = connection.getresponse()
                if answer.status == 200:
                    return msgspec.json.decode(answer.read())
            except OSError:
                continue
            finally:
                connection.close()
        return None

    def robots_up(self) -> int:
        """Robots that a manager knows to be there."""
        status = self.status()
        return sum(robot["state"] == "up" for robot in status["robots"]) if status else 0

    def seed(self, seeds: Sequence[str]) -> None:
        """Tell the manager where to begin."""
        file = self.directory / "seeds"
        file.write_text("".join(f"{url}\n" for url in seeds), encoding="utf-8")
        self.manage("seeds", "--seeds", str(file))

    def last_words(self) -> str:
        """What each of them said last."""
        workers = [*self.managers.values(), *self.robots.values()]
        return "; ".join(worker.last_words for worker in workers)
