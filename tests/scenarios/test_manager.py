"""What a manager's operator does to robots, and robots of the paper beside ours: what the web saw of it."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.manager.paper_robot import PaperRobot, spelled
from tests.scenarios.archived import responses
from tests.scenarios.crawls import wait_for
from tests.scenarios.hub import serve_hub, working
from tests.scenarios.stage import Web, done, serve_web
from tests.scenarios.test_cooperate import SETTINGS, begin, everything, is_polite, quiet

pytestmark = pytest.mark.slow

WEB = ("--hosts", 20, "--pages", 300, "--roles", "normal", "--latency", 5)


def proxy_of(web: Web) -> str:
    """Where a robot without our name server finds the web."""
    return f"127.0.0.1:{tomllib.loads(web.settings.read_text())['fetch']['ports']['80']}"


def test_a_robot_that_restarts_collects_all_its_servers_again_and_keeps_every_pause(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub") as hub:
        whole = everything(web, tmp_path / "alone")
        with working(web, hub, tmp_path, "one", sections=SETTINGS) as robots:
            begin(web, hub)
            wait_for(lambda: hub.robots()["one"]["visited"] > 100)
            done("manager", "restart", "-C", hub.collection, "one")
            wait_for(lambda: "restart: done" in done("manager", "robot", "list", "-C", hub.collection))
            wait_for(lambda: quiet(hub))
        found = Counter(responses(robots[0].collection))
        assert set(found) == whole
        assert sum(count > 1 for count in found.values()) > 90
        is_polite(web)


def test_robots_of_the_paper_and_of_ours_share_one_web_and_inherit_from_each_other(tmp_path: Path) -> None:
    with (
        serve_web(tmp_path, *WEB) as web,
        serve_hub(web, tmp_path / "hub", classic=True, silent_after_s=4.0) as hub,
    ):
        whole = {spelled(url) for url in everything(web, tmp_path / "alone")}
        paper = PaperRobot(hub.url, "prs.waseda.ac.jp", proxy_of(web))
        with working(web, hub, tmp_path, "one", sections=SETTINGS) as robots:
            wait_for(lambda: hub.robots()["one"]["state"] == "up")
            paper.subscribe()
            begin(web, hub)
            for _ in range(3):
                paper.fetch_list()
                paper.collect()
                paper.report_servers()
            assert len(paper.pages) > 20
            here = {spelled(url) for url in responses(robots[0].collection)}
            assert here.isdisjoint(paper.pages)
            wait_for(lambda: hub.robots()["prs.waseda.ac.jp"]["servers"] == 0)
            wait_for(lambda: quiet(hub))
            assert paper.is_restart()
        assert {spelled(url) for url in responses(robots[0].collection)} == whole
