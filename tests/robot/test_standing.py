from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from joro import config
from joro.clock import FakeClock
from joro.config import Config, Machine
from joro.robot.renewal import Renewal
from joro.robot.standing import LOOK_EVERY_S, Standing
from joro.store.collection import Collection
from joro.store.pause import pause, resume

EVERYTHING_MB = 10**9


class Watched:
    """A robot's standing, looked at step by step."""

    def __init__(self, path: Path, *, tells: bool = True, **machine: int) -> None:
        self.collection = Collection.create(
            path, Config(machine=Machine(**({"disk_reserve_mb": 0} | machine)))
        )
        self._clock = FakeClock(1000.0)
        self.dropped = 0
        renewal = Renewal(self.collection, lambda _: None)
        self.standing = Standing(self.collection, self._clock, renewal, [self._drop], tells=tells)

    def _drop(self) -> None:
        self.dropped += 1

    def look(self) -> bool:
        """Does the robot stand still, a moment later?"""
        asyncio.run(self._clock.advance(LOOK_EVERY_S))
        self.standing.look()
        return self.standing.is_still

    def set(self, **machine: int) -> None:
        (self.collection.path / config.FILE_NAME).write_text(
            config.render(Config(machine=Machine(**machine)))
        )


def test_a_robot_stands_still_while_paused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    robot = Watched(tmp_path / "c")
    assert not robot.look()
    pause(robot.collection.path, 1000.0, "a storm")
    assert robot.look()
    assert robot.look()
    assert "paused since 1970-01-01 00:16:40 UTC (a storm)" in robot.standing.word
    resume(robot.collection.path)
    assert not robot.look()
    assert robot.standing.word == ""
    assert [line.partition(";")[0] for line in caplog.messages] == [
        "paused since 1970-01-01 00:16:40 UTC (a storm)",
        "going on",
    ]


def test_of_several_robots_one_tells_that_all_are_paused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    robot = Watched(tmp_path / "c", tells=False)
    pause(robot.collection.path, 1000.0)
    assert robot.look()
    assert caplog.messages == []


def test_nobody_looks_more_often_than_twice_a_second(tmp_path: Path) -> None:
    robot = Watched(tmp_path / "c")
    robot.look()
    pause(robot.collection.path, 1000.0)
    robot.standing.look()
    assert not robot.standing.is_still
    assert robot.look()


def test_a_robot_stands_still_while_the_disk_has_too_little_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    robot = Watched(tmp_path / "c", disk_reserve_mb=EVERYTHING_MB)
    assert robot.look()
    assert robot.look()
    robot.set(disk_reserve_mb=1)
    robot.look()
    assert not robot.look()
    assert [line.partition("; ")[0] for line in caplog.messages] == [
        f"standing still: less than machine.disk_reserve_mb = {EVERYTHING_MB} is free on the disk",
        "joro.toml has changed",
        "going on",
    ]


def test_a_little_more_room_than_the_reserve_is_not_enough_to_go_on(tmp_path: Path) -> None:
    status = os.statvfs(tmp_path)
    free_mb = status.f_bavail * status.f_frsize // 1_000_000
    robot = Watched(tmp_path / "c", disk_reserve_mb=free_mb * 100 // 105)
    assert not robot.look()
    robot.set(disk_reserve_mb=EVERYTHING_MB)
    robot.look()
    assert robot.look()
    robot.set(disk_reserve_mb=free_mb * 100 // 105)
    robot.look()
    assert robot.look()


def test_a_robot_that_takes_too_much_memory_drops_what_it_can_and_tells_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    robot = Watched(tmp_path / "c", memory_limit_mb=1, tells=False)
    assert robot.look()
    assert robot.look()
    assert robot.dropped == 2
    robot.set(memory_limit_mb=EVERYTHING_MB)
    robot.look()
    assert not robot.look()
    assert len(caplog.messages) == 1
    assert "machine.memory_limit_mb = 1" in caplog.messages[0]
