"""How many pages a second can be decided about, and how much memory does deciding take?

A decision is a whole round of one page: its date comes, its entry is read from the calendar, what is known of
its changes gives the interval it wishes at the present price, and it waits in its server's queue; its visit
comes home, its history, its interval, its next date and its record are made anew, and what its server's pages
wish together. Looks at entries that are not due yet count as cost, not as decisions. All is committed as the
robot does it, 500 visits at a time.

It is the robot's own code (`Keeper`, `Frontier`) on a frontier as a crawl leaves it. Left out is what any
visit takes, whether it is planned or not: taking the page from its queue, reading its record for the request,
and closing the visit. What RocksDB's own threads do counts whole. Each size runs in a process of its own,
which also reports the most memory it had while it decided. Planning rounds are counted apart.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import Outcome, Response, Visit
from joro.robot.keeper import Keeper
from joro.robot.lessons import dated
from joro.robot.planner import Planner
from joro.robot.policy import Policy
from joro.schedule import change
from joro.schedule.plan import wish
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.url import fingerprint

#: The curve; `JORO_SCHEDULE_PAGES=100000000` runs the size issue 4 speaks of (an hour, 40 GB of disk).
SIZES = (1_000_000, int(os.environ.get("JORO_SCHEDULE_PAGES", "10000000")))
PAGES_PER_SERVER = 100
DECISIONS = 100_000
#: Visits to a commit, as the robot has it.
COMMIT = 500
START, DAY_S = 1.7e9, 86_400.0
#: The budget is a visit to every page in so many days.
USUAL_DAYS = 12


def figures() -> dict[str, tuple[float, str]]:
    """Decisions a CPU-second at the largest size; memory there, and what ten times as many pages add."""
    curve = [_measure(pages) for pages in SIZES]
    for point in curve:
        print(
            f"  {point['pages']:>12,.0f} pages: {point['decisions']:,.0f} decisions per CPU-s,"
            f" {point['looks']:.2f} looks to each; µs: bring {point['bring_us']:.1f}, learn"
            f" {point['learn_us']:.1f}, commit {point['commit_us']:.1f}, RocksDB's threads"
            f" {point['threads_us']:.1f}; left out {point['visit_us']:.1f};"
            f" a round {point['round_us']:.1f} µs a server; {point['peak_mb']:,.0f} MB"
        )
    first, last = curve[0], curve[-1]
    slope = (last["peak_mb"] - first["peak_mb"]) / np.log10(last["pages"] / first["pages"])
    return {
        "schedule.pages": (last["pages"], "pages"),
        "schedule.decisions_per_cpu_s": (last["decisions"], "pages/CPU-s"),
        "schedule.decisions_per_cpu_s_1m": (first["decisions"], "pages/CPU-s"),
        "schedule.looks_per_cpu_s": (last["decisions"] * last["looks"], "pages/CPU-s"),
        "schedule.round_us_per_server": (last["round_us"], "µs"),
        "schedule.memory_mb": (last["peak_mb"], "MB"),
        "schedule.memory_mb_per_tenfold": (slope, "MB"),
    }


def _measure(pages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "bench.schedule", str(pages), directory]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


class Stand:
    """A frontier full of visited pages, and what decides about them."""

    def __init__(self, directory: Path, pages: int) -> None:
        self.frontier = Frontier(directory)
        self._chance = np.random.default_rng(1)
        self._pages = pages
        self.clock = FakeClock(START)
        settings = Refresh(enabled=True, visits_per_day=pages // USUAL_DAYS)
        self.planner = Planner(self.frontier, settings, self.clock, sockets=100, minimum_s=lambda *_: 20.0)
        self._keeper = Keeper(self.frontier, settings, self.planner, self.clock)
        self._histories = self._drawn_histories()
        self.cpu_s = dict.fromkeys(("bring", "visit", "learn", "commit"), 0.0)
        self.visits = self.looks = 0

    def fill(self) -> None:
        """Pages visited some time ago, with dates."""
        self.frontier.calendar.pop(START, 0)
        for first in range(0, self._pages, 5_000):
            numbers = range(first, min(first + 5_000, self._pages))
            self._add([self._record(number) for number in numbers])
            self.frontier.commit(None)

    def _add(self, records: list[PageRecord]) -> None:
        cares = [record.upkeep for record in records if record.upkeep is not None]
        for record, care in zip(records, cares, strict=True):
            self.frontier.keep_page(record)
            server = self.frontier.server(record.url.rpartition("/")[0])
            wish(server.wishes, care.interval_s, care.weight)
            server.download_s = server.longest_download_s = 1.0
            server.found += 1
            server.visited += 1
            server.collected += 1
        marks = [fingerprint(record.url) for record in records]
        names = [fingerprint(record.url.rpartition("/")[0]) for record in records]
        seen_at = np.array([care.seen_at for care in cares])
        self.frontier.calendar.push(dated(marks, np.array(names, np.uint64), cares, seen_at, (0.0, np.inf)))

    def _record(self, number: int) -> PageRecord:
        """One of a server's pages; pages of a server are as far apart as a crawl would have found them."""
        servers = self._pages // PAGES_PER_SERVER
        url = f"http://www.server-{number % servers}.example/pages-of-it-{number // servers}.html"
        interval_s = float(min(self._chance.lognormal(np.log(USUAL_DAYS * DAY_S), 0.7), 60 * DAY_S))
        seen_at = START - interval_s * float(self._chance.random())
        care = Upkeep(
            3, seen_at + interval_s, interval_s, seen_at, seen_at, f"sha1:{number:032d}", number + 1
        )
        care.etag, care.modified = f'"{number:x}-5d2f"', "Mon, 16 Nov 2026 12:00:00 GMT"
        care.history = self._histories[number % len(self._histories)]
        return PageRecord(url, 3, seen_at, "ok", 200, number, 0, care)

    def _drawn_histories(self) -> list[bytes]:
        """Of pages that were visited one to ten times."""
        policy, found = Policy(Refresh()), list[bytes]()
        histories = change.blank(200)
        for _ in range(10):
            away_s = self._chance.lognormal(np.log(5 * DAY_S), 1.0, 200)
            histories = policy.learned(histories, away_s, self._chance.random(200) < 0.3)
            found += change.pack(histories)
        return found

    def plan(self, rounds: int = 3) -> float:
        """Plan as a robot does that has worked for two days; CPU-seconds of a round."""
        start = time.process_time()
        for _ in range(rounds):
            self.clock._now += DAY_S
            self.planner.round()
        return (time.process_time() - start) / rounds

    def decide(self, decisions: int) -> float:
        """Let so many pages be due, be visited and be dated again; CPU-seconds of all that counts."""
        self.visits = self.looks = 0
        self.cpu_s = dict.fromkeys(self.cpu_s, 0.0)
        step_s = COMMIT / (self._pages / USUAL_DAYS) * DAY_S
        started, mine = time.process_time(), time.thread_time()
        while self.visits < decisions:
            self.clock._now += step_s
            self._round()
        threads_s = time.process_time() - started - (time.thread_time() - mine)
        self.cpu_s["threads"] = max(threads_s, 0.0)
        return sum(self.cpu_s.values()) - self.cpu_s["visit"]

    def _round(self) -> None:
        """What is due waits, is visited, and its visits come home."""
        meter = _Meter(self.cpu_s)
        servers = self._keeper.bring_due()
        meter.stop("bring")
        self.frontier.commit(None)
        meter.stop("commit")
        visits = [self._visited(server) for server in servers]
        meter.stop("visit")
        cares = [self._keeper.learn(*each) for each in visits]
        self._keeper.settle()
        meter.stop("learn")
        for (visit, before, _, _), care in zip(visits, cares, strict=True):
            self.frontier.done(visit, before.hops, care)
        meter.stop("visit")
        self.visits += len(visits)

    def _visited(self, server: str) -> tuple[Visit, PageRecord, str, int]:
        page = self.frontier.take(server)
        assert page is not None
        before = self._keeper.before(page)
        assert before is not None
        assert before.upkeep is not None
        care, now = before.upkeep, self.clock.now()
        changed = float(self._chance.random()) < 0.3
        digest, main = ("sha1:" + "0" * 32, int(now)) if changed else (care.body, care.text)
        fields = {"etag": care.etag + "x" * changed, "last-modified": "", "content-type": "text/html"}
        visit = Visit(page, now, Outcome.OK, response=Response(200, b"", b"", fields), elapsed_s=0.5)
        return visit, before, digest, main


class _Meter:
    """CPU time of this thread since the last stop."""

    def __init__(self, accounts: dict[str, float]) -> None:
        self._accounts = accounts
        self._last = time.thread_time()

    def stop(self, name: str) -> None:
        now = time.thread_time()
        self._accounts[name] += now - self._last
        self._last = now


def _run(pages: int, directory: Path) -> dict[str, float]:
    filling = os.fork()
    if not filling:
        stand = Stand(directory, pages)
        stand.fill()
        stand.frontier.close()
        os._exit(0)
    os.waitpid(filling, 0)  # its memory does not count: a crawl fills a frontier over months
    stand = Stand(directory, pages)
    round_s = stand.plan()
    stand.decide(DECISIONS // 5)  # dates that were due while the robot planned are behind us
    cpu_s = stand.decide(DECISIONS)
    parts = {f"{name}_us": 1e6 * spent / stand.visits for name, spent in stand.cpu_s.items()}
    return parts | {
        "pages": pages,
        "decisions": stand.visits / cpu_s,
        "looks": stand.looks / stand.visits,
        "round_us": 1e6 * round_s / (pages / PAGES_PER_SERVER),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]), Path(sys.argv[2]))))
