"""What comes from others and nobody can use."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from joro.clock import FakeClock
from joro.config import Config
from joro.coordinate.beat import Changes, Late, Link, Links
from joro.coordinate.share import Share
from joro.robot import Robot
from joro.store.collection import Collection
from tests.robot.test_member import START, A, collection, link, ours, runner

__all__ = ["collection", "runner"]


def test_a_robot_goes_on_whatever_another_tells_of_its_servers(
    collection: Collection, runner: asyncio.Runner
) -> None:
    async def scenario() -> None:
        junk = [(b"p" + bytes(8), b"junk"), (b"q" + A.encode(), b"junk"), (b"s" + A.encode(), b"junk")]
        desk = await ours(collection, f"{A}/1")
        await desk.told(Late(Changes(A, list(junk))), Links([link(f"{A}/2")]))
        assert desk.waiting() == [f"{A}/1", f"{A}/2"]
        await desk.close()

    runner.run(scenario())


def test_a_robot_starts_whatever_a_disk_has_made_of_a_batch(tmp_path: Path, runner: asyncio.Runner) -> None:
    urls = ["http://c.exa", "http://c.example:99999999/", "\x01", "http://c.example/"]
    batch = msgspec.msgpack.encode([Link(url, 1, 0, f"{A}/") for url in urls])

    async def waits() -> bool:
        robot = Robot(Collection.open(tmp_path / "c"), FakeClock(START), share=Share(0, 2))
        found = robot.frontier.queued(urls[-1])
        robot.stop()
        await robot.collect([])
        return found is not None

    box = Collection.create(tmp_path / "c", Config()).frontier / "exchange" / "1-0"
    box.mkdir(parents=True)
    (box / "0000000001").write_bytes(batch)
    (box / "0000000002").write_bytes(batch.replace(b"c.example/", b"c.\xe1xample/"))
    assert runner.run(waits())
    assert runner.run(waits())
    assert [path.name for path in box.iterdir()] == ["0000000002.damaged"]
