"""One server too big for one robot: what it saw of several, and what their archives hold."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.crawls import QUIET, wait_for
from tests.scenarios.hub import Hub, serve_hub, working
from tests.scenarios.stage import Web, serve_web
from tests.scenarios.test_cooperate import archived, asked, begin, everything, quiet

pytestmark = pytest.mark.slow

INTERVAL_S, LATENCY_S = 0.1, 0.005
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": QUIET | {"interval_s": INTERVAL_S},
    "archive": {"commit_every_s": 0.2},
}
WEB = ("--hosts", 1, "--pages", 700, "--roles", "normal", "--latency", 5)
SPLIT: dict[str, Any] = {"split_above_mb": 0.1, "plan_every_s": 1.0}
#: What timers and the clock of a log may be wrong by.
TOLERANCE = 1.03


def parts(hub: Hub) -> dict[str, str | None]:
    """What is owned, and by whom."""
    with sqlite3.connect(hub.collection / "control.db") as control:
        return dict(control.execute("SELECT name, owner FROM servers"))


def is_split(hub: Hub, count: int) -> bool:
    owners = parts(hub)
    return len(owners) == count and all("#" in name and owner for name, owner in owners.items())


def is_polite(web: Web) -> None:
    """On the whole, and in every ten seconds, the server is asked as often as one robot would ask it."""
    starts = [row["start"] for row in web.oracle.get("/log")]
    per_s = 1.0 / (INTERVAL_S + LATENCY_S)
    print(f"{(len(starts) - 1) / (starts[-1] - starts[0]):.2f} requests/s, one robot's are {per_s:.2f}")
    assert (len(starts) - 1) / (starts[-1] - starts[0]) <= per_s * TOLERANCE
    for place, start in enumerate(starts):
        asked_then = sum(start <= other < start + 10.0 for other in starts[place : place + 200])
        assert asked_then <= 10.0 * per_s * TOLERANCE + 3  # one robot's phase against another's


def test_three_robots_share_a_big_server_and_ask_it_as_often_as_one(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub", **SPLIT) as hub:
        whole = everything(web, tmp_path / "alone")
        with working(web, hub, tmp_path, "one", "two", "three", sections=SETTINGS) as robots:
            begin(web, hub)
            wait_for(lambda: is_split(hub, 3))
            assert sorted(filter(None, parts(hub).values())) == ["one", "three", "two"]
            wait_for(lambda: quiet(hub))
        found = archived(robots)
        assert set(found) == whole
        assert max(found.values()) == 1
        assert max(asked(web).values()) == 1
        assert min(len(archived([robot])) for robot in robots) > 100
        is_polite(web)


def test_a_robot_that_is_killed_leaves_its_part_to_the_others_and_nothing_is_lost(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web, serve_hub(web, tmp_path / "hub", **SPLIT) as hub:
        whole = everything(web, tmp_path / "alone")
        with working(web, hub, tmp_path, "one", "two", "three", sections=SETTINGS) as robots:
            begin(web, hub)
            wait_for(lambda: is_split(hub, 3))
            wait_for(lambda: len(web.oracle.get("/log")) > 150)
            robots[2].kill()
            wait_for(lambda: is_split(hub, 2))  # they were one server in between
            robots[2].start()
            wait_for(lambda: hub.robots()["three"]["state"] == "up")
            wait_for(lambda: quiet(hub))
        found = archived(robots)
        assert set(found) == whole
        # Visits between its last word and its death are unknown to those who come after.
        assert sum(count - 1 for count in found.values()) < 20
        assert [robot.process.returncode for robot in robots] == [0, 0, 0]
        is_polite(web)
