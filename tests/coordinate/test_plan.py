import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.coordinate.assign import NOBODY, loads
from joro.coordinate.plan import finish, least, moved, plan, wary


def test_a_robot_is_done_when_its_lanes_are_or_its_dearest_server_is() -> None:
    costs = np.array([[2.0, 4.0, 6.0], [9.0, 9.0, 9.0]])
    assert finish(costs, np.array([0, 0, 0])).tolist() == [12.0, 0.0]
    assert finish(costs, np.array([0, 0, 0]), lanes=2).tolist() == [6.0, 0.0]
    assert finish(costs, np.array([0, 0, 0]), lanes=200).tolist() == [6.0, 0.0]


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_the_plan_of_a_few_servers_is_nearly_the_best_of_all_plans(seed: int, lanes: int) -> None:
    costs = np.random.default_rng(seed).lognormal(size=(3, 7))
    every = itertools.product(range(3), repeat=7)
    best = min(float(finish(costs, np.array(each), lanes).max()) for each in every)
    ours = float(finish(costs, plan(costs, lanes), lanes).max())
    assert least(costs, lanes) <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= ours <= 1.1 * best


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 999), st.integers(1, 6), st.integers(0, 30), st.sampled_from([1, 200]))
def test_every_server_has_one_owner_and_no_plan_beats_the_bound(
    seed: int, robots: int, servers: int, lanes: int
) -> None:
    costs = np.random.default_rng(seed).lognormal(size=(robots, servers))
    owners = plan(costs, lanes)
    assert ((owners >= 0) & (owners < robots)).all()
    assert finish(costs, owners, lanes).max() >= least(costs, lanes) * (1 - 1e-9)


def test_a_sixth_robot_moves_less_than_two_sixths_and_gets_its_part() -> None:
    costs = np.random.default_rng(1).lognormal(sigma=0.5, size=(6, 1_200))
    five = plan(costs[:5])
    six = plan(costs, current=five, most_moves=1_200 // 4)
    assert moved(five, six) < 1_200 * 2 / 6
    assert np.ptp(loads(costs, six)) < 0.1 * loads(costs, six).mean()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 999), st.integers(0, 12))
def test_no_more_servers_move_than_may(seed: int, most: int) -> None:
    chance = np.random.default_rng(seed)
    costs, current = chance.lognormal(size=(4, 40)), chance.integers(0, 4, 40)
    after = plan(costs, current=current, most_moves=most)
    assert moved(current, after) <= most
    assert finish(costs, after).max() <= finish(costs, current).max() * (1 + 1e-9)


def test_the_servers_of_a_robot_that_is_gone_move_and_the_others_stay() -> None:
    costs = np.ones((3, 30))
    current = np.arange(30) % 3
    costs[2] = np.inf
    after = plan(costs, current=current, most_moves=0)
    assert (after[current != 2] == current[current != 2]).all()
    assert loads(costs[:2], after).tolist() == [15.0, 15.0]


def test_what_no_robot_reaches_belongs_to_nobody() -> None:
    costs = np.array([[np.inf, 1.0], [np.inf, 2.0]])
    assert plan(costs).tolist() == [NOBODY, 0]


def test_a_huge_server_leaves_the_others_evenly_shared() -> None:
    costs = np.ones((4, 61))
    costs[:, 0] = 100.0
    ends = sorted(loads(costs, plan(costs)).tolist())
    assert ends == [20.0, 20.0, 20.0, 100.0]


def test_a_server_moves_only_if_it_helps_even_where_luck_had_its_part() -> None:
    costs, owners = np.array([[10.0, 10.0], [6.0, 1.0]]), np.array([0, 0])
    raised = wary(costs, owners, np.full((2, 2), 0.3))  # times e^(2 · 0.42)
    assert raised[0].tolist() == [10.0, 10.0]
    assert raised[1] == pytest.approx([14.02, 2.34], abs=0.01)
    assert plan(raised, current=owners, most_moves=2).tolist() == [0, 1]


def test_where_one_server_decides_the_end_loads_are_made_equal() -> None:
    costs = np.array([[100.0, *[1.0] * 20]] * 3)
    assert sorted(loads(costs, plan(costs, 200)).tolist()) == [10.0, 10.0, 100.0]
