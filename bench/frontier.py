"""How much memory and time does a large frontier take?

It is filled through the same calls the robot makes, then met with links of which 95 in 100 are known. Each
size runs in a process of its own, which reports its peak memory and its CPU time per link.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from joro.store.frontier import Frontier

#: The curve, in two minutes; `JORO_FRONTIER_PAGES` chooses its last point.
SIZES = (1_000_000, 2_000_000, int(os.environ.get("JORO_FRONTIER_PAGES", "20000000")))
#: Links per page, of which one in twenty is new.
LINKS = 30
SEEN_SHARE = 0.95
SERVERS_PER_PAGE = 1 / 50


def figures() -> dict[str, tuple[float, str]]:
    """Peak memory at the largest size, its slope, and links a second when most are known."""
    curve = [_measure(pages) for pages in SIZES]
    for point in curve:
        peak, speed = point["peak_mb"], point["links_per_cpu_s"]
        print(f"  {point['pages']:>12,} pages: {peak:,.0f} MB, {speed:,.0f} links/CPU-s")
    first, last = curve[-2:]  # below a million pages the fixed parts are still filling up
    slope = (last["peak_mb"] - first["peak_mb"]) * 1e6 / (last["pages"] - first["pages"])
    return {
        "frontier.pages": (last["pages"], "pages"),
        "frontier.peak_mb": (last["peak_mb"], "MB"),
        "frontier.bytes_per_page": (slope, "B"),
        "frontier.forecast_100m_mb": (last["peak_mb"] + slope * (1e8 - last["pages"]) / 1e6, "MB"),
        "frontier.links_per_cpu_s": (last["links_per_cpu_s"], "links/CPU-s"),
    }


def _measure(pages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "bench.frontier", str(pages), directory]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


def _url(number: int) -> str:
    server = int(number * SERVERS_PER_PAGE)
    return f"http://www.server-{server}.example.jp/some/directory/{number % 97}/page-{number}.html"


def _fill(pages: int, directory: Path) -> dict[str, float]:
    """Register `pages` new URLs among twenty times as many links, as a crawl would."""
    frontier = Frontier(directory)
    chance = random.Random(1)
    new_per_batch, batches = 5_000, pages // 5_000
    for batch in range(batches):
        start = batch * new_per_batch
        frontier.add([_url(number) for number in range(start, start + new_per_batch)], 3)
        frontier.settle(lambda _: 10**9)
        frontier.commit(None)
    links, cpu_s = 0, 0.0
    for _ in range(20):
        fresh = [_url(pages + links + number) for number in range(500)]
        known = [_url(chance.randrange(pages)) for _ in range(9_500)]
        found = fresh + known
        chance.shuffle(found)
        before = time.process_time()
        for position in range(0, len(found), LINKS):
            if frontier.add(found[position : position + LINKS], 4):
                frontier.settle(lambda _: 10**9)
        frontier.settle(lambda _: 10**9)
        frontier.commit(None)
        cpu_s += time.process_time() - before
        links += len(found)
    frontier.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"pages": pages, "peak_mb": peak, "links_per_cpu_s": links / cpu_s}


if __name__ == "__main__":
    print(json.dumps(_fill(int(sys.argv[1]), Path(sys.argv[2]))))
