from __future__ import annotations

import pytest

from joro.scaling.measure import limit_of, rates


def test_the_rate_is_that_of_the_middle_of_the_run() -> None:
    slow_start = [(float(second), 100) for second in range(10)]
    fast_middle = [(10 + number / 10, 100) for number in range(80)]
    slow_end = [(20.0 + second, 100) for second in range(10)]
    count, pages_per_s, bytes_per_s = rates(slow_end + slow_start + fast_middle)
    assert count == 100
    assert pages_per_s == pytest.approx(10)
    assert bytes_per_s == pytest.approx(1_000)


def test_too_few_pages_give_no_rate() -> None:
    assert rates([]) == (0, 0.0, 0.0)
    assert rates([(1.0, 9)]) == (1, 0.0, 0.0)
    assert rates([(1.0, 9), (1.0, 9)]) == (2, 0.0, 0.0)


@pytest.mark.parametrize(
    ("achieved", "machine", "robot", "web", "limit"),
    [
        (0.9, 1.0, 0.3, 0.1, "units"),  # others may use the rest of the machine
        (0.5, 0.95, 0.9, 0.1, "machine"),
        (0.5, 0.6, 0.9, 0.1, "robots"),
        (0.5, 0.6, 0.3, 0.9, "test web"),
        (0.5, 0.6, 0.3, 0.1, "units"),
    ],
)
def test_what_is_full_is_the_limit(
    achieved: float, machine: float, robot: float, web: float, limit: str
) -> None:
    assert limit_of(achieved, machine, robot, web) == limit
