"""Crawls to the end, in the background, cut off; and what the servers saw of them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from joro import config
from tests.scenarios.laws import Host, Row, as_we_left, by, was_read_too_late
from tests.scenarios.stage import JORO, Web, done

#: Settings with which only the interval acts, so that one rule added to it can be heard.
QUIET: dict[str, Any] = {"fast_servers_percent": 0, "slow_delay_percent": 0, "error_delay_percent": 0}


@dataclass(frozen=True)
class Seen:
    """What the servers saw of one crawl."""

    rows: list[Row]
    hosts: list[Host]
    verdict: dict[str, Any]
    settings: config.Config
    collection: Path

    def named(self, **habits: object) -> list[Host]:
        """The hosts with these habits, e.g. role="slow"."""
        return [host for host in self.hosts if all(host[key] == value for key, value in habits.items())]

    def of(self, **habits: object) -> list[list[Row]]:
        """The requests to each of them."""
        groups = by(self.rows)
        return [groups[host["name"]] for host in self.named(**habits) if host["name"] in groups]

    @property
    def pages(self) -> set[str]:
        """What was asked for, robots.txt left out."""
        return {row["url"] for row in self.rows if not row["path"].startswith("/robots")}


def crawl(web: Web, path: Path, *words: object, **sections: dict[str, Any]) -> Seen:
    """Collect to the end, with one process from the first seed if no `words` are given."""
    web.oracle.get("/reset")
    collection = web.collection(path, **sections)
    done("crawl", "-q", "-C", collection, *(words or (web.seeds[0],)))
    return look_back(web, collection)


def look_back(web: Web, collection: Path) -> Seen:
    """What the servers saw since the last reset."""
    settings = config.load(collection / config.FILE_NAME)
    get = web.oracle.get
    verdict = get("/politeness", interval_s=settings.politeness.interval_s)
    rows = [as_we_left(row, settings.fetch.timeout_s) for row in get("/log") if not was_read_too_late(row)]
    return Seen(rows, get("/hosts"), verdict, settings, collection)


@contextmanager
def crawling(collection: Path, *words: object, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """`joro crawl` in the background; ended gently, if it has not ended."""
    command = [*JORO, "crawl", "-q", "-C", str(collection), *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=40)


def kill(process: subprocess.Popen[bytes]) -> None:
    """A command and every robot it started, all at the same moment."""
    for each in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        each.send_signal(signal.SIGKILL)
    process.wait()


def wait_for(what: Callable[[], object], patience_s: float = 120.0) -> None:
    """Until it is so."""
    deadline = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
