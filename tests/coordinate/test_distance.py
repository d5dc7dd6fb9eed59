import numpy as np
import pytest

from joro.coordinate.distance import between_robots, costs_ms, guessed, measured
from joro.coordinate.messages import LogLine


def test_the_distance_is_milliseconds_per_kilobyte() -> None:
    lines = [LogLine("http://a.jp/", 9, 1_024, 100), LogLine("http://A.jp:80/x", 9, 3_072, 300)]
    distances, sizes_kb = measured({"r": lines}, ["r", "s"], ["http://a.jp", "http://b.jp"])
    assert distances[0, 0] == 100.0
    assert sizes_kb.tolist() == [4.0, 0.0]
    assert np.isnan(distances).tolist() == [[False, True], [True, True]]


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
