from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.model import DAY_S
from joro.schedule.change import BINS, RATES_PER_S, Grid
from joro.schedule.optimum import gain_inverse
from joro.schedule.revisit import (
    POLICIES,
    WAITS_S,
    Revisiting,
    _crossing,
    _log_goal,
    _log_worth,
    _sought,
    fitted,
    intervals_s,
    visits_per_s,
)

#: One page for each rate, its rate known.
KNOWN: Grid = np.eye(BINS, dtype=np.float32)
WIDE = Revisiting(shortest_s=60.0, longest_s=1_000 * DAY_S)


def believed(seed: int, pages: int = 30) -> Grid:
    return np.random.default_rng(seed).dirichlet(np.full(BINS, 0.3), pages).astype(np.float32)


def test_a_page_whose_rate_is_known_waits_as_long_as_the_optimum_says() -> None:
    price = 2 * DAY_S
    exact = gain_inverse(price * RATES_PER_S) / RATES_PER_S
    within = (exact > WAITS_S[0]) & (exact < 0.9 * WAITS_S[-1])
    found = intervals_s(replace(WIDE, knob=price), KNOWN, 1.0)
    assert found[within] == pytest.approx(exact[within], rel=5e-3)


def test_a_page_too_fast_to_keep_waits_as_long_as_allowed() -> None:
    assert intervals_s(replace(WIDE, knob=DAY_S), KNOWN[-1:], 1.0)[0] == 1_000 * DAY_S


def test_a_page_given_up_is_looked_at_again_because_it_may_have_calmed_down() -> None:
    usual = KNOWN[10:11]
    waits = intervals_s(replace(WIDE, knob=DAY_S), KNOWN[-1:], 1.0, expected=usual)
    assert DAY_S < waits[0] < 400 * DAY_S


def test_an_important_page_waits_less() -> None:
    waits = intervals_s(replace(WIDE, knob=5 * DAY_S), KNOWN[[8, 8, 8]], [0.5, 1.0, 4.0])
    assert waits[0] > waits[1] > waits[2]


def test_a_page_that_does_not_matter_is_visited_as_seldom_as_possible() -> None:
    assert intervals_s(replace(WIDE, knob=DAY_S), KNOWN[8:9], 0.0)[0] == 1_000 * DAY_S


def test_doubt_between_slow_and_fast_shortens_the_wait() -> None:
    doubtful = 0.5 * KNOWN[6:7] + 0.5 * KNOWN[12:13]
    rule = replace(WIDE, knob=3 * DAY_S)
    assert intervals_s(rule, doubtful, 1.0)[0] < intervals_s(rule, KNOWN[6:7], 1.0)[0]


def test_interval_waits_for_one_change() -> None:
    rule = replace(WIDE, policy="interval", knob=1.0)
    assert intervals_s(rule, KNOWN[5:15], 1.0) == pytest.approx(1 / RATES_PER_S[5:15], rel=1e-4)


def test_an_archive_that_wants_every_version_visits_in_proportion_to_change() -> None:
    rule = replace(WIDE, theta=1.0, knob=0.5)
    expected = 1.67835 / RATES_PER_S[8:16]  # g(x) = ½
    assert intervals_s(rule, KNOWN[8:16], 1.0) == pytest.approx(expected, rel=5e-3)


def test_uniform_treats_all_alike() -> None:
    rule = fitted(replace(WIDE, policy="uniform"), believed(1), 1.0, 30 / DAY_S)
    assert intervals_s(rule, believed(1), 1.0) == pytest.approx(np.full(30, DAY_S))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("visits_per_day", [0.5, 3.0, 20.0])
def test_every_policy_fits_its_budget(policy: str, visits_per_day: float) -> None:
    pages, importance = believed(2), np.linspace(0.2, 5, 30)
    rule = fitted(replace(WIDE, policy=policy), pages, importance, visits_per_day / DAY_S)
    assert visits_per_s(rule, pages, importance).sum() * DAY_S == pytest.approx(visits_per_day, rel=1e-3)


def test_a_budget_below_the_floor_ends_at_the_floor() -> None:
    rule = fitted(replace(WIDE, longest_s=DAY_S), believed(3), 1.0, 1 / DAY_S)
    assert intervals_s(rule, believed(3), 1.0) == pytest.approx(np.full(30, DAY_S), rel=1e-6)


def test_gamma_draws_another_moment_for_another_number() -> None:
    rule = replace(WIDE, policy="gamma", knob=DAY_S)
    soon, late = (intervals_s(rule, KNOWN[8:9], 1.0, draws=draw)[0] for draw in (0.1, 0.9))
    assert soon < late


@pytest.mark.parametrize("days", [10, 30, 45, 55])
def test_gamma_keeps_its_budget_where_many_draws_are_longer_than_allowed(days: int) -> None:
    pages, chance = KNOWN[2:16].repeat(100, axis=0), np.random.default_rng(3)
    budget = len(pages) / (days * DAY_S)
    rule = Revisiting("gamma", longest_s=60 * DAY_S)
    rule = fitted(rule, pages, 1.0, budget)
    waits = [intervals_s(rule, pages, 1.0, draws=chance.random(len(pages))) for _ in range(50)]
    assert (1 / np.mean(waits, axis=0)).sum() / budget == pytest.approx(1.0, abs=0.02)


def test_pages_whose_servers_tell_wait_longer_at_the_same_price() -> None:
    rule = replace(WIDE, knob=3 * DAY_S)
    silent, told = intervals_s(rule, KNOWN[[9, 9]], 1.0, quality=np.array([0, 6]))
    assert told > 1.5 * silent


def test_visits_that_signals_bring_forward_are_counted() -> None:
    rule, quality = replace(WIDE, knob=3 * DAY_S), np.array([6])
    wait = intervals_s(rule, KNOWN[9:10], 1.0, quality=quality)
    assert visits_per_s(rule, KNOWN[9:10], 1.0, quality=quality)[0] > 1.05 / wait[0]


@given(st.integers(0, 999), st.sampled_from(POLICIES), st.floats(1e-3, 1e8))
def test_no_page_waits_shorter_or_longer_than_allowed(seed: int, policy: str, knob: float) -> None:
    rule = Revisiting(policy, knob, shortest_s=3_600, longest_s=60 * DAY_S)
    waits = intervals_s(rule, believed(seed), 1.0, draws=np.random.default_rng(seed).random(30))
    assert np.all((waits >= 3_600) & (waits <= 60 * DAY_S))


@given(st.integers(0, 999), st.floats(1e3, 1e6))
def test_one_page_waits_as_it_does_among_many(seed: int, price: float) -> None:
    many = intervals_s(replace(WIDE, knob=price), believed(seed), 1.0)
    one = intervals_s(replace(WIDE, knob=price), believed(seed)[7:8], 1.0)
    assert one[0] == pytest.approx(many[7], rel=1e-3)


@given(st.integers(0, 999), st.floats(1e2, 1e7), st.booleans())
def test_a_wait_looked_for_is_the_one_a_table_of_all_waits_gives(
    seed: int, knob: float, drifts: bool
) -> None:
    chances = believed(seed)
    rule = replace(WIDE, knob=knob)
    expected = believed(seed + 1) if drifts else None
    weight = np.random.default_rng(seed).lognormal(0, 1, len(chances))
    table = _crossing(_log_worth(rule, chances, expected, None), _log_goal(rule, weight))
    assert _sought(rule, chances, expected, weight) == pytest.approx(table, rel=1e-3)


def test_however_cheap_visits_are_no_page_has_more_than_so_many_for_each_change() -> None:
    rule = replace(WIDE, knob=1e-18, most_per_change=10.0)
    waits = intervals_s(rule, KNOWN, 1.0)
    assert waits == pytest.approx(np.clip(0.1 / RATES_PER_S, 60.0, 1_000 * DAY_S), rel=1e-6)


def test_a_page_that_may_be_fast_is_looked_at_as_one() -> None:
    unsure = 0.5 * (KNOWN[[5]] + KNOWN[[-5]]).astype(np.float32)
    rule = replace(WIDE, knob=1e-18, most_per_change=10.0)
    assert intervals_s(rule, unsure, 1.0)[0] < 2.1 * intervals_s(rule, KNOWN[[-5]], 1.0)[0]


def test_a_budget_that_no_change_justifies_is_not_spent() -> None:
    pages = KNOWN[5:20]
    limited = replace(WIDE, most_per_change=10.0)
    useful = 10.0 * RATES_PER_S[5:20].sum()
    rich = fitted(limited, pages, 1.0, 100 * useful)
    assert visits_per_s(rich, pages, 1.0).sum() == pytest.approx(useful, rel=1e-3)
    poor = fitted(limited, pages, 1.0, 0.05 * useful)
    assert visits_per_s(poor, pages, 1.0).sum() == pytest.approx(0.05 * useful, rel=1e-3)
