"""How many pages a second can be decided about, and how much memory does deciding take?

A decision: a page's date has come, its entry is read from the calendar, and what is known of its changes
gives the interval it wishes at the present price. Either it is not due yet, and its entry moves to the next
look; or it is, its record is read and, as if it had been visited and found changed or not, its history, its
interval, its next date and its record are made anew. All of that is committed as the robot does it, with the
records of the servers. No request is made, and no page waits in a queue. A planning round comes first.

It is the robot's own code on a frontier as a crawl leaves it. Each size runs in a process of its own, which
reports CPU time (that of RocksDB's own threads included) and the most memory it had while it decided.
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
from msgspec import structs

from joro.clock import FakeClock
from joro.config import Refresh
from joro.model import Page
from joro.robot.keeper import Keeper
from joro.robot.lessons import Lesson, Lessons, dated
from joro.robot.planner import Planner
from joro.robot.policy import Policy
from joro.schedule import change
from joro.schedule.plan import wish
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.store.upkeep import counting
from joro.url import fingerprint

#: The curve; `JORO_SCHEDULE_PAGES=100000000` runs the size issue 4 speaks of (an hour, 40 GB of disk).
SIZES = (1_000_000, int(os.environ.get("JORO_SCHEDULE_PAGES", "10000000")))
PAGES_PER_SERVER = 100
DECISIONS = 200_000
BATCH = 2_000
START, DAY_S = 1.7e9, 86_400.0
#: The budget is a visit to every page in so many days.
USUAL_DAYS = 12


def figures() -> dict[str, tuple[float, str]]:
    """Decisions a CPU-second at the largest size; memory there, and what ten times as many pages add."""
    curve = [_measure(pages) for pages in SIZES]
    for point in curve:
        print(
            f"  {point['pages']:>12,.0f} pages: {point['decisions']:,.0f} decisions per CPU-s,"
            f" {100 * point['due']:.0f} % of them visits; {point['learned']:,.0f} learned per CPU-s;"
            f" a round {point['round_s']:.2f} CPU-s; {point['peak_mb']:,.0f} MB"
        )
    first, last = curve[0], curve[-1]
    slope = (last["peak_mb"] - first["peak_mb"]) / np.log10(last["pages"] / first["pages"])
    return {
        "schedule.pages": (last["pages"], "pages"),
        "schedule.decisions_per_cpu_s": (last["decisions"], "pages/CPU-s"),
        "schedule.decisions_per_cpu_s_1m": (first["decisions"], "pages/CPU-s"),
        "schedule.share_visited": (last["due"], ""),
        "schedule.learned_per_cpu_s": (last["learned"], "visits/CPU-s"),
        "schedule.round_cpu_s": (last["round_s"], "CPU-s"),
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
        self._clock = FakeClock(START)
        settings = Refresh(enabled=True, visits_per_day=pages // USUAL_DAYS)
        self.planner = Planner(self.frontier, settings, self._clock, sockets=100, minimum_s=lambda *_: 20.0)
        self._keeper = Keeper(self.frontier, settings, self.planner, self._clock)
        self._lessons = Lessons(self.frontier, settings, self.planner)
        self._histories = self._drawn_histories()
        self.learning_s = 0.0
        self.visits = 0

    def fill(self) -> None:
        """Pages visited some time ago, with dates."""
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
        marks = [fingerprint(record.url) for record in records]
        names = [fingerprint(record.url.rpartition("/")[0]) for record in records]
        seen_at = np.array([care.seen_at for care in cares])
        dates = dated(marks, np.array(names, np.uint64), cares, seen_at)
        # Most have been looked at before: their next look is ahead.
        dates["due"] = START + (dates["due"] - seen_at) * self._chance.random(len(dates))
        self.frontier.calendar.push(dates)

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

    def decide(self, decisions: int) -> float:
        """Decide so often; CPU-seconds."""
        start = time.process_time()
        for _ in range(decisions // BATCH):
            popped = self.frontier.calendar.pop(np.inf, BATCH)
            self._clock._now = float(popped["due"][-1])
            due = self._keeper.sift(popped)
            records = self.frontier.records(due["mark"])
            assert counting(due, records).all()
            begun = time.process_time()
            closed = list[PageRecord]()
            changed = (self._chance.random(len(records)) < 0.3).tolist()
            for each, was in zip(records, changed, strict=True):
                assert each is not None
                closed.append(self._visited(each, was))
            self._lessons.learn()
            for record in closed:
                self.frontier.keep_page(record)
            self.learning_s += time.process_time() - begun
            self.visits += len(records)
            self.frontier.calendar.drop(due)
            self.frontier.commit(None)
        return time.process_time() - start

    def _visited(self, record: PageRecord, changed: bool) -> PageRecord:
        care, now = record.upkeep, self._clock.now()
        assert care is not None
        after = structs.replace(care, seen_at=now)
        page = Page(record.url, record.hops, record.url.rpartition("/")[0])
        self._lessons.add(Lesson(page, now, care, after, True, now - care.seen_at, changed))
        return structs.replace(record, time=now, upkeep=after)


def _run(pages: int, directory: Path) -> dict[str, float]:
    filling = os.fork()
    if not filling:
        stand = Stand(directory, pages)
        stand.fill()
        stand.frontier.close()
        os._exit(0)
    os.waitpid(filling, 0)  # its memory does not count: a crawl fills a frontier over months
    stand = Stand(directory, pages)
    start = time.process_time()
    stand.planner.round()
    round_s = time.process_time() - start
    cpu_s = stand.decide(DECISIONS)
    return {
        "pages": pages,
        "decisions": DECISIONS / cpu_s,
        "due": stand.visits / DECISIONS,
        "learned": stand.visits / stand.learning_s,
        "round_s": round_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]), Path(sys.argv[2]))))
