from __future__ import annotations

from pathlib import Path

from joro.robot.longest import LongestFirst
from joro.schedule.turns import Turns
from joro.store.frontier import Frontier


def test_servers_with_the_longest_way_to_go_start_first(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    for server, found, visited in (("small", 30, 0), ("large", 50, 0), ("done", 90, 85), ("slow", 12, 0)):
        frontier.server(server).found, frontier.server(server).visited = found, visited
    turns = Turns(LongestFirst(frontier, lambda server, _: 60.0 if server == "slow" else 10.0))
    for server in ("done", "small", "slow", "large"):
        turns.enter(server, 1.0)
    assert [turns.take(1.0) for _ in range(5)] == ["slow", "large", "small", "done", None]
    frontier.abandon()


def test_a_server_that_is_not_ready_waits_however_long_its_way_is(tmp_path: Path) -> None:
    frontier = Frontier(tmp_path)
    frontier.server("large").found = 1_000
    turns = Turns(LongestFirst(frontier, lambda *_: 10.0))
    turns.enter("large", 5.0)
    turns.enter("small", 1.0)
    assert (turns.take(2.0), turns.take(2.0), turns.next_ready_at()) == ("small", None, 5.0)
    frontier.abandon()
