"""Calendars, session ids, endless paths: each costs a few visits, and the honest pages come home."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from joro.url import server_of
from tests.scenarios.archived import responses
from tests.scenarios.stage import done, serve_web

pytestmark = pytest.mark.slow


def test_each_trap_costs_less_than_two_hundred_visits(tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 60, "--pages", 900, "--roles", "trap") as web:
        path = web.collection(tmp_path / "c", politeness={"interval_s": 0.0})
        done("crawl", "-C", path, *web.seeds, timeout=300)
        archived = set(responses(path))
        hosts = {host["url"].rstrip("/"): host for host in web.oracle.get("/hosts")}
        honest = {page["url"] for page in web.oracle.get("/pages")}
        extra = Counter(server_of(url) for url in archived - honest)
        traps = {url: extra[url] for url, host in hosts.items() if host["role"] == "trap"}
        assert len(traps) >= 5
        assert max(traps.values()) < 200, traps
        reachable = set(web.oracle.get("/reachable"))
        assert len(reachable - archived) <= len(reachable) // 50
