"""What does a robot get that has much less to do than the others?"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.assign import loads
from joro.coordinate.newcomer import filled, short, sparing
from joro.coordinate.plan import moved

EQUAL = np.ones((3, 12))
HALVES = np.arange(12) % 2
SURE = np.zeros((3, 12))


def test_a_robot_without_servers_is_short_and_gets_its_share() -> None:
    assert short(EQUAL, HALVES, SURE).tolist() == [2]
    assert loads(EQUAL, filled(EQUAL, HALVES, SURE, 12)).tolist() == [4.0, 4.0, 4.0]


def test_it_gets_no_more_than_may_move() -> None:
    assert moved(HALVES, filled(EQUAL, HALVES, SURE, 3)) == 3
    assert moved(HALVES, filled(EQUAL, HALVES, SURE, 0)) == 0


def test_one_that_may_have_enough_is_not_short() -> None:
    owners = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2])
    assert short(EQUAL, owners, SURE).tolist() == [2]
    assert short(EQUAL, owners, SURE + 0.5).tolist() == []


def test_it_gets_what_is_dear_and_near_and_leaves_crumbs() -> None:
    costs = np.array([[8.0, 8.0, 4.0, 4.0, 0.1], [9.0, 9.0, 9.0, 2.0, 0.1]])
    after = filled(costs, np.zeros(5, np.int64), np.zeros((2, 5)), 5)
    assert after.tolist() == [1, 0, 0, 1, 0]


def test_where_servers_are_big_it_gets_what_leaves_others_as_much() -> None:
    assert filled(np.ones((6, 10)), np.arange(10) % 5, np.zeros((6, 10)), 10).tolist().count(5) == 1


def test_a_server_that_only_its_owner_reaches_stays() -> None:
    costs = EQUAL.copy()
    costs[2, :9] = np.inf
    assert np.flatnonzero(filled(costs, HALVES, SURE, 12) == 2).tolist() == [9, 10, 11]


def test_no_giver_becomes_short() -> None:
    before, after = np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.zeros(8, np.int64)
    assert sparing(np.ones((2, 8)), before, after).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@given(st.integers(0, 9_999), st.integers(1, 6), st.integers(1, 40), st.integers(0, 40))
def test_filling_moves_only_to_the_short_and_leaves_no_giver_less(
    seed: int, robots: int, servers: int, most: int
) -> None:
    chance = np.random.default_rng(seed)
    costs, owners = chance.lognormal(size=(robots, servers)), chance.integers(0, robots, servers)
    doubts = np.zeros(costs.shape)
    after = filled(costs, owners, doubts, most)
    changed = np.flatnonzero(after != owners)
    assert len(changed) <= most
    assert set(after[changed].tolist()) <= set(short(costs, owners, doubts).tolist())
    before, then = loads(costs, owners), loads(costs, after)
    assert (then[after[changed]] <= 1.1 * before.mean() + 1e-9).all()
