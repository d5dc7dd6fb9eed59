"""The figures are those of T5 and T6: exact expectations, and Cho and Garcia-Molina's own."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from joro.schedule.estimate import closed_form, irregular, last_modified, regular

VISITS = 10
FOUND = np.arange(VISITS + 1)


def binomial(rate: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The chance of each number of changes found at ten visits a unit of time apart."""
    chance = 1 - np.exp(-rate)
    return np.array([comb(VISITS, x) * chance**x * (1 - chance) ** (VISITS - x) for x in range(VISITS + 1)])


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.952), (0.5, 0.787), (1, 0.632), (3, 0.317)])
def test_plain_counting_is_too_low(rate: float, share: float) -> None:
    assert binomial(rate) @ (FOUND / VISITS) / rate == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(
    ("rate", "share"), [(0.1, 1.001), (0.3, 1.001), (0.5, 1.002), (1, 1.003), (2, 0.970), (3, 0.852)]
)
def test_chos_estimator_is_nearly_unbiased(rate: float, share: float) -> None:
    assert binomial(rate) @ regular(VISITS, FOUND, 1.0) / rate == pytest.approx(share, abs=1e-3)


def test_the_closed_form_is_chos_where_visits_are_regular() -> None:
    sums = closed_form(VISITS, FOUND, 3.0 * FOUND, 3.0 * (VISITS - FOUND))
    assert list(sums) == pytest.approx(list(regular(VISITS, FOUND, 3.0)))


def test_the_likeliest_rate_is_chos_where_visits_are_regular() -> None:
    assert irregular([2.0] * 4, [2.0] * 6) == pytest.approx(float(regular(10, 4, 2.0)))


def test_the_likeliest_rate_solves_its_equation() -> None:
    changed, unchanged = np.array([1.0, 5.0, 9.0]), np.array([2.0, 0.5])
    rate = irregular(changed, unchanged)
    assert (changed / np.expm1(rate * changed)).sum() == pytest.approx(2.5 + 0.5 * 3.5)


def test_a_page_always_found_changed_does_not_change_infinitely_fast() -> None:
    assert irregular([1.0] * 10, []) == pytest.approx(np.log(21))


def test_a_page_never_found_changed_does_not_change() -> None:
    assert irregular([], [1.0, 2.0]) == 0
    assert closed_form(2, 0, 0.0, 3.0) == 0
    assert last_modified(2, 0, 3.0) == 0


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 3.0])
def test_dates_of_the_last_change_make_the_estimate_unbiased(rate: float) -> None:
    ages = np.random.default_rng(1).exponential(1 / rate, (40_000, VISITS))
    changes, stood = (ages < 1).sum(axis=1), np.minimum(ages, 1).sum(axis=1)
    assert last_modified(VISITS, changes, stood).mean() / rate == pytest.approx(1.005, abs=0.02)
