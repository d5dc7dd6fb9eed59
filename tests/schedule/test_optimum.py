"""T1 to T4 and T15 are worked examples with published or independently computed answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.schedule.optimum import (
    Array,
    Limits,
    Pages,
    Rule,
    evenly,
    find_price,
    freshness,
    gain,
    gain_inverse,
    solve,
)

FIVE = Pages.of([1, 2, 3, 4, 5])


def rates(*expected: float) -> object:
    return pytest.approx(expected, abs=5e-4)


def test_cho_and_garcia_molinas_five_pages_come_out() -> None:
    best = solve(FIVE, Limits(budget=5)).visit_rate
    assert list(best) == rates(1.150, 1.358, 1.354, 1.138, 0)
    assert freshness(FIVE.change_rate, best).mean() == pytest.approx(0.37389, abs=1e-5)


def at_random(change: Array, importance: Array, price: Array) -> Array:
    """Visits at random moments (Azar et al. 2018)."""
    return np.asarray(np.maximum(0.0, np.sqrt(importance * change / price) - change))


def harmonic(change: Array, importance: Array, price: Array) -> Array:
    """Nobody is given up (Kolobov et al. 2019)."""
    return np.asarray((np.sqrt(change**2 + 4 * importance * change / price) - change) / 2)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [(at_random, (1.386, 1.374, 1.133, 0.772, 0.335)), (harmonic, (0.783, 0.947, 1.037, 1.096, 1.137))],
)
def test_the_price_is_found_for_the_rules_of_others_too(rule: Rule, expected: tuple[float, ...]) -> None:
    best = solve(FIVE, Limits(budget=5), rule).visit_rate
    assert list(best) == rates(*expected)
    if rule is at_random:  # a page visited at random moments is fresh for f / (f + λ) of the time
        assert (best / (best + FIVE.change_rate)).mean() == pytest.approx(0.29737, abs=1e-5)


def test_visiting_all_alike_beats_visiting_in_proportion_to_change() -> None:
    assert freshness(FIVE.change_rate, 1).mean() == pytest.approx(0.36505, abs=1e-5)
    assert freshness(FIVE.change_rate, FIVE.change_rate / 3).mean() == pytest.approx(0.31674, abs=1e-5)


def test_a_server_that_allows_little_gets_a_price_of_its_own() -> None:
    pages = Pages.of([1, 2, 3, 4, 5], server=[0, 0, 0, 1, 1])
    best = solve(pages, Limits(budget=5, server_most=np.array([2.0, 9.0])))
    assert list(best.visit_rate) == rates(0.841, 0.874, 0.285, 1.630, 1.370)
    assert best.price == pytest.approx(0.17581, abs=1e-5)
    assert best.server_price is not None
    assert best.price + best.server_price[0] == pytest.approx(0.33323, abs=1e-5)
    assert best.server_price[1] == 0
    assert freshness(pages.change_rate, best.visit_rate).mean() == pytest.approx(0.34239, abs=1e-5)


@pytest.mark.parametrize(("budget", "expected"), [(1, (0, 1)), (5, (2.987, 2.013)), (20, (14.447, 5.553))])
def test_a_page_that_changes_too_fast_is_given_up_until_visits_abound(
    budget: float, expected: tuple[float, float]
) -> None:
    assert list(solve(Pages.of([9, 1]), Limits(budget)).visit_rate) == rates(*expected)


@pytest.mark.parametrize(("y", "x"), [(0.2642411177, 1), (0.5, 1.67835), (0.9, 3.88972)])
def test_the_gain_is_inverted(y: float, x: float) -> None:
    assert gain_inverse(y) == pytest.approx(x, abs=1e-5)


@given(st.floats(1e-7, 25))
def test_the_inverse_undoes_the_gain(x: float) -> None:
    assert gain_inverse(gain(x)) == pytest.approx(x, rel=1e-5)


def test_no_visit_is_worth_a_price_above_all_it_can_bring() -> None:
    assert np.isinf(gain_inverse(1.0))


def test_visiting_as_often_as_pages_change_captures_63_of_100_versions() -> None:
    assert freshness([1, 2, 3], [1, 2, 3]) == pytest.approx(1 - np.exp(-1))


def test_s0s_rule_is_the_optimum_of_the_archive() -> None:
    """θ = 1: visits in proportion to change; no other way of spending the budget captures more versions."""
    change = np.array([0.1, 1.0, 10.0])
    best = solve(Pages.of(change), Limits(budget=11.1), evenly(theta=1)).visit_rate
    assert list(best) == pytest.approx([0.1, 1.0, 10.0])


def test_a_cheap_visit_is_paid_more_often() -> None:
    best = solve(Pages.of([1, 1], cost=[1.0, 0.01]), Limits(budget=1)).visit_rate
    assert best[1] > 3 * best[0]
    assert best[0] + 0.01 * best[1] == pytest.approx(1)


def test_costs_and_servers_limits_hold_together() -> None:
    pages = Pages.of([1, 2, 3, 4], cost=[1, 2, 1, 2], server=[0, 0, 1, 1])
    best = solve(pages, Limits(budget=4, server_most=np.array([0.5, 9.0]))).visit_rate
    assert best[:2].sum() == pytest.approx(0.5)
    assert pages.cost @ best == pytest.approx(4)


def test_a_floor_keeps_fast_pages_from_starving() -> None:
    best = solve(Pages.of([9, 1]), Limits(budget=1, least=0.1)).visit_rate
    assert list(best) == pytest.approx([0.1, 0.9])


def test_a_floor_the_budget_cannot_pay_is_lowered() -> None:
    assert list(solve(Pages.of([9, 1]), Limits(budget=1, least=2)).visit_rate) == pytest.approx([0.5, 0.5])


def test_a_floor_a_server_cannot_bear_is_lowered() -> None:
    pages = Pages.of([1, 1, 1], server=[0, 0, 1])
    best = solve(pages, Limits(budget=9, server_most=np.array([0.2, 9.0]), least=1)).visit_rate
    assert list(best[:2]) == pytest.approx([0.1, 0.1])


def test_with_enough_for_all_visits_are_free() -> None:
    best = solve(Pages.of([1, 2]), Limits(budget=100, most=3))
    assert best.price == 0
    assert list(best.visit_rate) == [3, 3]


def test_a_page_that_does_not_matter_or_never_changes_is_not_visited() -> None:
    assert list(solve(Pages.of([1, 0, 1], [1, 1, 0]), Limits(budget=2)).visit_rate) == pytest.approx(
        [2, 0, 0]
    )


def weighted(pages: Pages, visit_rate: Array) -> float:
    return float(pages.importance @ freshness(pages.change_rate, visit_rate))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1_000), st.floats(0.05, 3.0))
def test_no_other_way_of_spending_the_budget_is_fresher(seed: int, share: float) -> None:
    chance = np.random.default_rng(seed)
    pages = Pages.of(np.exp(chance.normal(-3, 2, 40)), np.exp(chance.normal(0, 1, 40)))
    best = solve(pages, Limits(budget=share * float(pages.change_rate.sum()))).visit_rate
    for _ in range(20):
        other = np.maximum(0, best * np.exp(chance.normal(0, 0.3, 40)) + chance.choice([0, 1e-3], 40))
        other *= best.sum() / other.sum()
        assert weighted(pages, other) <= weighted(pages, best) * (1 + 1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1_000), st.floats(0.05, 3.0))
def test_every_visit_bought_is_worth_its_price(seed: int, share: float) -> None:
    """The Karush-Kuhn-Tucker conditions: marginal value equals the price, or is below it where f = 0."""
    chance = np.random.default_rng(seed)
    pages = Pages.of(
        np.exp(chance.normal(-3, 2, 60)), np.exp(chance.normal(0, 1, 60)), server=chance.integers(0, 4, 60)
    )
    most = np.array([0.05, 0.5, 5.0, 50.0])
    best = solve(pages, Limits(share * float(pages.change_rate.sum()), most))
    assert best.server_price is not None
    price = best.price + best.server_price[pages.server]
    with np.errstate(divide="ignore"):
        worth = pages.importance * gain(pages.change_rate / best.visit_rate) / pages.change_rate
    bought = best.visit_rate > 0
    assert worth[bought] == pytest.approx(price[bought], rel=1e-5)
    assert np.all(worth[~bought] <= price[~bought] * (1 + 1e-9))


def test_no_price_helps_when_floors_cost_more_than_there_is() -> None:
    assert find_price(lambda price: max(5.0, 100.0 / price), budget=1.0) > 1e20
