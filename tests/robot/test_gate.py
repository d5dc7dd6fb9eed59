from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from joro.clock import FakeClock
from joro.config import Politeness
from joro.config.declare import YEAR_S
from joro.coordinate.exchange import Exchange
from joro.coordinate.share import Share
from joro.fetch.politeness import Manners
from joro.robot.gate import Gate
from joro.schedule.turns import Turns
from joro.store.frontier import Frontier

A = "http://a.example"


def gate(
    path: Path, clock: FakeClock, frontier: Frontier, turns: Turns | None = None, **manners: Any
) -> Gate:
    neighbours = Exchange(path / "exchange", Share(), frontier)
    turns = turns if turns is not None else Turns(None)
    return Gate(turns, Manners(Politeness(**manners)), frontier, neighbours, clock, lambda server: 20.0)


def takes_after(one: Gate, clock: FakeClock, *seconds: float) -> list[str | None]:
    """Whose turn it is so much later, and so much later again."""
    found = []
    for each in seconds:
        asyncio.run(clock.advance(each))
        found.append(one.take())
    return found


def test_a_server_gets_its_turn_when_it_has_rested(tmp_path: Path) -> None:
    clock, frontier = FakeClock(1000.0), Frontier(tmp_path)
    frontier.server(A).ready_at = 1007.0
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    assert takes_after(one, clock, 0.0, 7.0) == [None, A]
    frontier.close()


def test_after_a_clock_was_ahead_a_server_rests_for_its_pause_and_not_until_then(tmp_path: Path) -> None:
    clock, frontier = FakeClock(1000.0), Frontier(tmp_path)
    record = frontier.server(A)
    record.ended_at, record.ready_at = 900_000.0, 900_020.0
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    assert takes_after(one, clock, 19.0, 1.0) == [None, A]
    assert (record.ended_at, record.ready_at) == (1000.0, 1020.0)
    frontier.close()


@pytest.mark.parametrize(
    ("ended_at", "ready_at", "begins_at"),
    [
        (1000.0, math.inf, 1000.0 + YEAR_S),
        (1000.0, 1e10, 1000.0 + YEAR_S),
        (0.0, math.inf, 5000.0 + YEAR_S),
        (1000.0, 1000.0 + YEAR_S, 1000.0 + YEAR_S),
    ],
)
def test_what_older_settings_promised_for_ever_ends_after_a_year(
    tmp_path: Path, ended_at: float, ready_at: float, begins_at: float
) -> None:
    clock, frontier = FakeClock(5000.0), Frontier(tmp_path)
    record = frontier.server(A)
    record.ended_at, record.ready_at = ended_at, ready_at
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    assert takes_after(one, clock, begins_at - 5001.0, 1.0) == [None, A]
    frontier.close()


@pytest.mark.parametrize(
    ("pause_s", "pages", "awaits", "left"),
    [(86_400.0, 0, False, 0), (86_400.0, 1, False, 1), (86_400.0, 0, True, 1), (20.0, 0, False, 1)],
)
def test_a_long_pause_before_nothing_is_not_waited_for(
    tmp_path: Path, pause_s: float, pages: int, awaits: bool, left: int
) -> None:
    clock, frontier, turns = FakeClock(1000.0), Frontier(tmp_path), Turns(None)
    one = gate(tmp_path, clock, frontier, turns)
    frontier.add([f"{A}/{number}" for number in range(1 + pages)], 0)
    one.enter(frontier.settle(lambda server: 9))
    assert one.take() == A
    page = frontier.take(A)
    assert page is not None
    frontier.server(A).ready_at = 1000.0 + pause_s
    one.give_back(A, 1000.0 + pause_s, lambda server: awaits)
    assert len(turns) == left
    if not left:  # but the server is left alone, should there be more
        frontier.add([f"{A}/new"], 0)
        one.enter(frontier.settle(lambda server: 9))
        assert takes_after(one, clock, pause_s - 1.0, 1.0) == [None, A]
    frontier.close()


def test_after_a_kill_everybody_is_left_alone_for_a_pause(tmp_path: Path) -> None:
    Frontier(tmp_path).abandon()
    clock, frontier = FakeClock(1000.0), Frontier(tmp_path)
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    assert (one.take(), one.is_wary) == (None, True)
    asyncio.run(clock.advance(20.0))
    assert (one.take(), one.is_wary) == (A, False)
    frontier.close()


def test_who_waited_until_hours_ended_waits_until_they_begin(tmp_path: Path) -> None:
    clock, frontier = FakeClock(7_000.0), Frontier(tmp_path)  # 01:56 of a Thursday
    one = gate(tmp_path, clock, frontier, window="thu fri 00:00-02:00 UTC")
    one.enter([A])
    assert takes_after(one, clock, 201.0, 79_199.0) == [None, A]
    frontier.close()


def test_who_only_stands_in_line_makes_room_for_those_that_sleep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.store.frontier.AWAKE_LIMIT", 40)
    clock, frontier, turns = FakeClock(1000.0), Frontier(tmp_path), Turns()
    one = gate(tmp_path, clock, frontier, turns)
    frontier.add([f"http://crowd{number}.example/" for number in range(40)], 0)
    frontier.add(["http://good.example/"], 0)
    woken, came = frontier.settle(lambda server: 9), []
    for _ in range(2):
        one.enter(woken)
        while (server := one.take()) is not None:
            turns.give_back(server, 9000.0, "192.0.2.1")
            came.append(server)
        frontier.commit(None)
        one.make_room()
        woken = frontier.wake()
        assert len(woken) == 24  # 16 stay in line
    assert came[:40] == [f"http://crowd{number}.example" for number in range(40)]
    assert "http://good.example" in woken


def test_who_was_visited_under_shorter_pauses_rests_as_long_as_the_new_ones(tmp_path: Path) -> None:
    clock, frontier = FakeClock(1000.0), Frontier(tmp_path)
    record = frontier.server(A)
    record.ended_at, record.ready_at = 999.0, 1001.0
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    one.renew()
    assert takes_after(one, clock, 1.0, 18.0) == [None, A]
    frontier.close()


def test_who_is_not_to_be_visited_for_long_makes_room_for_those_that_sleep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joro.store.frontier.AWAKE_LIMIT", 3)
    clock, frontier, turns = FakeClock(1000.0), Frontier(tmp_path), Turns()
    one = gate(tmp_path, clock, frontier, turns)
    frontier.add([f"http://{name}.example/" for name in ("busy1", "busy2", "soon", "good")], 0)
    one.enter(frontier.settle(lambda server: 9))
    for again_s in (86_400.0, 86_400.0, 20.0):
        server = one.take()
        assert server is not None
        turns.give_back(server, 1000.0 + again_s)
        frontier.server(server).ready_at = 1000.0 + again_s
    frontier.commit(None)
    one.make_room()
    woken = frontier.wake()
    assert (len(woken), len(turns)) == (2, 1)  # who waits for its usual pause stays
    for _ in range(3):
        one.enter(woken)
        frontier.commit(None)
        one.make_room()
        woken = frontier.wake()
    assert one.take() == "http://good.example"
    frontier.close()
