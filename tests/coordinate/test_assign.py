import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.coordinate.assign import NOBODY, at_random, by_rendezvous, loads, place
from joro.errors import UsageError

SERVERS = [f"http://server{number}.example" for number in range(3_000)]
ROBOTS = ["robot-a", "robot-b", "robot-c", "robot-d", "robot-e"]


@given(st.integers(0, 50), st.integers(1, 20), st.integers(0, 9))
def test_chance_gives_every_server_to_one_robot_that_exists(servers: int, robots: int, seed: int) -> None:
    owners = at_random(servers, robots, seed)
    assert len(owners) == servers
    assert all(0 <= owner < robots for owner in owners)


def test_a_robot_that_comes_takes_its_part_and_nothing_else_moves() -> None:
    before, after = by_rendezvous(SERVERS, ROBOTS), by_rendezvous(SERVERS, [*ROBOTS, "robot-f"])
    moved = before != after
    assert (after[moved] == 5).all()
    assert 0.13 < moved.mean() < 0.20


def test_a_robot_that_goes_leaves_what_the_others_have_alone() -> None:
    before, after = by_rendezvous(SERVERS, ROBOTS), by_rendezvous(SERVERS, ROBOTS[:4])
    assert (before[before != 4] == after[before != 4]).all()


def test_the_cost_of_a_robot_is_that_of_its_servers() -> None:
    costs = np.array([[1.0, 2.0, 4.0], [9.0, 9.0, 9.0]])
    assert loads(costs, np.array([0, NOBODY, 0])).tolist() == [5.0, 0.0]


def test_a_new_server_goes_to_whoever_is_then_done_first() -> None:
    costs = np.array([[5.0, 1.0, 3.0], [9.0, 3.0, 2.0]])
    assert place(costs, np.array([0, NOBODY, NOBODY])).tolist() == [0, 1, 1]


def test_a_server_nobody_reaches_stays_with_nobody() -> None:
    assert place(np.array([[np.inf, 1.0]]), np.array([NOBODY, NOBODY])).tolist() == [NOBODY, 0]


def test_without_robots_nobody_can_own_anything() -> None:
    with pytest.raises(UsageError, match="0 robots"):
        at_random(5, 0, seed=1)
