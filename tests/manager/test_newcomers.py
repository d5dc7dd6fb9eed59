"""A robot comes: what does it get, how much moves for it, and when is it over?"""

import numpy as np
import pytest

from tests.manager.noisy import Noisy

SERVERS = 60
FEW = [1, 2]
MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 13)]


@pytest.mark.parametrize("seed", [*FEW, *MANY])
def test_a_sixth_robot_gets_its_share_and_moves_less_than_two_sixths(seed: int) -> None:
    crew = Noisy(seed, 6, SERVERS)
    for _ in range(4):
        crew.look(5)
    moved = [crew.look(6) for _ in range(26)]
    load = crew.loads()
    assert 0 < sum(moved) < SERVERS * 2 / 6
    assert load[5] >= 0.6 * load.mean()
    assert sum(moved[-6:]) <= 1


@pytest.mark.parametrize("near", [0.3, 3.0])
@pytest.mark.parametrize("seed", [FEW[0], *MANY[:4]])
def test_it_moves_no_more_when_it_stands_elsewhere(seed: int, near: float) -> None:
    crew = Noisy(seed, 6, SERVERS)
    crew.distances[5] *= near
    for _ in range(4):
        crew.look(5)
    moved = [crew.look(6) for _ in range(26)]
    assert 0 < sum(moved) < SERVERS * 2 / 6
    assert (crew.owners == 5).any()


@pytest.mark.parametrize("is_forgetful", [False, True])
@pytest.mark.parametrize("seed", [FEW[0], *MANY[:4]])
def test_a_crew_that_stays_comes_to_rest_whatever_it_measures(seed: int, is_forgetful: bool) -> None:
    crew = Noisy(seed, 5, SERVERS, is_forgetful=is_forgetful)
    moved = [crew.look(5) for _ in range(40)]
    assert sum(moved[-10:]) <= 1
    assert crew.loads().max() < 2.0 * crew.loads().mean() or crew.kb.max() > 0.2 * crew.kb.sum()


def test_what_one_is_just_given_counts_though_it_may_not_move_yet() -> None:
    crew = Noisy(1, 6, SERVERS)
    crew.distances[:], crew.kb[:] = 10.0, 100.0
    assert crew.look(6) == 6  # a tenth at a look
    assert 2 <= sum(crew.look(6) for _ in range(9)) <= 4
    assert np.ptp(np.bincount(crew.owners)) <= 3
