"""Robots that work for a manager: what the web saw of them, and what their archives hold."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.crawls import QUIET, wait_for
from tests.scenarios.hub import Hub, Working, serve_hub, working
from tests.scenarios.stage import Web, joro, serve_web

pytestmark = pytest.mark.slow

INTERVAL_S = 0.1
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": QUIET | {"interval_s": INTERVAL_S},
    "archive": {"commit_every_s": 0.2},
}
WEB = ("--hosts", 40, "--pages", 900, "--roles", "normal", "--latency", 5)


def quiet(hub: Hub) -> bool:
    """Nobody has anything left to do or to tell, twice in a row."""
    if not hub.status()["quiet"]:
        return False
    time.sleep(1.0)
    return bool(hub.status()["quiet"])


def asked(web: Web) -> Counter[str]:
    """How often each page was asked for."""
    rows = web.oracle.get("/log")
    return Counter(row["url"] for row in rows if not row["path"].startswith("/robots"))


def archived(robots: list[Working]) -> Counter[str]:
    return sum((Counter(responses(robot.collection)) for robot in robots), Counter())


def everything(web: Web, folder: Path) -> set[str]:
    """What one robot alone collects."""
    alone = web.collection(folder, politeness={"interval_s": 0.0})
    assert joro("crawl", "-q", "-C", alone, *web.seeds).returncode == 0
    web.oracle.get("/reset")
    return set(responses(alone))


def begin(web: Web, hub: Hub) -> None:
    """Give the manager seeds when all robots are there: who comes later must wait for its share."""
    wait_for(lambda: all(robot["state"] == "up" for robot in hub.robots().values()))
    hub.seeds(*web.seeds)


def is_polite(web: Web) -> None:
    seen = web.oracle.get("/politeness", interval_s=INTERVAL_S - 0.01)
    assert (seen["most_concurrent"], seen["too_early"]) == (1, 0)


def test_two_robots_collect_every_page_once_and_never_the_same_server(tmp_path: Path) -> None:
    # Who has no processor for seconds loses a short lease, hangs up, and asks again when it has another.
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub", lease_s=60.0) as hub:
        whole = everything(web, tmp_path / "alone")
        with working(web, hub, tmp_path, "one", "two", sections=SETTINGS) as robots:
            begin(web, hub)
            wait_for(lambda: quiet(hub))
            shares = [robot["servers"] for robot in hub.robots().values()]
        assert min(shares) > 5
        found = archived(robots)
        assert set(found) == whole
        assert max(found.values()) == 1
        assert max(asked(web).values()) == 1
        is_polite(web)


def test_the_servers_of_a_robot_that_was_killed_move_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub") as hub:
        whole = everything(web, tmp_path / "alone")
        with working(web, hub, tmp_path, "one", "two", sections=SETTINGS) as robots:
            begin(web, hub)
            wait_for(lambda: hub.robots()["one"]["visited"] > 100 and hub.robots()["two"]["visited"] > 20)
            robots[0].kill()
            wait_for(lambda: hub.robots()["one"]["servers"] == 0)
            assert hub.robots()["one"]["state"] == "down"
            visited = hub.robots()["two"]["visited"]
            wait_for(lambda: hub.robots()["two"]["visited"] > visited + 20)
            robots[0].start()
            wait_for(lambda: hub.robots()["one"]["state"] == "up")
            wait_for(lambda: quiet(hub))
        found = archived(robots)
        assert set(found) == whole
        # Visits between its last word and its death are unknown to those who come after.
        assert sum(count - 1 for count in found.values()) < 100
        assert [robot.process.returncode for robot in robots] == [0, 0]
        is_polite(web)


def test_a_robot_without_its_manager_stops_when_its_lease_is_over_and_goes_on_with_it(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web:
        with serve_hub(web, tmp_path / "hub") as hub:
            token = hub.token("one", tmp_path)
            collection = web.collection(tmp_path / "one", **SETTINGS)
            robot = Working(hub, collection, "one", token, *web.seeds)
            wait_for(lambda: hub.robots()["one"]["visited"] > 20)
        try:
            time.sleep(4.0)
            before = len(web.oracle.get("/log"))
            time.sleep(2.0)
            assert len(web.oracle.get("/log")) == before
            port = int(hub.url.rpartition(":")[2])
            with serve_hub(web, tmp_path / "hub", port=port):
                wait_for(lambda: len(web.oracle.get("/log")) > before + 20)
        finally:
            assert robot.end() == 0
        assert "no manager answers" in robot.log.read_text()


def test_processes_of_one_machine_are_robots_of_their_own(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub") as hub:
        tokens = tmp_path / "tokens"
        tokens.write_text("".join(hub.token(f"one-{number}", tmp_path).read_text() for number in range(2)))
        collection = web.collection(tmp_path / "one", **SETTINGS)
        robot = Working(hub, collection, "one", tokens, "-p", 2)
        try:
            begin(web, hub)
            wait_for(lambda: quiet(hub))
        finally:
            assert robot.end() == 0
        found = responses(collection)
        assert max(found.values()) == 1
        assert len(found) > 800
        is_polite(web)


def test_mistakes_are_one_line_each(tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 3, "--pages", 9) as web, serve_hub(web, tmp_path / "hub") as hub:
        joined = {"managers": [hub.url], "token": "junk"}
        collection = web.collection(tmp_path / "one", cooperate=joined, **SETTINGS)
        words = ("cooperate", "-C", collection, "--name", "one")
        wrong = joro(*words)
        assert (wrong.returncode, "belongs to no robot" in wrong.stderr) == (1, True)
        token = hub.token("one", tmp_path)
        robot = Working(hub, collection, "one", token, web.seeds[0])
        wait_for(lambda: hub.robots()["one"]["visited"] > 0)
        other = web.collection(tmp_path / "two", cooperate={"managers": [hub.url], "token_file": str(token)})
        used = joro("cooperate", "-C", other, "--name", "one")
        assert (used.returncode, "another collection works as one" in used.stderr) == (1, True)
        assert robot.end() == 0
        alone = joro("crawl", "-C", collection, web.seeds[0])
        assert (alone.returncode, "works for a manager, as one" in alone.stderr) == (2, True)
        assert all(len(run.stderr.splitlines()) == 1 for run in (wrong, used, alone))
