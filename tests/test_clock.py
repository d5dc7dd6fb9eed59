import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.clock import FakeClock, FastClock, RealClock


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, timeout=10))


def test_fake_time_passes_only_when_told_to() -> None:
    clock = FakeClock(start=100.0)
    assert clock.now() == 100.0

    async def story() -> None:
        await clock.advance(2.5)

    run(story())
    assert clock.now() == 102.5


@given(st.lists(st.integers(0, 20), max_size=12))
def test_sleepers_wake_in_the_order_of_their_time(naps: list[int]) -> None:
    clock = FakeClock()
    woken: list[tuple[float, int]] = []

    async def sleeper(nap: int) -> None:
        await clock.sleep(nap)
        woken.append((clock.now(), nap))

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            for nap in naps:
                group.create_task(sleeper(nap))
            await clock.advance(20)

    run(story())
    assert woken == [(nap, nap) for nap in sorted(naps)]


def test_those_who_sleep_equally_long_wake_as_they_came() -> None:
    clock = FakeClock()
    woken: list[str] = []

    async def sleeper(name: str) -> None:
        await clock.sleep(1)
        woken.append(name)

    async def story() -> None:
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(sleeper(name))
            await clock.advance(1)

    run(story())
    assert woken == ["a", "b", "c"]


def test_who_sleeps_again_wakes_again_within_one_advance() -> None:
    clock = FakeClock()
    ticks: list[float] = []

    async def ticker() -> None:
        for _ in range(4):
            await clock.sleep(10)
            ticks.append(clock.now())

    async def story() -> None:
        ticking = asyncio.create_task(ticker())
        await clock.advance(35)
        assert ticks == [10, 20, 30]
        assert clock.now() == 35
        await clock.advance(5)
        await ticking

    run(story())
    assert ticks == [10, 20, 30, 40]


def test_nobody_wakes_early() -> None:
    clock = FakeClock()

    async def story() -> None:
        sleeping = asyncio.create_task(clock.sleep(10))
        await clock.advance(9.999)
        assert not sleeping.done()
        await clock.advance(0.001)
        assert sleeping.done()

    run(story())


def test_a_cancelled_sleeper_disturbs_nobody() -> None:
    clock = FakeClock()

    async def story() -> None:
        first, second = asyncio.create_task(clock.sleep(1)), asyncio.create_task(clock.sleep(2))
        await clock.advance(0)
        first.cancel()
        await clock.advance(2)
        assert first.cancelled()
        assert second.done()

    run(story())


@pytest.mark.parametrize("seconds", [0, -1])
def test_sleeping_no_time_needs_no_advance(seconds: float) -> None:
    run(FakeClock().sleep(seconds))


def test_a_fast_clock_runs_at_its_speed_from_its_epoch() -> None:
    clock = FastClock(epoch=1_000.0, speed=1_000_000.0)

    async def story() -> None:
        await clock.sleep(3_600)

    run(story())
    assert clock.now() >= 4_600.0


def test_real_time_never_runs_backwards() -> None:
    clock = RealClock()
    times = [clock.now() for _ in range(1_000)]
    assert times == sorted(times)
    assert times[0] > 1_700_000_000  # later than 2023, so it is seconds since 1970


@pytest.mark.skipif(sys.platform != "linux", reason="CLOCK_BOOTTIME is Linux's")
def test_real_time_goes_on_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, real = RealClock(), time.clock_gettime
    before = clock.now()
    slept_s = {time.CLOCK_BOOTTIME: 300.0}  # CLOCK_MONOTONIC stood still
    monkeypatch.setattr(time, "clock_gettime", lambda which: real(which) + slept_s.get(which, 0.0))
    assert 300.0 <= clock.now() - before < 360.0
