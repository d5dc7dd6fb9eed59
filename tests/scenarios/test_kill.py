"""The power fails again and again; nothing is lost and nothing is archived twice."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.stage import JORO, done, serve_web

pytestmark = pytest.mark.slow

KILLS = 12


def test_kill_dash_nine_in_mid_crawl_loses_no_page_and_doubles_none(tmp_path: Path) -> None:
    chance = random.Random(5)
    with serve_web(tmp_path, "--hosts", 80, "--pages", 3000, "--roles", "normal", "--latency", 10) as web:
        settings = {
            "politeness": {"interval_s": 0.0},
            "archive": {"commit_every_s": 0.3, "warc_limit_bytes": 2_000_000},
        }
        whole = web.collection(tmp_path / "whole", **settings)
        done("crawl", "-C", whole, *web.seeds)
        web.oracle.get("/reset")

        broken = web.collection(tmp_path / "broken", **settings)
        for _ in range(KILLS):
            kill_after(0.6 + chance.random() * 0.8, "crawl", "-C", broken, *web.seeds)
        done("crawl", "-C", broken, *web.seeds)

        found = responses(broken)
        assert {url: count for url, count in found.items() if count > 1} == {}
        assert set(found) == set(responses(whole))
        asked = {url for url in web.oracle.get("/fetched") if not url.endswith("/robots.txt")}
        assert asked == set(found)
    done("archive", "check", "-C", broken)


def kill_after(seconds: float, *words: object) -> None:
    process = subprocess.Popen([*JORO, *map(str, words), "-q"], stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
