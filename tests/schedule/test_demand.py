from __future__ import annotations

import numpy as np
import pytest

from joro.schedule.demand import Demand
from joro.schedule.optimum import Array, Limits, Pages, evenly, freshness, solve

DAY_S = 86_400.0


def pages(number: int = 20_000) -> tuple[Array, Array]:
    chance = np.random.default_rng(7)
    return np.exp(chance.normal(-3, 1.9, number)) / DAY_S, np.exp(chance.normal(0, 1, number))


def test_the_price_is_that_of_the_exact_solution() -> None:
    change, importance = pages()
    demand = Demand()
    demand.add(change, importance)
    budget = 0.25 * float(change.sum())
    exact = solve(Pages.of(change, importance), Limits(budget)).price
    assert demand.price(budget) == pytest.approx(exact, rel=1e-3)


def test_the_price_of_sixty_four_bins_costs_less_than_a_thousandth_of_freshness() -> None:
    change, importance = pages()
    demand = Demand(bins=64)
    demand.add(change, importance)
    budget = 0.25 * float(change.sum())
    best = solve(Pages.of(change, importance), Limits(budget)).visit_rate
    price = np.full_like(change, demand.price(budget))
    found = evenly()(change, importance, price)
    found *= budget / found.sum()
    assert importance @ freshness(change, found) > 0.999 * (importance @ freshness(change, best))


def test_pages_that_leave_are_counted_no_longer() -> None:
    change, importance = pages(100)
    demand, kept = Demand(), Demand()
    demand.add(change, importance)
    demand.add(change[:50], importance[:50], sign=-1)
    kept.add(change[50:], importance[50:])
    assert demand.wished_per_s(1e4) == pytest.approx(kept.wished_per_s(1e4))


def test_the_wishes_of_two_robots_add_up() -> None:
    change, importance = pages(100)
    whole, half, other = Demand(), Demand(), Demand()
    whole.add(change, importance)
    half.add(change[:50], importance[:50])
    other.add(change[50:], importance[50:])
    half.merge(other)
    assert half.price(1e-5) == pytest.approx(whole.price(1e-5))


def test_a_floor_is_paid_first() -> None:
    change, importance = pages()
    demand = Demand()
    demand.add(change, importance)
    budget, least = 0.25 * float(change.sum()), 1 / (60 * DAY_S)
    exact = solve(Pages.of(change, importance), Limits(budget, least=least)).price
    assert demand.price(budget, least_per_s=least) == pytest.approx(exact, rel=0.02)


def test_an_archive_that_wants_every_version_pays_fast_pages_too() -> None:
    change = np.array([10.0, 0.1]) / DAY_S
    demand = Demand(theta=1.0)
    demand.add(change, 1.0)
    price = np.full(2, demand.price(float(change.sum())))
    assert evenly(theta=1.0)(change, np.ones(2), price) == pytest.approx(change, rel=1e-2)


def test_with_no_wish_above_the_budget_visits_are_free() -> None:
    demand = Demand()
    demand.add([1 / DAY_S], 1.0)
    assert demand.price(1.0, most_per_s=1 / 3600) == 0
