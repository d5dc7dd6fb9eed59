from __future__ import annotations

import numpy as np
import pytest

from joro.model import DAY_S
from joro.simulator.population import Population, fitted
from tests.simulator.servers import servers


@pytest.fixture(scope="module")
def node() -> Population:
    """S0's node, of full size."""
    return fitted(seed=1)


def test_intervals_are_those_that_s0_prints(node: Population) -> None:
    assert len(node) == 82_034
    assert node.interval_s.mean() / DAY_S == pytest.approx(5.504, abs=0.001)
    assert (node.interval_s < 60).mean() == pytest.approx(0.0103, abs=0.0001)
    assert node.interval_s.min() == pytest.approx(0.755, abs=0.001)
    assert node.interval_s.max() < 100 * DAY_S
    assert node.visits_per_day / DAY_S == pytest.approx(101.7, abs=0.1)


def test_logs_are_as_long_as_four_weeks_of_visits_but_finite(node: Population) -> None:
    assert node.length.min() == 2
    assert node.length.max() == 1_842
    assert node.length.sum() == len(node.log_s) == 15_708_275


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_download_times_are_those_that_s0_prints_whatever_the_seed(seed: int) -> None:
    made = fitted(seed)
    feasible = made.feasible()
    assert made.mean_s.mean() == pytest.approx(1.0, rel=0.05)
    assert made.longest_s.mean() == pytest.approx(5.8, rel=0.05)
    assert (made.mean_s > made.interval_s).sum() < 10
    assert (made.longest_s > made.interval_s).sum() == pytest.approx(380, rel=0.15)
    assert made.need == pytest.approx(62, rel=0.1)
    assert made.select(feasible).need == pytest.approx(28, rel=0.1)
    assert made.select(feasible).visits_per_day == pytest.approx(4.33e6, rel=0.15)


def test_the_same_seed_makes_the_same_servers() -> None:
    one, other = fitted(7, servers=500), fitted(7, servers=500)
    assert np.array_equal(one.log_s, other.log_s)
    assert not np.array_equal(one.log_s, fitted(8, servers=500).log_s)


def test_few_servers_can_be_made_as_well() -> None:
    assert len(fitted(1, servers=10)) == 10


def test_mean_and_longest_are_those_of_a_server_alone() -> None:
    some = servers((10, [1, 3]), (20, [5]))
    assert some.mean_s.tolist() == [2.0, 5.0]
    assert some.longest_s.tolist() == [3.0, 5.0]
    assert some.need == 0.45


def test_servers_that_are_left_out_take_nothing_with_them() -> None:
    some = servers((10, [1, 9.5]), (20, [5, 6]))
    able = some.select(some.feasible(minimum_s=1.0))
    assert (len(able), able.need) == (1, 5.5 / 20)
    assert able.log_s[able.first[0] : able.first[0] + able.length[0]].tolist() == [5.0, 6.0]
