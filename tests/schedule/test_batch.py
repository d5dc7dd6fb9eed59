"""Batches take the best pages of many servers, and end when only slow servers are left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.batch import Batch, quota, select


def chosen(servers: list[int], quotas: int | list[int] = 9, size: int = 9) -> list[int]:
    limits = quotas if isinstance(quotas, int) else np.array(quotas)
    return [int(place) for place in select(np.array(servers, np.int64), limits, size)]


def test_the_best_pages_come_first_and_no_server_has_more_than_its_quota() -> None:
    assert chosen([7, 7, 7, 3, 7, 3], quotas=2) == [0, 1, 3, 5]


def test_a_batch_is_no_longer_than_its_size() -> None:
    assert chosen([1, 2, 3, 4], size=3) == [0, 1, 2]
    assert chosen([]) == []


def test_every_server_may_have_a_quota_of_its_own() -> None:
    assert chosen([7, 3, 7, 3, 7], quotas=[1, 2, 1, 2, 1]) == [0, 1, 3]


def test_a_slow_server_gives_what_it_can_and_a_page_at_least() -> None:
    assert quota(3_600, access_interval_s=10) == 360
    assert quota(3_600, access_interval_s=86_400) == 1


@given(st.lists(st.integers(0, 5)), st.integers(1, 4), st.integers(1, 20))
def test_nothing_better_is_left_out(servers: list[int], limit: int, size: int) -> None:
    places = chosen(servers, limit, size)
    assert places == sorted(set(places))
    taken = [servers[place] for place in places]
    assert all(taken.count(server) <= limit for server in taken)
    last = places[-1] if len(places) == size else len(servers)
    for place in set(range(last)) - set(places):
        assert taken.count(servers[place]) == limit


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
