"""Many names at one address: they stand in line, and are in nobody's way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from joro.clock import RealClock
from joro.fetch.visit import Lines
from joro.robot import Robot
from joro.store.collection import Collection
from tests.scenarios import laws
from tests.scenarios.crawls import QUIET
from tests.scenarios.village import linking, village

pytestmark = pytest.mark.slow

CROWD = [f"h{number}.example" for number in range(60)]


@dataclass
class Counting:
    """Lines as they are, counting who comes to an address for which others wait."""

    lines: Lines
    came: int = 0

    @property
    def crowded(self) -> Mapping[str, object]:
        return self.lines.crowded

    def may_pass(self, server: str, line: str) -> bool:
        self.came += 1
        return self.lines.may_pass(server, line)

    def passed(self, server: str, line: str, free_at: float) -> None:
        self.lines.passed(server, line, free_at)

    def freed(self, line: str, free_at: float) -> None:
        self.lines.freed(line, free_at)


def collect(path: Path, front_pages: list[str]) -> int:
    """Collect everything; how often somebody came to a crowded address, whether it was free or not."""

    async def scenario() -> int:
        robot = Robot(Collection.open(path), RealClock())
        assert robot._visitor.lines is not None
        counting = robot._visitor.lines = Counting(robot._visitor.lines)
        await robot.collect(front_pages)
        return counting.came

    return uvloop.run(scenario())


def test_a_crowd_at_one_address_is_visited_in_its_order_for_few_turns(tmp_path: Path) -> None:
    manners = QUIET | {"interval_s": 0.05, "address_interval_s": 0.03, "per_address": 1, "robots_txt": False}
    with village({name: {"/": linking("/2"), "/2": linking()} for name in CROWD}) as place:
        path = place.collection(tmp_path / "c", politeness=manners)
        came = collect(path, [f"http://{name}/" for name in CROWD])
    asked = [(row["host"], row["path"]) for row in sorted(place.rows, key=lambda row: float(row["start"]))]
    hosts = [host for host, _ in asked[:60]]
    assert asked == [(host, "/") for host in hosts] + [(host, "/2") for host in hosts]
    assert laws.early([row | {"address": "127.0.0.1"} for row in place.rows], 0.03, "address") == []
    assert came <= 3 * len(asked)
