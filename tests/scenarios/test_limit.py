"""`--limit` holds for a set of robots, also when one of them dies on the way."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from joro.robot import COMMIT_EVERY_VISITS
from tests.scenarios.archived import responses
from tests.scenarios.crawls import crawling, wait_for
from tests.scenarios.stage import Web, serve_web

pytestmark = pytest.mark.slow

LIMIT = 3_000


def visited(web: Web) -> int:
    return sum(not url.endswith("/robots.txt") for url in web.oracle.get("/fetched"))


@pytest.mark.parametrize("kills", [0, 1])
def test_two_robots_stop_within_a_batch_of_the_limit(tmp_path: Path, kills: int) -> None:
    options = ("--hosts", 200, "--pages", 9000, "--roles", "normal", "--latency", 50)
    with serve_web(tmp_path, *options) as web:
        # Slow enough for the kill to come in time.
        fetch, archive = {"sockets": 20}, {"commit_every_s": 0.2}
        path = web.collection(tmp_path / "c", politeness={"interval_s": 0.0}, fetch=fetch, archive=archive)
        with crawling(path, "-p", 2, "--limit", LIMIT, *web.seeds) as process:
            if kills:
                wait_for(lambda: visited(web) > LIMIT * 3 // 4)
                max(psutil.Process(process.pid).children(), key=lambda robot: robot.pid).send_signal(
                    signal.SIGKILL
                )
            process.wait(timeout=120)
        assert process.returncode == 0
        assert LIMIT <= len(responses(path)) <= LIMIT + COMMIT_EVERY_VISITS
