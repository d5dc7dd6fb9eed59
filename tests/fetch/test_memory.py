"""Strangers do not fill our memory: measured in a process of its own, against servers in another."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from joro.config import render
from joro.testweb.running import Running, separate
from joro.testweb.settings import Settings

#: Visits `urls` (all at once) and prints by how many MB the process was larger at its worst.
PROBE = """
import asyncio, json, resource, sys
import uvloop
from joro import config
from joro.clock import RealClock
from joro.fetch.visit import Visitor
from joro.model import Page

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000

async def main(settings, urls):
    visitor = Visitor(settings, user_agent="joro/test", clock=RealClock())
    await visitor.visit(Page(urls[0].rsplit("/x/", 1)[0] + "/"))
    before = peak_mb()
    outcomes = {}

    async def one(url):
        visit = await visitor.visit(Page(url))
        outcomes[url] = visit.outcome.value, len(visit.response.body) if visit.response else 0

    await asyncio.gather(*map(one, urls))
    await visitor.close()
    return peak_mb() - before, outcomes

text, urls = json.load(sys.stdin)
print(json.dumps(uvloop.run(main(config.parse(text).fetch, urls))))
"""
#: How often each of its three bad pages is visited, all at the same time.
TIMES = {
    "endless": 20,
    "bomb": 5,
    "bighead": 5,
    "garbage": 2,
    "headers": 2,
    "short": 2,
    "badchunk": 2,
    "drip": 2,
}


def grown_mb(web: Running) -> tuple[float, dict[str, tuple[str, int]]]:
    """By how much the process grew, and what became of each URL."""
    hosts = {host["kind"]: host["url"] for host in web.oracle.get("/hosts") if host["role"] == "hostile"}
    urls = [f"{hosts[kind]}x/{page}" for kind, times in TIMES.items() for page in (1, 2, 3) * times]
    fetch = replace(web.config.fetch, timeout_s=30.0, stall_s=3.0)
    asked = json.dumps((render(replace(web.config, fetch=fetch)), urls))
    probe = subprocess.run(
        [sys.executable, "-c", PROBE], input=asked, stdout=subprocess.PIPE, text=True, check=True
    )
    grown, outcomes = json.loads(probe.stdout)
    pages = [(kind, page) for kind in TIMES for page in (1, 2, 3)]
    return grown, {f"{kind}/{page}": tuple(outcomes[f"{hosts[kind]}x/{page}"]) for kind, page in pages}


@pytest.mark.slow
def test_120_answers_of_hostile_servers_at_once_cost_less_than_50_mb() -> None:
    with separate(Settings(hosts=40, pages=40, roles=("hostile",))) as web:
        grown, outcomes = grown_mb(web)
    assert grown < 50
    assert [outcomes[f"endless/{page}"] for page in (1, 2, 3)] == [("ok", 16_000_000)] * 3
    assert [outcomes[f"bighead/{page}"] for page in (1, 2, 3)] == [("malformed", 0)] * 3
