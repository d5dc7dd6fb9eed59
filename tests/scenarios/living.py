"""A robot that lives in the virtual time of a test web: in this process or, to be killed, in its own."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from joro import config
from joro.clock import FakeClock, FastClock
from joro.robot import Robot
from joro.store.collection import Collection
from joro.testweb.running import OracleClient, Running

#: Real seconds between two commits: how late, in real time, a due page is noticed.
COMMIT_EVERY_S = 0.05
#: Real seconds between two looks at a robot.
LOOK_EVERY_S = 0.02
#: Virtual seconds between two commits where time passes only when nobody is at work, and how much longer than
#: a real second a virtual one may be waited for there.
STILL_COMMIT_S, STILL_SPEED = 7_200.0, 100_000.0

DAY_S = 86_400.0


@dataclass
class Life:
    """A collection on a test web, and the robots that lived there one after another."""

    web: Running
    path: Path
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        """Virtual seconds in a real one."""
        return float(self.web.oracle.get("/clock")["speed"])

    def collection(self, **sections: dict[str, Any]) -> Collection:
        """The collection, with the settings changed so from now on."""
        tables = tomllib.loads(config.render(self.web.config))
        tables.setdefault("archive", {})["commit_every_s"] = self.speed * COMMIT_EVERY_S or STILL_COMMIT_S
        tables["refresh"] = {"enabled": True}
        for name, values in sections.items():
            self.sections.setdefault(name, {}).update(values)
        for name, values in self.sections.items():
            tables.setdefault(name, {}).update(values)
        settings = config.from_tables(tables)
        if not self.path.exists():
            return Collection.create(self.path, settings)
        (self.path / config.FILE_NAME).write_text(config.render(settings))
        return Collection.open(self.path)

    def now(self) -> float:
        """Virtual time."""
        return float(self.web.oracle.get("/clock")["virtual"])

    def live(self, until: Callable[[Robot], bool], **sections: dict[str, Any]) -> Robot:
        """Let a robot work until `until` holds, and end in peace."""
        return uvloop.run(_live(self.collection(**sections), self.web.oracle, self.web.seeds, until))

    def live_and_be_killed(self, until: Callable[[], bool], **sections: dict[str, Any]) -> None:
        """Let a robot work in a process of its own, and kill it when `until` holds, whatever it is doing."""
        self.collection(**sections)
        words = [sys.executable, "-m", "tests.scenarios.living", str(self.path), str(self.web.port)]
        robot = subprocess.Popen(words)
        while not until():
            assert robot.poll() is None, "the robot ended by itself"
            time.sleep(LOOK_EVERY_S)
        robot.send_signal(signal.SIGKILL)
        robot.wait()

    def days(self, number: float) -> Callable[[Robot], bool]:
        """Until so many virtual days have passed from now on."""
        end = self.now() + number * DAY_S
        return lambda robot: robot._clock.now() >= end


def clock_of(oracle: OracleClient) -> FastClock:
    """A clock in step with the test web's."""
    asked = time.monotonic()
    told = oracle.get("/clock")
    late_s = (time.monotonic() - asked) / 2
    return FastClock(epoch=told["virtual"] + late_s * told["speed"], speed=told["speed"])


class StillClock(FakeClock):
    """Time that stands still while a robot works; what it waits for in real time need not have come then."""

    def real_s(self, seconds: float) -> float:
        return seconds / STILL_SPEED


async def _live(
    collection: Collection, oracle: OracleClient, seeds: list[str], until: Callable[[Robot], bool]
) -> Robot:
    told = oracle.get("/clock")
    clock = StillClock(told["virtual"]) if told["speed"] == 0.0 else clock_of(oracle)
    robot = Robot(collection, clock)
    work = asyncio.create_task(robot.collect(seeds))
    if isinstance(clock, StillClock):
        watch = asyncio.create_task(_let_time_pass(robot, clock, oracle, until))
    else:
        watch = asyncio.create_task(_stop_when(robot, until))
    await work
    watch.cancel()
    return robot


async def _let_time_pass(
    robot: Robot, clock: StillClock, oracle: OracleClient, until: Callable[[Robot], bool]
) -> None:
    """From one thing the robot waits for to the next; never while it is at work, however long that takes."""
    while not until(robot):
        await asyncio.sleep(0.0)
        if len(robot._callers):
            await asyncio.sleep(0.001)
        elif (wait_s := robot._seconds_to_wait()) > 0.0:
            oracle.get("/clock", pass_s=wait_s)
            await clock.advance(wait_s)
            robot._callers.wake()
        else:
            robot._callers.wake()
    robot.stop()


async def _stop_when(robot: Robot, until: Callable[[Robot], bool]) -> None:
    for _ in iter(lambda: until(robot), True):
        await asyncio.sleep(LOOK_EVERY_S)
    robot.stop()


if __name__ == "__main__":
    asked = OracleClient(int(sys.argv[2]))
    uvloop.run(
        _live(Collection.open(Path(sys.argv[1])), asked, asked.get("/summary")["seeds"], lambda _: False)
    )
