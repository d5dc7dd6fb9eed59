from __future__ import annotations

import asyncio

from joro.clock import FakeClock
from joro.testweb.timeline import Timeline


def test_virtual_time_is_a_function_of_real_time() -> None:
    timeline = Timeline.of(FakeClock(100.0), FakeClock(5_000.0), speed=60.0)
    assert [timeline.at(real) for real in (100.0, 101.0, 99.5)] == [5_000.0, 5_060.0, 4_970.0]


def test_now_follows_the_real_clock() -> None:
    real = FakeClock(100.0)
    timeline = Timeline.of(real, FakeClock(5_000.0), speed=60.0)
    asyncio.run(real.advance(2.0))
    assert timeline.now() == 5_120.0


def test_time_that_stands_still_passes_when_it_is_told_to() -> None:
    timeline = Timeline.still(5_000.0)
    assert timeline.let_pass is not None
    timeline.let_pass(60.0)
    assert (timeline.now(), timeline.at(timeline.read())) == (5_060.0, 5_060.0)
