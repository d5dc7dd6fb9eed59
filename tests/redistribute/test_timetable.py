import asyncio

from joro.clock import FakeClock
from joro.redistribute.cron import Cron
from joro.redistribute.timetable import keep

HOUR_S = 3600.0


def attempts(line: str, hours: float, failing: set[int]) -> list[float]:
    """When attempts were made, in hours; those in `failing`, by their number, fail."""
    made: list[float] = []

    async def play() -> None:
        clock = FakeClock(0.0)

        async def attempt() -> bool:
            made.append(clock.now() / HOUR_S)
            return len(made) not in failing

        keeping = asyncio.create_task(keep(Cron.parse(line), attempt, clock))
        await clock.advance(hours * HOUR_S)
        keeping.cancel()

    asyncio.run(play())
    return made


def test_a_transfer_is_attempted_at_every_time_of_its_schedule() -> None:
    assert attempts("0 3 * * *", 75, set()) == [3, 27, 51, 75]


def test_a_failed_transfer_is_tried_again_after_an_hour() -> None:
    assert attempts("0 3 * * *", 28, {1}) == [3, 4, 27]


def test_after_a_second_failure_it_waits_for_the_next_time() -> None:
    assert attempts("0 3 * * *", 30, {1, 2}) == [3, 4, 27]


def test_the_next_time_comes_before_the_hour_is_over() -> None:
    assert attempts("*/30 * * * *", 2, {1}) == [0.5, 1, 1.5, 2]
