"""A robot of a manager fetches its releases there, and keeps only those its manager hears of."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.crawls import wait_for
from tests.scenarios.hub import Hub, serve_hub
from tests.scenarios.stage import JORO, Web, done, serve_web
from tests.updater.stand import Shop
from tests.updater.wheels import real_wheel

pytestmark = pytest.mark.slow

#: Passes its self-check, which has no manager; but says nothing to one.
DEAF = {"robot__pulse": "\nPulse.start = lambda self: None\n"}
WEB = ("--hosts", 20, "--pages", 600, "--roles", "normal", "--latency", 5)


def robot_of(web: Web, hub: Hub, shop: Shop, folder: Path) -> Path:
    """Its collection; everything it needs is in its settings."""
    cooperate = {"managers": [hub.url], "name": "one", "token_file": str(hub.token("one", folder))}
    update: dict[str, Any] = {
        "source": f"{hub.url}/releases/stable",
        "public_keys": [shop.public],
        "probation_s": 15.0,
    }
    politeness = {"interval_s": 1.0}
    return web.collection(folder / "one", cooperate=cooperate, update=update, politeness=politeness)


@contextmanager
def supervised(path: Path) -> Iterator[None]:
    words = ["update", "run", "--every", "1", "--", "cooperate", "-q", "-C", str(path)]
    process = subprocess.Popen([*JORO, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_robot_updates_from_its_manager_and_a_deaf_release_is_rolled_back(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub") as hub:
        shop = Shop(hub.collection / "channels")
        path = robot_of(web, hub, shop, tmp_path)
        log = path / "logs" / "update.log"
        with supervised(path):
            hub.seeds(*web.seeds)
            wait_for(lambda: hub.robots()["one"]["visited"] > 10)
            shop.release(real_wheel(tmp_path, "0.2.0"))
            wait_for(lambda: "0.2.0      its probation is over" in log.read_text(), patience_s=300)
            assert hub.robots()["one"]["version"] == "0.2.0"
            shop.release(real_wheel(tmp_path, "0.3.0", **DEAF))
            wait_for(
                lambda: "to 0.2.0: no manager heard of it within 15 s" in log.read_text(), patience_s=300
            )
            wait_for(lambda: hub.robots()["one"]["state"] == "up" and hub.status()["quiet"], patience_s=300)
        asked = {url for url in web.oracle.get("/fetched") if not url.endswith("/robots.txt")}
        found = responses(path)
        assert (set(found), max(found.values())) == (asked, 1)
        whole = web.collection(tmp_path / "whole", politeness={"interval_s": 0.0})
        done("crawl", "-q", "-C", whole, *web.seeds)
        assert set(found) == set(responses(whole))
