from __future__ import annotations

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from joro.archive.merge import read_manifest
from joro.cli import crawling
from joro.cli.progress import Meter
from joro.clock import FakeClock
from joro.config import Config
from joro.coordinate.report import Report
from joro.store.collection import Collection
from tests.archive.examples import visit, writer

#: Large blocks go while small ones stay, as bodies and links do; prints the MB that are left.
PROBE = """
import re
from pathlib import Path
from joro.cli.crawling import return_large_blocks

def resident_mb():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000

if {switched}:
    return_large_blocks()
before = resident_mb()
bytes(16_000_000)
blocks, links = [], []
for _ in range(8):
    blocks.append(b"x" * 4_000_000)
    links.append([b"y" * 50_000 for _ in range(20)])  # too large to settle in older gaps
blocks.clear()
print(resident_mb() - before)
"""


def kept_mb(*, switched: bool) -> float:
    code = PROBE.format(switched=switched)
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a habit of glibc")
def test_large_blocks_of_memory_are_returned_while_small_ones_stay() -> None:
    links_mb = 8
    assert kept_mb(switched=True) < links_mb + 3 < links_mb + 20 < kept_mb(switched=False)


def test_indexes_are_merged_while_robots_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawling, "MERGE_EVERY_S", 0.05)
    collection = Collection.create(tmp_path / "web", Config())
    for _ in range(8):
        archive = writer(collection.archive)
        archive.append(visit())
        archive.close()

    async def work() -> None:
        async with asyncio.timeout(60), crawling._merging(collection):
            while not read_manifest(collection.archive).runs:  # noqa: ASYNC110  # another process's doing
                await asyncio.sleep(0.05)

    asyncio.run(work())
    assert [entry.lines for entry in read_manifest(collection.archive).runs] == [8]


def test_what_nobody_asked_for_was_not_visited() -> None:
    outcomes = {"ok": 5, "gone": 1, "disallowed": 2, "trap": 1_000, "forbidden address": 1}
    report = Report(found=1_012, visited=1_009, bytes=2_000_000, outcomes=outcomes)
    assert crawling.summary(report) == "6 pages visited (5 ok), 1,003 left out, 3 waiting, 2.0 MB"
    assert Meter(lambda: report, FakeClock()).line().startswith("collecting · 6 pages · 0/s · 3 waiting")


def test_a_page_that_has_not_changed_is_ok() -> None:
    report = Report(found=9, visited=9, revisits=8, outcomes={"ok": 1, "not modified": 7, "timeout": 1})
    assert crawling.summary(report) == "9 pages visited (8 ok), 8 visited again, 0 waiting, 0.0 MB"


def test_one_page_is_not_called_pages() -> None:
    report = Report(found=1, visited=1, outcomes={"ok": 1})
    assert crawling.summary(report) == "1 page visited (1 ok), 0 waiting, 0.0 MB"


def test_who_only_starts_robots_does_not_load_one() -> None:
    code = "import sys, joro.cli.crawl; sys.exit('joro.robot' in sys.modules)"
    assert not subprocess.run([sys.executable, "-c", code]).returncode


def test_what_is_garbage_already_is_not_kept_for_ever_with_what_is_loaded() -> None:
    code = (
        "import gc, sys, weakref, joro.cli.crawling as crawling\n"
        "class Robot: pass\n"
        "gc.disable()\n"
        "robot = Robot(); robot.itself = robot; seen = weakref.ref(robot); del robot\n"
        "crawling.spare_the_collector()\n"
        "sys.exit(seen() is not None)"
    )
    assert not subprocess.run([sys.executable, "-c", code]).returncode
