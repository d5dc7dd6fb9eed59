from __future__ import annotations

import asyncio

import pytest

from joro.model import Outcome, Page, Visit
from joro.robot.arrivals import MOST, PATIENCE_S, SHARE, Arrival, Arrivals

Batches = list[list[str]]


def arrival(name: str, outcome: Outcome = Outcome.OK) -> Arrival:
    return Arrival(Visit(Page(f"http://a.example/{name}", 0, "http://a.example"), 0.0, outcome), None)


def gathering(out: int) -> tuple[Arrivals, Batches]:
    batches: Batches = []

    def take_in(arrivals: list[Arrival]) -> None:
        batches.append([one.visit.page.url[-1] for one in arrivals])

    return Arrivals(take_in, lambda: out), batches


async def bring(arrivals: Arrivals, names: str) -> list[BaseException | None]:
    async with asyncio.timeout(100 * PATIENCE_S):
        return await asyncio.gather(
            *(arrivals.bring(arrival(name)) for name in names), return_exceptions=True
        )


def test_who_is_alone_does_not_wait() -> None:
    arrivals, batches = gathering(out=1)
    asyncio.run(bring(arrivals, "a"))
    assert batches == [["a"]]


def test_a_share_of_those_who_are_out_is_taken_in_together() -> None:
    arrivals, batches = gathering(out=3 * SHARE)
    asyncio.run(bring(arrivals, "abcdef"))
    assert batches == [["a", "b", "c"], ["d", "e", "f"]]


def test_where_few_are_out_nobody_waits_for_somebody_slower() -> None:
    arrivals, batches = gathering(out=2)
    asyncio.run(bring(arrivals, "ab"))
    assert batches == [["a"], ["b"]]


def test_what_may_be_a_request_for_mercy_waits_for_nobody() -> None:
    arrivals, batches = gathering(out=1_000)
    asyncio.run(arrivals.bring(arrival("a", Outcome.THROTTLED)))
    assert batches == [["a"]]


def test_no_more_are_taken_in_together_than_the_most() -> None:
    arrivals, batches = gathering(out=1_000)
    asyncio.run(bring(arrivals, "a" * 2 * MOST))
    assert [len(batch) for batch in batches] == [MOST, MOST]


def test_patience_ends_though_others_are_still_out() -> None:
    arrivals, batches = gathering(out=3 * SHARE)
    asyncio.run(bring(arrivals, "a"))
    assert batches == [["a"]]


async def call_off(arrivals: Arrivals, names: str) -> None:
    callers = [asyncio.create_task(arrivals.bring(arrival(name))) for name in names]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    await asyncio.sleep(2 * PATIENCE_S)


def test_what_those_who_were_called_off_brought_is_not_lost() -> None:
    arrivals, batches = gathering(out=3 * SHARE)
    asyncio.run(call_off(arrivals, "ab"))
    assert batches == []
    arrivals.take_in()
    assert batches == [["a", "b"]]


@pytest.mark.parametrize("out", [2 * SHARE, 3 * SHARE])
def test_everybody_hears_of_an_error(out: int) -> None:
    def fail(_: list[Arrival]) -> None:
        raise ValueError("no")

    arrivals = Arrivals(fail, lambda: out)
    assert [str(end) for end in asyncio.run(bring(arrivals, "ab"))] == ["no", "no"]
