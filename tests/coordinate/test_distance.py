import numpy as np
import pytest

from joro.coordinate.distance import between_robots, costs_ms, doubts, guessed


def test_the_cost_is_what_a_server_has_times_its_distance() -> None:
    assert costs_ms(np.array([[100.0, 2.0]]), np.array([4.0, 50.0])).tolist() == [[400.0, 100.0]]


def test_a_guess_follows_the_robot_and_the_server() -> None:
    distances = guessed(np.array([[1.0, 4.0, 2.0], [10.0, 40.0, np.nan]]))
    assert distances[1, 2] == pytest.approx(20.0)


def test_a_robot_that_measured_nothing_counts_as_a_usual_one() -> None:
    assert guessed(np.array([[2.0, 8.0], [np.nan, np.nan]]))[1].tolist() == pytest.approx([2.0, 8.0])
    assert guessed(np.full((2, 2), np.nan)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_robots_near_the_same_servers_are_near_each_other() -> None:
    distances = np.array([[1.0, 9.0], [1.0, 9.0], [9.0, 9.0]])
    between = between_robots(distances, near=0.0)
    assert between.tolist() == [[0.0, 2.0, 10.0], [2.0, 0.0, 10.0], [10.0, 10.0, 0.0]]


def test_the_more_pages_the_surer_and_a_guess_is_least_sure() -> None:
    unsure = doubts(np.array([[1.0, 4.0], [np.nan, 4.0]]), np.array([[100.0, 25.0], [0.0, 1.0]]))
    assert unsure.tolist() == [[0.1, 0.2], [0.7, 1.0]]


def test_a_guess_is_as_good_as_guesses_of_what_was_measured_would_have_been() -> None:
    chance = np.random.default_rng(1)
    distances = np.exp(chance.normal(0.0, 1.2, (4, 100)))
    distances[3, 50:] = np.nan
    assert 1.0 < doubts(distances, np.full((4, 100), 1e6))[3, 60] < 1.4
    assert doubts(np.exp(np.zeros((4, 100))) * distances[:1], np.ones((4, 100)))[0, 0] == 1.0
