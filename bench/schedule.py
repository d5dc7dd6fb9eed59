"""How many pages a second can be decided about, and how much memory does deciding take?

A decision is a whole round of one page: its date comes, its entry is read from the calendar, what is known of
its changes gives the interval it wishes at the present price, and it waits in its server's queue; its visit
comes home, its history, interval and next date are made anew, and what its server's pages wish together.
Looks at entries that are not due yet count as cost, not as decisions. All is committed as the robot does it.

It is the robot's own code (`Keeper`, `Frontier`) on a frontier as a crawl leaves it, in steady state, but for
requests, reading and the archive. What deciding costs is the difference between two processes that take
turns on frontiers alike. One decides. The other visits as many known pages in no order at all: it reads their
records, lets them wait, takes them, notes what they were like (digests and validators, which the archive and
the next request need, whoever decides when that is made), writes records and queues and servers, commits, and
decides nothing. Both take visits in as the robot does, a few at a time. CPU time is that of the whole
processes, RocksDB's threads included. Planning rounds are counted apart.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.schedule_pages import PAGES_PER_SERVER, Pages
from joro.cli.crawling import spare_the_collector
from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import Outcome, Response, Visit
from joro.robot.arrivals import MOST
from joro.robot.keeper import Keeper, seen
from joro.robot.planner import Planner
from joro.robot.policy import Policy
from joro.schedule import change, prior
from joro.store.frontier import Frontier
from joro.store.records import PageRecord
from joro.url import fingerprint, server_of

#: The curve; `JORO_SCHEDULE_PAGES=100000000` adds a hundred million pages (a quarter of an hour, 25 GB).
SIZES = (100_000, 1_000_000, 10_000_000)
LARGEST = int(os.environ.get("JORO_SCHEDULE_PAGES", SIZES[-1]))
#: Each process has so many turns, of so many pages; the first turn does not count.
TURNS, TURN = 11, 10_000
#: Visits to a commit, as the robot has it.
COMMIT = 500
START, DAY_S = 1.7e9, 86_400.0
#: Planning rounds before the first page is due, a day apart: the robot is not new.
PLANNED = 3
#: The budget is a visit to every page in so many days.
USUAL_DAYS = 12


def figures() -> dict[str, tuple[float, str]]:
    """Decisions a CPU-second at the largest size; memory there, and what the last pages added."""
    curve = []
    for pages in (*(size for size in SIZES if size < LARGEST), LARGEST):
        point = _measure(pages)
        curve.append(point)
        print(
            f"  {point['pages']:>12,.0f} pages: {1e6 / point['cost_us']:,.0f} decisions per CPU-s"
            f" ({point['least_us']:.1f} to {point['most_us']:.1f} µs in the quartiles of the turns),"
            f" {1e6 / point['whole_us']:,.0f} with all that revisiting takes;"
            f" {point['looks']:.2f} looks to a visit; a round {point['round_us']:.1f} µs a server;"
            f" {point['peak_mb']:,.0f} MB",
            flush=True,
        )
    before, last = curve[-2:]
    slope = (last["peak_mb"] - before["peak_mb"]) / np.log10(last["pages"] / before["pages"])
    per_page = 1e6 * (last["peak_mb"] - before["peak_mb"]) / (last["pages"] - before["pages"])
    million = min(curve, key=lambda point: abs(point["pages"] - 1e6))
    return {
        "schedule.pages": (last["pages"], "pages"),
        "schedule.decisions_per_cpu_s": (1e6 / last["cost_us"], "pages/CPU-s"),
        "schedule.decisions_per_cpu_s_1m": (1e6 / million["cost_us"], "pages/CPU-s"),
        "schedule.revisits_per_cpu_s": (1e6 / last["whole_us"], "pages/CPU-s"),
        "schedule.looks_per_visit": (last["looks"], ""),
        "schedule.round_us_per_server": (last["round_us"], "µs"),
        "schedule.memory_mb": (last["peak_mb"], "MB"),
        "schedule.memory_bytes_per_page": (per_page, "B"),
        "schedule.memory_mb_per_tenfold": (slope, "MB"),
    }


def _measure(pages: int) -> dict[str, float]:
    """Fill a frontier, copy it, and let two processes take turns."""
    with tempfile.TemporaryDirectory() as directory:
        decides, repeats = Path(directory, "decides"), Path(directory, "repeats")
        _call(pages, decides, "fill").communicate()
        shutil.copytree(decides, repeats, copy_function=_linked)
        teams = [_call(pages, decides, "decide"), _call(pages, repeats, "repeat")]
        turns = [[_turn(team) for team in teams] for _ in range(TURNS)]
        last, _ = [json.loads(team.communicate("")[0]) for team in teams]
    costs = np.array([[turn["cpu_us"] for turn in pair] for pair in turns[1:]])
    extra = costs[:, 0] - costs[:, 1]
    return dict(last) | {
        "cost_us": float(extra.mean()),
        "least_us": float(np.quantile(extra, 0.25)),
        "most_us": float(np.quantile(extra, 0.75)),
        "whole_us": float(costs[:, 0].mean()),
    }


def _linked(source: str, target: str) -> None:
    """Tables are never written again; everything else is."""
    (os.link if source.endswith(".sst") else shutil.copy)(source, target)


def _call(pages: int, directory: Path, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.schedule", str(pages), str(directory), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _turn(team: subprocess.Popen[str]) -> dict[str, float]:
    assert team.stdin is not None
    assert team.stdout is not None
    team.stdin.write("\n")
    team.stdin.flush()
    return dict(json.loads(team.stdout.readline()))


def drawn(chance: np.random.Generator) -> tuple[change.Histories, NDArray[np.float64]]:
    """Histories of pages that were visited one to ten times, and what they wish when all is steady."""
    policy, found = Policy(Refresh()), list[bytes]()
    histories = change.blank(200)
    for _ in range(10):
        away_s = chance.lognormal(np.log(5 * DAY_S), 1.0, 200)
        histories = policy.learned(histories, away_s, chance.random(200) < 0.3)
        found += change.pack(histories)
    all_of_them, weights = change.unpack(found), np.ones(len(found))
    said = prior.said(all_of_them)
    others = np.broadcast_to(said.mean(axis=0) * (PAGES_PER_SERVER - 1), said.shape)
    for _ in range(PLANNED):
        policy.study(all_of_them, weights, others, len(found) / USUAL_DAYS / DAY_S)
    return all_of_them, policy.intervals_s(all_of_them, weights, others)


class Stand:
    """A frontier full of visited pages, and what decides about them."""

    def __init__(self, directory: Path, pages: Pages) -> None:
        self.frontier = Frontier(directory)
        self._chance = np.random.default_rng(2)
        self._pages = pages
        self.clock = FakeClock(START - PLANNED * DAY_S)
        per_day = pages.pages / USUAL_DAYS
        settings = Refresh(enabled=True, visits_per_day=int(per_day))
        sockets = max(100, 2 * int(per_day / DAY_S))  # a download takes a second: twice as many as it takes
        self.planner = Planner(
            self.frontier, settings, self.clock, sockets=sockets, minimum_s=lambda *_: 20.0
        )
        self._keeper = Keeper(self.frontier, settings, self.planner, self.clock)
        self._step_s = COMMIT / per_day * DAY_S
        self.visits = 0
        first = self.frontier.visited(fingerprint(pages.url(0)))
        assert first == pages.record(0), "pages are not written as the robot would"

    def plan(self) -> float:
        """Plan as a robot does that has worked for days; CPU-seconds of a round."""
        start = time.process_time()
        for _ in range(PLANNED):
            self.clock._now += DAY_S
            self.planner.round()
        return (time.process_time() - start) / PLANNED

    def decide(self) -> None:
        """What is due waits, is visited, and its visits come home; they are learned from at the commit."""
        self.clock._now += self._step_s
        for visit, before, digest, main in self._visits(self._keeper.bring_due()):
            self.frontier.done(visit, before.hops, self._keeper.learn(visit, before, digest, main))
            self.visits += 1

    def repeat(self) -> None:
        """The same for pages drawn by lot, about which nothing is decided."""
        self.clock._now += self._step_s
        records = [record for record in self.frontier.records(self._drawn_marks()) if record is not None]
        assert len(records) == COMMIT
        servers = [server_of(record.url) for record in records if self.frontier.wait_again(record)]
        for visit, before, digest, main in self._visits(servers):
            self.frontier.done(visit, before.hops, seen(visit, before.upkeep, digest, main))
            self.visits += 1

    def _drawn_marks(self) -> NDArray[np.uint64]:
        numbers = set[int]()
        while len(numbers) < COMMIT:
            numbers.update(self._chance.integers(self._pages.pages, size=COMMIT - len(numbers)).tolist())
        return np.array([fingerprint(self._pages.url(number)) for number in numbers], np.uint64)

    def _visits(self, servers: list[str]) -> Iterator[tuple[Visit, PageRecord, str, int]]:
        """They come home as the robot takes them in: a few together."""
        self.frontier.commit(None)
        for first in range(0, len(servers), MOST):
            yield from [self._visited(server) for server in servers[first : first + MOST]]

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


def _work(pages: int, directory: Path, what: str) -> None:
    """Turns, one for each line that comes in."""
    many = Pages(pages, *drawn(np.random.default_rng(1)), START)
    if what == "fill":
        many.write(directory)
        return
    stand = Stand(directory, many)
    round_s = stand.plan()
    spare_the_collector()  # as every crawl does when it is ready
    step = stand.decide if what == "decide" else stand.repeat
    started, visits = time.process_time(), 0
    for _ in sys.stdin:
        while stand.visits < visits + TURN:
            step()
        now = time.process_time()
        print(json.dumps({"cpu_us": 1e6 * (now - started) / (stand.visits - visits)}), flush=True)
        started, visits = now, stand.visits
    figures = {
        "pages": pages,
        "looks": stand.frontier.calendar.handed_out / stand.visits,
        "round_us": 1e6 * round_s / many.servers,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    _work(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
