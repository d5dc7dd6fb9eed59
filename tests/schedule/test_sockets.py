from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.sockets import (
    Order,
    Pools,
    bearable_need,
    bound,
    is_feasible,
    least_share,
    priority,
    share_out,
    socket_share,
    socket_shares,
    wanted,
)


@pytest.mark.parametrize(
    ("order", "key"),
    [(Order.EDF, 28.5), (Order.FCFS, 25.0), (Order.FREQ, 10.0), (Order.RM, -0.15), (Order.SJF, 1.5)],
)
def test_each_order_has_its_key(order: Order, key: float) -> None:
    assert priority(order, waiting_since_s=25.0, interval_s=10.0, mean_s=1.5) == key


def test_no_server_counts_for_more_than_one_socket() -> None:
    assert socket_share(mean_s=2.0, interval_s=8.0) == 0.25
    assert socket_share(mean_s=20.0, interval_s=8.0) == 1.0
    assert socket_shares(np.array([2.0, 20.0]), np.array([8.0, 8.0])).sum() == 1.25


def test_the_bound_is_the_need_rounded_up() -> None:
    assert (bound(27.54), bound(28.0), bound(sum([0.1] * 10)), bound(0.0)) == (28, 28, 1, 0)


def test_a_server_must_have_time_for_its_longest_download_and_the_pause() -> None:
    assert is_feasible(longest_s=9.0, interval_s=10.0, minimum_s=1.0)
    assert not is_feasible(longest_s=9.5, interval_s=10.0, minimum_s=1.0)
    assert is_feasible(np.array([9.0, 9.5]), np.array([10.0, 10.0]), 1.0).tolist() == [True, False]


def test_refresh_wants_a_margin_and_two_sockets_more() -> None:
    assert (wanted(27.54), wanted(0.1), wanted(0.0)) == (38, 3, 0)


@given(st.integers(1, 100_000))
def test_what_sockets_can_bear_never_wants_more_of_them(sockets: int) -> None:
    assert wanted(bearable_need(sockets)) <= max(sockets, 3)


def test_few_sockets_bear_what_they_were_measured_to_bear_and_more_sockets_more() -> None:
    bears = [bearable_need(sockets) for sockets in range(6)]
    assert bears[:3] == pytest.approx([0.0, 0.3, 0.6])
    assert bears == sorted(bears)


def test_the_surplus_goes_to_discovery() -> None:
    assert share_out(100, need=27.54, infeasible_need=3.2) == Pools(refresh=38, infeasible=4, discovery=58)


def test_short_of_sockets_discovery_gets_none() -> None:
    assert share_out(21, need=27.54, infeasible_need=3.2) == Pools(refresh=19, infeasible=2, discovery=0)


def test_no_pool_that_is_needed_shrinks_to_nothing() -> None:
    assert share_out(2, need=100.0, infeasible_need=0.1) == Pools(1, 1, 0)
    assert share_out(2, need=0.1, infeasible_need=100.0) == Pools(1, 1, 0)


@given(st.integers(0, 500), st.floats(0.0, 300.0), st.floats(0.0, 300.0))
def test_sockets_are_shared_out_and_none_is_made_up(
    sockets: int, need: float, infeasible_need: float
) -> None:
    pools = share_out(sockets, need, infeasible_need)
    assert pools.total == sockets
    assert min(pools.refresh, pools.infeasible, pools.discovery) >= 0
    assert pools.refresh <= wanted(need) or pools.infeasible < bound(infeasible_need)


def test_discovery_keeps_its_least_share_when_sockets_are_short() -> None:
    pools = share_out(20, need=27.54, infeasible_need=3.2, least_discovery=2)
    assert pools == Pools(refresh=17, infeasible=1, discovery=2, least_discovery=2)


@pytest.mark.parametrize(
    ("sockets", "percent", "least"), [(1, 50, 0), (2, 10, 1), (6, 10, 1), (40, 10, 4), (100, 0, 0)]
)
def test_a_least_share_is_one_socket_at_least_where_there_are_two(
    sockets: int, percent: int, least: int
) -> None:
    assert least_share(sockets, percent) == least
