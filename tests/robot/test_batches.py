from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.config import Refresh
from joro.robot.batches import Batches, last_report
from joro.store.frontier import Frontier

SLOW = "http://slow.example"
SERVERS = [f"http://{number}.example" for number in range(60)]
SETTINGS = Refresh(enabled=True, batch_pages=100, batch_window_s=10.0)


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[Frontier]:
    made = Frontier(tmp_path)
    yield made
    made.close()


def begun(frontier: Frontier, clock: FakeClock, *, slow: int = 20) -> Batches:
    """Sixty pages of as many servers, and some of a slow one."""
    batches = Batches(frontier, SETTINGS, clock, sockets=10)
    assert batches.room(2_000) == (0.0, 100)
    batches.brought(SERVERS + [SLOW] * slow, is_last=True)
    return batches


def visit_quick_ones(batches: Batches, clock: FakeClock) -> None:
    for server in SERVERS:
        clock._now += 0.5
        batches.visited(server)


def test_without_a_size_there_is_always_room(frontier: Frontier) -> None:
    batches = Batches(frontier, Refresh(enabled=True), FakeClock(7.0), sockets=10)
    batches.brought(SERVERS, is_last=False)
    assert batches.room(2_000) == (7.0, 2_000)


def test_a_batch_is_filled_to_its_size_with_what_was_due_when_it_began(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = Batches(frontier, SETTINGS, clock, sockets=10)
    batches.room(2_000)
    batches.brought(SERVERS, is_last=False)
    clock._now = 5.0
    assert batches.room(2_000) == (0.0, 40)


def test_no_page_comes_to_wait_while_a_batch_goes_well(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = begun(frontier, clock)
    clock._now = 3.0
    assert batches.room(2_000)[1] == 0


def test_the_next_begins_when_all_are_visited(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = begun(frontier, clock, slow=0)
    visit_quick_ones(batches, clock)
    assert batches.room(2_000) == (30.0, 100)
    frontier.commit(None)
    report = last_report(frontier)
    assert report is not None
    assert (report.number, report.pages, report.left) == (1, 60, 0)
    assert "all visited" in str(report)


def test_what_a_collapsed_batch_leaves_goes_first_into_the_next(
    frontier: Frontier, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock(0.0)
    batches = begun(frontier, clock)
    visit_quick_ones(batches, clock)
    assert batches.room(2_000)[1] == 0
    clock._now = 60.0
    assert batches.room(2_000) == (60.0, 80)
    frontier.commit(None)
    report = last_report(frontier)
    assert report is not None
    assert (report.pages, report.left, report.servers_left) == (80, 20, 1)
    assert "20 pages at 1 servers go into the next" in str(report)
    assert [record.message for record in caplog.records] == [str(report)]  # as people see it


def test_when_nothing_is_due_there_is_no_batch(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = Batches(frontier, SETTINGS, clock, sockets=10)
    batches.room(2_000)
    batches.brought([], is_last=True)
    clock._now = 9.0
    assert batches.room(2_000) == (9.0, 100)


def test_pages_of_a_server_that_left_keep_no_batch_waiting(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = begun(frontier, clock)
    visit_quick_ones(batches, clock)
    batches.gone(SLOW)
    assert batches.room(2_000)[1] == 100


def test_a_batch_of_servers_that_let_nobody_in_holds_up_no_other(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = Batches(frontier, SETTINGS, clock, sockets=10)
    batches.room(2_000)
    batches.brought([SLOW], is_last=True)
    clock._now = 100.0
    assert batches.room(2_000) == (100.0, 99)


def test_a_batch_that_is_full_of_what_was_left_over_ends_too(frontier: Frontier) -> None:
    clock = FakeClock(0.0)
    batches = Batches(frontier, SETTINGS, clock, sockets=10)
    batches.room(2_000)
    batches.brought([SLOW] * 100, is_last=True)
    for moment in (100.0, 200.0):
        clock._now = moment
        assert batches.room(2_000) == (moment, 0)
    for _ in range(100):
        batches.visited(SLOW)
    assert batches.room(2_000) == (200.0, 100)
