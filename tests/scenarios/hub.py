"""A manager, and robots that collect for it, each in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.crawls import kill
from tests.scenarios.stage import JORO, Web, done

#: Short enough for a test to see leases end.
LEASES = {"lease_s": 3.0, "beat_s": 0.3, "grace_s": 1.0, "rule": "hash"}


@dataclass(frozen=True)
class Hub:
    """A manager that is up."""

    collection: Path
    url: str

    def token(self, robot: str, folder: Path) -> Path:
        """Register a robot; the file with its token."""
        path = folder / f"{robot}.token"
        said = done("manager", "robot", "add", robot, "-C", self.collection)
        path.write_text(f"{robot} {said.split()[-1]}\n")
        return path

    def seeds(self, *urls: str) -> None:
        done("manager", "seeds", "-C", self.collection, *urls)

    def status(self) -> Any:
        with urllib.request.urlopen(f"{self.url}/cooperate/status", timeout=10) as answer:
            return json.load(answer)

    def robots(self) -> dict[str, dict[str, Any]]:
        return {robot["name"]: robot for robot in self.status()["robots"]}


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@contextmanager
def serve_hub(web: Web, path: Path, port: int = 0, **settings: Any) -> Iterator[Hub]:
    """`joro manager serve` until the block ends; with a port, the one that was there before."""
    collection = path
    if not port:
        port = free_port()
        collection = web.collection(path, manager=LEASES | {"port": port} | settings)
    process = subprocess.Popen(
        [*JORO, "manager", "serve", "-q", "-C", str(collection)], stdout=subprocess.DEVNULL
    )
    hub = Hub(collection, f"http://127.0.0.1:{port}")
    try:
        until = time.monotonic() + 60
        while not _answers(port):
            assert process.poll() is None, "the manager did not start"
            assert time.monotonic() < until, "the manager did not get ready"
            time.sleep(0.05)
        yield hub
    finally:
        process.terminate()
        process.wait(timeout=30)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Working:
    """`joro cooperate` in the background."""

    def __init__(self, hub: Hub, collection: Path, name: str, token: Path, *words: object) -> None:
        options = ["--manager", hub.url, "--name", name, "--token-file", str(token)]
        self._words = [*JORO, "cooperate", "-C", str(collection), *options, *map(str, words)]
        self.collection = collection
        self.log = collection / "said"
        self.start()

    def start(self) -> None:
        with self.log.open("a") as said:
            self.process = subprocess.Popen(self._words, stdout=said, stderr=said)

    def kill(self) -> None:
        kill(self.process)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)


@contextmanager
def working(
    web: Web, hub: Hub, folder: Path, *names: str, sections: dict[str, dict[str, Any]] | None = None
) -> Iterator[list[Working]]:
    """Robots of these names, each in its own collection; ended gently."""
    robots: list[Working] = []
    try:
        for name in names:
            token = hub.token(name, folder)
            robots.append(Working(hub, web.collection(folder / name, **(sections or {})), name, token))
        yield robots
    finally:
        for robot in robots:
            robot.end()
