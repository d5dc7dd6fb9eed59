"""Robots are killed again and again; nothing is lost and nothing is archived twice."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.scenarios.archived import responses
from tests.scenarios.stage import JORO, Web, done, serve_web

pytestmark = pytest.mark.slow

#: How often a process is killed; `make bench ONLY=kills` does it a hundred times.
KILLS = 10
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": {"interval_s": 0.0},
    "archive": {"commit_every_s": 0.3, "warc_limit_bytes": 2_000_000},
}


@pytest.mark.parametrize("processes", [1, 2])
def test_kill_dash_nine_in_mid_crawl_loses_no_page_and_doubles_none(tmp_path: Path, processes: int) -> None:
    with serve_web(tmp_path, "--hosts", 80, "--pages", 3000, "--roles", "normal", "--latency", 10) as web:
        whole = web.collection(tmp_path / "whole", **SETTINGS)
        done("crawl", "-C", whole, *web.seeds)
        web.oracle.get("/reset")
        broken = web.collection(tmp_path / "broken", **SETTINGS)
        crawl_with_kills(web, broken, processes, KILLS, random.Random(5))
        found = responses(broken)
        assert {url: count for url, count in found.items() if count > 1} == {}
        assert set(found) == set(responses(whole))
        asked = {url for url in web.oracle.get("/fetched") if not url.endswith("/robots.txt")}
        assert asked == set(found)
        assert web.oracle.get("/politeness", interval_s=0)["most_concurrent"] == 1
    done("archive", "check", "-C", broken)


def crawl_with_kills(web: Web, collection: Path, processes: int, kills: int, chance: random.Random) -> None:
    """Collect everything; meanwhile kill a robot, or the whole set, at random moments."""
    words = [*JORO, "crawl", "-q", "-p", str(processes), "-C", str(collection), *web.seeds]
    for _ in range(kills):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        time.sleep(0.7 + chance.random() * 0.8)
        robots = psutil.Process(process.pid).children(recursive=True)
        for robot in chance.sample(robots, min(1, len(robots))):
            robot.send_signal(signal.SIGKILL)
        if robots and chance.random() < 0.5:
            time.sleep(chance.random())  # the set starts the robot again; then it is killed itself
        process.send_signal(signal.SIGKILL)
        process.wait()
    done(*words[len(JORO) :], timeout=900)
