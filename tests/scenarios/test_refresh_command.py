"""`joro refresh` and `joro crawl --keep-fresh` as people type them: to a limit, or until stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.stage import JORO, Web, done, joro, serve_web

pytestmark = pytest.mark.slow

#: Pages are due again after two seconds.
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": {"interval_s": 0.0, "per_address": 64, "address_interval_s": 0.0},
    "archive": {"commit_every_s": 0.2},
    "refresh": {
        "policy": "uniform",
        "visits_per_day": 10_000_000,
        "first_interval_s": 2.0,
        "least_interval_s": 2.0,
        "plan_every_s": 1.0,
        "watch": False,
    },
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    path = tmp_path_factory.mktemp("web")
    with serve_web(path, "--hosts", 12, "--pages", 60, "--roles", "normal", "--sizes", "even") as up:
        yield up


def fetched(web: Web) -> dict[str, int]:
    """How often each page was asked for."""
    counts = web.oracle.get("/fetched")
    return {url: sum(each.values()) for url, each in counts.items() if not url.endswith("/robots.txt")}


@pytest.mark.parametrize("processes", [1, 2])
def test_refresh_visits_what_a_plain_crawl_collected_and_nothing_else(
    web: Web, tmp_path: Path, processes: int
) -> None:
    collection = web.collection(tmp_path / "c", **SETTINGS)
    done("crawl", "-q", "-C", collection, "--limit", 30, web.seeds[0])
    known = json.loads(done("stats", "-C", collection, "--json"))
    assert known["plan"] is None
    web.oracle.get("/reset")
    said = done("refresh", "-q", "-C", collection, "-p", processes, "--limit", 150)
    after = json.loads(done("stats", "-C", collection, "--json"))
    assert "visited again" in said
    assert after["found"] == known["found"]
    assert max(fetched(web).values()) > 1
    assert (after["plan"]["missed"] >= 0, after["robots_planning"]) == (True, processes)
    assert "keeping pages fresh" in done("stats", "-C", collection)
    done("archive", "check", "-C", collection)


def test_keep_fresh_goes_on_until_it_is_stopped_and_ends_in_peace(web: Web, tmp_path: Path) -> None:
    collection = web.collection(tmp_path / "c", **SETTINGS)
    web.oracle.get("/reset")
    words = [*JORO, "crawl", "--keep-fresh", "-C", str(collection), web.seeds[0]]
    robot = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while not (counts := fetched(web)) or min(counts.values()) < 2:  # everything once, and then again
        assert robot.poll() is None, "it ended by itself"
        time.sleep(0.1)
    robot.send_signal(signal.SIGTERM)
    said, _ = robot.communicate(timeout=60)
    assert robot.returncode == 0
    assert "visited again" in said
    told = done("explain", "-C", collection, web.seeds[0])
    assert "visits found it changed" in told
    assert "visited again when a robot keeps pages fresh" in told or "Waits to be visited again" in told


@pytest.mark.parametrize("processes", [1, 2])
def test_refreshing_nothing_is_one_clear_line(web: Web, tmp_path: Path, processes: int) -> None:
    collection = web.collection(tmp_path / "c", **SETTINGS)
    result = joro("refresh", "-q", "-C", collection, "-p", processes)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "knows no page yet" in result.stderr
