"""A robot has lost all its manners; the breaker stands between it and three hundred servers."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pycurl
import pytest
import uvloop

from joro.clock import FastClock
from joro.testweb.running import OracleClient
from tests.breaker.stand import Curl, breaker
from tests.scenarios.stage import JORO, Web, joro, serve_web

pytestmark = pytest.mark.slow

THREADS = 24
LIMITS = {
    "per_server_per_minute": 5,
    "per_address_per_minute": 8,
    "concurrent_per_server": 2,
    "concurrent_per_address": 3,
    "quarantine_s": 1.0,
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    options = ("--hosts", 300, "--pages", 1500, "--roles", "normal", "--addresses", "own", "--latency", 20)
    with serve_web(tmp_path_factory.mktemp("web"), *options) as web:
        yield web


@contextmanager
def serve_breaker(collection: Path, *options: object) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`joro breaker` until the block ends, and its port."""
    ready = collection / "ready"
    ready.unlink(missing_ok=True)
    command = [*JORO, "breaker", "-C", collection, "--ready-file", ready, "-q", *(options or ("--port", 0))]
    with (collection / "alerts").open("wb") as alerts:
        process = subprocess.Popen([str(word) for word in command], stderr=alerts)
        try:
            while not ready.exists():
                assert process.poll() is None, (collection / "alerts").read_text()
                time.sleep(0.02)
            yield process, int(ready.read_text())
        finally:
            process.terminate()
            assert process.wait(timeout=20) in (0, -signal.SIGKILL)


def servers(oracle: OracleClient, port: int) -> list[tuple[str, str]]:
    """The servers' URLs, and the places they are reached at."""
    steady = [
        host for host in oracle.get("/hosts") if host["validators"] != "restless"
    ]  # same bytes each time
    return [(host["url"], f"{host['address']}:{port}") for host in steady]


def flood(proxy: int, aims: list[tuple[str, str]], seconds: float) -> int:
    """Ask everyone at once, again and again, without any delay; the number of requests made."""
    deadline = time.monotonic() + seconds
    together = threading.Barrier(THREADS)

    def rage(number: int) -> int:
        curl, chance, asked = Curl(proxy), random.Random(number), 0
        together.wait()
        while time.monotonic() < deadline:  # in the same order, so that all knock at one door at once
            for url, place in aims if asked < len(aims) else chance.choices(aims, k=50):
                curl.fetch(url, place)
                asked += 1
        return asked

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(rage, range(THREADS)))


def most_in(times: list[float], window_s: float) -> int:
    """The most of `times` in any window of that length."""
    times.sort()
    most = first = 0
    for last, moment in enumerate(times):
        while moment - times[first] >= window_s:
            first += 1
        most = max(most, last - first + 1)
    return most


def judge(oracle: OracleClient, window_s: float) -> dict[str, int]:
    """By the test web's own log: the most requests in a window and at once, of a server and of an address."""
    rows = oracle.get("/log")
    most = {
        "concurrent": max(row["concurrent"] for row in rows),
        "sharing": max(row["sharing"] for row in rows),
    }
    for key in ("host", "address"):
        times = defaultdict(list)
        for row in rows:
            times[row[key]].append(row["start"])
        most[key] = max(most_in(each, window_s) for each in times.values())
    return most


def status(port: int) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        return json.load(answer)


def web_port(web: Web) -> int:
    return int(web.settings.with_name("ready").read_text().split()[0])


def test_a_flood_reaches_no_server_more_often_than_the_limit(web: Web, tmp_path: Path) -> None:
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", breaker=LIMITS)
    with serve_breaker(collection) as (_, port):
        asked = flood(port, servers(web.oracle, web_port(web)), seconds=8.0)
        told = status(port)
    most = judge(web.oracle, 60.0)
    assert most["host"] <= 5  # how many get through together depends on how busy the machine is
    assert most["address"] == 8
    assert most["concurrent"] <= 2
    assert most["sharing"] <= 3
    assert asked >= THREADS * 200
    assert told["granted"] == len(web.oracle.get("/log"))
    assert told["granted"] + told["refused"] == asked
    alerts = [json.loads(line) for line in (collection / "alerts").read_text().splitlines()]
    assert len(alerts) == told["alerts"] < asked / 5
    assert {alert["limit"] for alert in alerts} <= {5, 8, 2, 3}


def test_the_windows_slide_by_the_servers_own_log(web: Web) -> None:
    """Sixty seconds of the breaker's clock pass in two: a flood of ten seconds sees five windows."""
    web.oracle.get("/reset")

    async def story() -> int:
        async with breaker(FastClock(epoch=0.0, speed=30.0), **LIMITS) as proxy:
            aims = servers(web.oracle, web_port(web))[:60]
            return await asyncio.to_thread(flood, proxy.port, aims, 10.0)

    asked = uvloop.run(story())
    most = judge(web.oracle, 60.0 / 30.0)
    assert (most["host"], most["address"]) == (5, 8)
    assert most["concurrent"] <= 2  # how many meet depends on how busy the machine is
    assert most["sharing"] <= 3
    assert 60 * 5 < len(web.oracle.get("/log")) < asked  # more than one window's worth, less than was wanted


#: The fault: whatever politeness, the breaker or an address says, the next visit is due now.
FAULT = """
import msgspec, joro.cli, joro.fetch.http as http, joro.fetch.politeness as politeness
politeness.Manners.finished = lambda self, record, visit, delay, now: now
politeness.Manners.usual_s = lambda self, server, record, delay: 0.0
heed = http._heed
http._heed = lambda exchange, curl: msgspec.structs.replace(heed(exchange, curl), held_off_s=0.0)
joro.cli.main()
"""


def test_a_robot_with_a_fault_that_ignores_every_delay_is_stopped(web: Web, tmp_path: Path) -> None:
    web.oracle.get("/reset")
    manners = dict.fromkeys(["interval_s", "address_interval_s", "retry_wait_s"], 0.0)
    manners |= {"per_address": 64, "retry_limit": 0, "robots_txt": False}
    collection = web.collection(tmp_path / "c", breaker=LIMITS, politeness=manners)
    with serve_breaker(collection) as (_, port):
        text = (collection / "joro.toml").read_text()
        (collection / "joro.toml").write_text(text.replace('# breaker = ""', f'breaker = "127.0.0.1:{port}"'))
        command = [sys.executable, "-c", FAULT, "crawl", "-q", "-C", str(collection), *web.seeds]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        told = status(port)
    most = judge(web.oracle, 60.0)
    assert result.returncode == 0, result.stderr
    assert (most["host"], most["concurrent"]) == (5, 1)
    assert most["address"] <= 8
    assert told["refused"] > 100


def test_honest_traffic_passes_untouched(web: Web, tmp_path: Path) -> None:
    collection = web.collection(tmp_path / "c")
    aims = servers(web.oracle, web_port(web))
    with serve_breaker(collection) as (_, port):
        through, direct = Curl(port), Curl(0)
        for url, place in aims:
            apart = [(pycurl.PROXY, ""), (pycurl.PROXYHEADER, []), (pycurl.CONNECT_TO, [f"::{place}"])]
            wanted = direct.fetch(url, place, apart)
            assert wanted.status == 200
            assert through.fetch(url, place) == wanted
        told = status(port)
    assert (told["granted"], told["refused"]) == (len(aims), 0)


def test_killed_and_started_again_it_knows_nothing_and_works(web: Web, tmp_path: Path) -> None:
    collection = web.collection(tmp_path / "c", breaker=LIMITS)
    aims = servers(web.oracle, web_port(web))[:20]
    with serve_breaker(collection) as (process, port):
        threading.Timer(0.7, process.kill).start()
        flood(port, aims, seconds=1.5)
        assert process.wait(timeout=10) == -signal.SIGKILL
    web.oracle.get("/reset")
    with serve_breaker(collection, "--port", port) as (_, again):
        told = status(again)
        assert (again, told["granted"], told["quarantined"], told["connections"]) == (port, 0, [], 0)
        assert Curl(again).fetch(*aims[0]).status == 200
    assert [(row["concurrent"], row["connections"]) for row in web.oracle.get("/log")] == [(1, 1)]


def test_a_taken_port_is_one_line_and_no_breaker(web: Web, tmp_path: Path) -> None:
    collection = web.collection(tmp_path / "c")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = joro("breaker", "-C", collection, "--port", port)
    assert (result.returncode, result.stdout) == (1, "")
    wanted = f"joro: 127.0.0.1:{port} is in use; stop what serves there, or choose another --port\n"
    assert result.stderr == wanted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_ends_it_cleanly(web: Web, tmp_path: Path, number: int) -> None:
    collection = web.collection(tmp_path / "c")
    with serve_breaker(collection) as (process, port):
        Curl(port).fetch(*servers(web.oracle, web_port(web))[0])
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
    assert (collection / "alerts").read_text() == ""
