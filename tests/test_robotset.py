from __future__ import annotations

import asyncio
import sys

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


def test_the_page_limit_counts_all_robots() -> None:
    assert sum(report.visits for report in collect(BUSY, BUSY, page_limit=14).reports) == 14
