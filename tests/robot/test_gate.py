from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from joro.clock import FakeClock
from joro.config import Politeness
from joro.coordinate.exchange import Exchange
from joro.coordinate.share import Share
from joro.fetch.politeness import Manners
from joro.robot.gate import Gate
from joro.schedule.turns import Turns
from joro.store.frontier import Frontier

A = "http://a.example"


def gate(path: Path, clock: FakeClock, frontier: Frontier, **manners: Any) -> Gate:
    neighbours = Exchange(path / "exchange", Share(), frontier)
    return Gate(Turns(None), Manners(Politeness(**manners)), frontier, neighbours, clock, lambda server: 20.0)


def test_a_server_gets_its_turn_when_it_has_rested(tmp_path: Path) -> None:
    clock, frontier = FakeClock(1000.0), Frontier(tmp_path)
    frontier.server(A).ready_at = 1007.0
    one = gate(tmp_path, clock, frontier)
    one.enter([A])
    assert one.take() is None
    asyncio.run(clock.advance(7.0))
    assert one.take() == A
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
    asyncio.run(clock.advance(201.0))
    assert one.take() is None
    asyncio.run(clock.advance(79_199.0))
    assert one.take() == A
    frontier.close()
