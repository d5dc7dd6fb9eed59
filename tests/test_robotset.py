from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from joro.errors import CollectionError
from joro.robotset import RobotSet

#: A robot that has nothing to do, says so when asked, and ends when its questions do.
IDLE = """
import sys
print('{"idle":true}', flush=True)
for question in sys.stdin:
    print('{"idle":true}', flush=True)
"""
#: One that fails when it is asked a second time.
FAILING = "import sys; print('{\"idle\":true}', flush=True); sys.stdin.readline(); sys.exit(3)"
#: One that works on and on.
BUSY = 'import sys; print(\'{"idle":false,"visits":7}\', flush=True); sys.stdin.read()'
#: One that in each life says one of `lines` and is killed, but lives on after the last; `file` counts lives.
MORTAL = """
import os, pathlib, signal, sys
file, lines = pathlib.Path({file!r}), {lines!r}
life = len(file.read_text()) if file.exists() else 0
file.write_text("x" * (life + 1))
print(lines[min(life, len(lines) - 1)], flush=True)
if life + 1 < len(lines) or not {survives}:
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


def mortal(file: Path, *lines: str, survives: bool = True) -> str:
    return MORTAL.format(file=str(file), lines=list(lines), survives=survives)


def collect(*programs: str, page_limit: int | None = None) -> RobotSet:
    async def scenario() -> RobotSet:
        robots = RobotSet(
            lambda number: [sys.executable, "-c", programs[number]], len(programs), page_limit=page_limit
        )
        async with asyncio.timeout(20):
            await robots.collect()
        return robots

    return asyncio.run(scenario())


def test_all_end_when_nobody_has_anything_to_do() -> None:
    assert [report.idle for report in collect(IDLE, IDLE).reports] == [True, True]


def test_a_robot_that_fails_ends_the_set_with_its_exit_code() -> None:
    with pytest.raises(CollectionError, match="robot 1 ended with exit code 3"):
        collect(IDLE, FAILING)


def test_a_robot_that_cannot_be_started_ends_the_set(tmp_path: Path) -> None:
    async def scenario() -> None:
        robots = RobotSet(lambda _: [str(tmp_path / "nothing")], 2)
        async with asyncio.timeout(20):
            await robots.collect()

    with pytest.raises(FileNotFoundError, match="nothing"):
        asyncio.run(scenario())


def test_a_robot_whose_report_cannot_be_read_ends_the_set() -> None:
    with pytest.raises(ValueError, match="JSON"):
        collect(IDLE, "import sys; print('Hello', flush=True); sys.stdin.read()")


def test_the_page_limit_counts_all_robots() -> None:
    assert sum(report.visits for report in collect(BUSY, BUSY, page_limit=14).reports) == 14


def test_the_page_limit_counts_the_visits_of_a_robot_that_died(tmp_path: Path) -> None:
    robot = mortal(
        tmp_path / "lives",
        '{"visits":7,"visited":107}',
        '{"visits":5,"visited":114}',  # two more were visited before it died
    )
    assert [report.visits for report in collect(robot, page_limit=14).reports] == [14]


def test_visits_that_a_kill_undid_do_not_count_for_the_page_limit(tmp_path: Path) -> None:
    robot = mortal(tmp_path / "lives", '{"visits":7,"visited":107}', '{"visits":5,"visited":109}')
    assert [report.visits for report in collect(robot, page_limit=9).reports] == [9]


def test_a_robot_that_dies_again_and_again_without_a_page_is_given_up(tmp_path: Path) -> None:
    robot = mortal(tmp_path / "lives", '{"visited":3}', survives=False)
    with pytest.raises(CollectionError, match="robot 0 was killed 6 times by signal 9 without collecting"):
        collect(robot)


def test_a_robot_that_gets_further_in_every_life_is_started_as_often_as_it_takes(tmp_path: Path) -> None:
    lives = [f'{{"visits":1,"visited":{pages}}}' for pages in range(12)]
    assert [
        report.visits for report in collect(mortal(tmp_path / "lives", *lives), page_limit=12).reports
    ] == [12]
