"""How much time, memory and disk does a large calendar take?

It is filled as a crawl would fill it, then pages that are due move to later dates, 500 to a commit, as visits
and repricing make them. Each size runs in a process of its own, which reports CPU time (that of RocksDB's own
threads included), peak memory and the bytes it sent to the disk.
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
from rocksdict import Rdict, WriteBatch

from joro.store.calendar import STATE_BYTES, Calendar, Entries, entries
from joro.store.rocks import opened

#: The curve; `JORO_CALENDAR_PAGES=100000000` runs the size issue 4 speaks of (15 CPU-minutes, 10 GB of disk).
SIZES = (1_000_000, int(os.environ.get("JORO_CALENDAR_PAGES", "10000000")))
MOVES = 1_000_000
COMMIT = 500
START = 1.7e9
DAY_S = 86_400.0


def figures() -> dict[str, tuple[float, str]]:
    """Speeds and bytes at the largest size, and the memory it takes there and ten times further on."""
    curve = [_measure(pages) for pages in SIZES]
    for point in curve:
        print(
            f"  {point['pages']:>12,.0f} pages: push {point['push']:,.0f}, pop {point['pop']:,.0f}, move"
            f" {point['move']:,.0f} per CPU-s; {point['bytes']:,.0f} B a move; {point['peak_mb']:,.0f} MB"
        )
    first, last = curve[0], curve[-1]
    slope = (last["peak_mb"] - first["peak_mb"]) / np.log(last["pages"] / first["pages"])
    return {
        "calendar.pages": (last["pages"], "pages"),
        "calendar.push_per_cpu_s": (last["push"], "entries/CPU-s"),
        "calendar.pop_per_cpu_s": (last["pop"], "entries/CPU-s"),
        "calendar.moves_per_cpu_s": (last["move"], "entries/CPU-s"),
        "calendar.bytes_per_move": (last["bytes"], "B"),
        "calendar.memory_mb": (last["peak_mb"], "MB"),
        "calendar.memory_mb_per_tenfold": (slope * np.log(10.0), "MB"),
    }


def _measure(pages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "bench.calendar", str(pages), directory]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


class Stand:
    """A calendar in a database of its own, with a meter."""

    def __init__(self, directory: Path) -> None:
        self._db: Rdict = opened(directory / "pages", read_only=False)
        self._calendar = Calendar(self._db)
        self._calendar.pop(START, 0)  # so it knows what time it is
        self._chance = np.random.default_rng(1)
        self._known = 0
        self.cpu_s = {"push": 0.0, "pop": 0.0, "move": 0.0}

    def fill(self, pages: int) -> None:
        """Push that many pages."""
        while self._known < pages:
            count = min(5_000, pages - self._known)
            new = self._new(count)
            with self.metered("push"):
                self._calendar.push(new)
                self._commit()

    def move(self, moves: int) -> None:
        """Pop what is due and put it off, until so many have moved."""
        for _ in range(moves // COMMIT):
            with self.metered("pop"):
                popped = self._calendar.pop(np.inf, COMMIT)
            later = popped["due"][-1] + self._intervals(len(popped))
            with self.metered("move"):
                self._calendar.put_off(popped, later)
                self._commit()

    def _new(self, count: int) -> Entries:
        marks = self._chance.integers(0, 2**64, count, np.uint64)
        states = np.frombuffer(self._chance.bytes(count * STATE_BYTES), f"V{STATE_BYTES}")
        self._known += count
        return entries(START + self._intervals(count), marks, 1, marks % np.uint64(100_000), states)

    def _intervals(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Seconds, log-normal with a median of 12 days, as revisit intervals are."""
        return np.minimum(self._chance.lognormal(np.log(12 * DAY_S), 1.2, count), 300 * DAY_S)

    def _commit(self) -> None:
        batch = WriteBatch(raw_mode=True)
        self._calendar.write_into(batch)
        self._db.write(batch)
        self._calendar.committed()

    def metered(self, what: str) -> Meter:
        """Adds the CPU time of a block to an account."""
        return Meter(self.cpu_s, what)


class Meter:
    """CPU time of a `with` block."""

    def __init__(self, accounts: dict[str, float], name: str) -> None:
        self._accounts = accounts
        self._name = name

    def __enter__(self) -> None:
        self._accounts[self._name] -= time.process_time()

    def __exit__(self, *_: object) -> None:
        self._accounts[self._name] += time.process_time()


def _written() -> int:
    """Bytes this process has sent to the disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def _run(pages: int, directory: Path) -> dict[str, float]:
    stand = Stand(directory)
    stand.fill(pages)
    written = _written()
    stand.move(MOVES)
    moving_s = stand.cpu_s["pop"] + stand.cpu_s["move"]
    return {
        "pages": pages,
        "push": pages / stand.cpu_s["push"],
        "pop": MOVES / stand.cpu_s["pop"],
        "move": MOVES / moving_s,
        "bytes": (_written() - written) / MOVES,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(_run(int(sys.argv[1]), Path(sys.argv[2]))))
