from __future__ import annotations

from pathlib import Path

import uvloop

from joro.clock import RealClock
from joro.config import Config
from joro.coordinate.beat import Link
from joro.coordinate.share import Share
from joro.robot import Robot
from joro.store.collection import Collection
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
