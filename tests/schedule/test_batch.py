"""Batches end when only slow servers are left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.batch import Batch


def running(per_s: float, seconds: int, batch: Batch, start: int = 0) -> Batch:
    for second in range(start, start + seconds):
        batch.visited(float(second), count=round(per_s * (second + 1)) - round(per_s * second))
    return batch


def test_the_speed_is_that_of_the_last_minutes() -> None:
    batch = running(50, 3_000, Batch(10**6, 0.0))
    assert batch.speed_per_s(3_000) == pytest.approx(50, rel=0.01)
    assert batch.peak_per_s == pytest.approx(50, rel=0.01)
    assert batch.pages == 10**6 - 150_000


def test_a_steady_batch_goes_on_to_its_last_page() -> None:
    batch = running(50, 3_000, Batch(150_001, 0.0))
    assert not batch.is_over(3_000, servers=5, sockets=100)
    batch.visited(3_000)
    assert batch.is_over(3_000, servers=0, sockets=100)


def test_a_batch_is_over_when_a_few_slow_servers_are_left() -> None:
    batch = running(1, 1_500, running(50, 3_000, Batch(10**6, 0.0)), start=3_000)
    assert batch.is_over(4_500, servers=10, sockets=100)
    assert batch.pages == 10**6 - 151_500


def test_a_batch_that_stands_still_with_work_for_every_socket_is_not_over() -> None:
    batch = running(50, 3_000, Batch(10**6, 0.0))
    assert batch.is_over(9_000, servers=99, sockets=100)
    assert not batch.is_over(9_000, servers=100, sockets=100)


def test_slow_servers_may_be_more_than_the_sockets_if_they_are_few_of_those_it_began_with() -> None:
    batch = running(50, 3_000, Batch(10**6, 0.0))
    assert not batch.is_over(3_000, servers=5_000, sockets=100)
    assert not batch.is_over(9_000, servers=1_000, sockets=100)
    assert batch.is_over(9_000, servers=999, sockets=100)


def test_a_slow_start_is_no_collapse() -> None:
    batch = Batch(10**6, 0.0)
    batch.visited(0.0, count=1_000)
    assert not batch.is_over(599, servers=10, sockets=100)


@given(st.lists(st.tuples(st.floats(0, 1e4), st.integers(0, 100)), max_size=30))
def test_the_speed_never_exceeds_the_peak_nor_what_was_visited(visits: list[tuple[float, int]]) -> None:
    batch = Batch(1_000, 0.0)
    now = 0.0
    for pause_s, count in visits:
        now += pause_s
        batch.visited(now, count)
        assert 0 <= batch.speed_per_s(now + 1) <= batch.peak_per_s
        assert batch.peak_per_s * batch.window_s <= sum(count for _, count in visits) + 1e-6
        assert batch.pages >= 0
