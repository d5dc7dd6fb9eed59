from __future__ import annotations

from pathlib import Path

import uvloop

from joro.clock import RealClock
from joro.config import Config, Politeness, Scope
from joro.coordinate.beat import Link
from joro.coordinate.share import Share
from joro.robot import Robot
from joro.robot.robot import LEFT_OUT_AT_ONCE
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.url import server_of


def test_mail_that_waits_when_a_robot_starts_is_read_and_kept(tmp_path: Path) -> None:
    url = next(
        url for url in (f"http://{n}.example/" for n in range(99)) if Share(0, 2).owner(server_of(url)) == 1
    )

    async def scenario() -> int:
        collection = Collection.create(tmp_path / "c", Config())
        sender = Robot(collection, RealClock(), share=Share(0, 2))
        sender.neighbours.offer(Link(url, 1, 0, "http://a.example/"))
        sender.stop()
        await sender.collect([])
        reader = Robot(collection, RealClock(), share=Share(1, 2))
        found = reader.frontier.counts.found
        reader.stop()
        await reader.collect([])
        return found

    assert uvloop.run(scenario()) == 1


def test_a_server_of_which_thousands_are_left_out_lets_others_have_their_turn(tmp_path: Path) -> None:
    many = [f"http://a.example/{number}" for number in range(3 * LEFT_OUT_AT_ONCE)]
    one = "http://b.example/"

    async def scenario() -> tuple[int, list[float], float]:
        settings = Config(politeness=Politeness(robots_txt=False), scope=Scope(exclude=("*",)))
        robot = Robot(Collection.create(tmp_path / "c", settings), RealClock())
        robot.frontier.add(many, 0)
        robot.frontier.add([one], 0)
        await robot.collect([])
        frontier = Frontier(tmp_path / "c" / "frontier" / "0-of-1", read_only=True)
        times = {record.url: record.time for record in frontier.all_visited()}
        return robot.visits, sorted(times[url] for url in many), times[one]

    visits, times, between = uvloop.run(scenario())
    assert visits == 0
    assert times[0] < between < times[-1]
