from __future__ import annotations

import asyncio

import pytest

from joro.model import Outcome, Page, Visit
from joro.robot.arrivals import MOST, Arrival, Arrivals

Batches = list[list[str]]
#: Turns of the loop, after which whoever waits for somebody waits in vain.
TURNS = 5


def arrival(name: str, outcome: Outcome = Outcome.OK) -> Arrival:
    return Arrival(Visit(Page(f"http://a.example/{name}", 0, "http://a.example"), 0.0, outcome), None)


def gathering() -> tuple[Arrivals, Batches]:
    batches: Batches = []

    def take_in(arrivals: list[Arrival]) -> None:
        batches.append([one.visit.page.url[-1] for one in arrivals])

    return Arrivals(take_in), batches


async def turn(times: int = TURNS) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def bring(arrivals: Arrivals, names: str, *, turns_apart: int = 0) -> list[BaseException | None]:
    """One by one, and how each ended."""
    callers = []
    for name in names:
        callers.append(asyncio.create_task(arrivals.bring(arrival(name))))
        await turn(turns_apart)
    await turn()
    assert all(caller.done() for caller in callers)
    return [caller.exception() for caller in callers]


def test_who_is_alone_waits_for_nobody() -> None:
    arrivals, batches = gathering()
    asyncio.run(bring(arrivals, "a"))
    assert batches == [["a"]]


def test_those_who_come_together_are_taken_in_together() -> None:
    arrivals, batches = gathering()
    asyncio.run(bring(arrivals, "abc"))
    assert batches == [["a", "b", "c"]]


def test_whoever_is_right_behind_is_waited_for() -> None:
    arrivals, batches = gathering()
    asyncio.run(bring(arrivals, "abc", turns_apart=1))
    assert batches == [["a", "b", "c"]]


def test_who_comes_later_is_not_waited_for() -> None:
    arrivals, batches = gathering()
    asyncio.run(bring(arrivals, "abc", turns_apart=TURNS))
    assert batches == [["a"], ["b"], ["c"]]


def test_what_may_be_a_request_for_mercy_waits_for_nobody() -> None:
    arrivals, batches = gathering()
    with pytest.raises(StopIteration):  # it is done without a single turn of a loop
        arrivals.bring(arrival("a", Outcome.THROTTLED)).send(None)
    assert batches == [["a"]]


def test_no_more_are_taken_in_together_than_the_most() -> None:
    arrivals, batches = gathering()
    asyncio.run(bring(arrivals, "a" * (2 * MOST + 1)))
    assert [len(batch) for batch in batches] == [MOST, MOST, 1]


async def call_off(arrivals: Arrivals, names: str) -> None:
    callers = [asyncio.create_task(arrivals.bring(arrival(name))) for name in names]
    await turn(1)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    await turn()


def test_what_those_who_were_called_off_brought_is_not_lost() -> None:
    arrivals, batches = gathering()
    asyncio.run(call_off(arrivals, "ab"))
    assert batches == []
    arrivals.take_in()
    assert batches == [["a", "b"]]


@pytest.mark.parametrize("names", ["ab", "a" * MOST])
def test_everybody_hears_of_an_error(names: str) -> None:
    def fail(_: list[Arrival]) -> None:
        raise ValueError("no")

    ends = asyncio.run(bring(Arrivals(fail), names))
    assert [str(end) for end in ends] == ["no"] * len(names)
