from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.select import alpha, gamma, interval_s, visits_per_s

DAY_S = 86_400.0
#: Of a chi-square variable with 19 degrees of freedom, exceeded once in ten thousand cases.
CHI_SQUARE_19 = 50.8


def test_gamma_is_as_in_s4() -> None:
    """α = .2 and a wait of one mean change interval: .2 + .8 × (1 − 1/e)."""
    assert gamma(0.2, 1 / DAY_S, DAY_S) == pytest.approx(0.7057, abs=1e-4)


def test_a_page_just_visited_is_selected_by_its_importance_alone() -> None:
    assert gamma([0.0, 0.3, 1.0], 1.0, 0.0).tolist() == [0.0, 0.3, 1.0]


def test_importance_raises_alpha_from_none_towards_certainty() -> None:
    assert alpha([0, 1, 2, 1e6], usual=0.05) == pytest.approx([0, 0.05, 0.0975, 1])


def test_pages_are_selected_as_often_as_gamma_says() -> None:
    """Chi-square over 20 kinds of page, 5,000 of each; the kinds differ in importance and in age."""
    chance = np.random.default_rng(11)
    kinds = gamma(
        np.repeat([0.0, 0.05, 0.2, 0.6], 5), 1 / (10 * DAY_S), np.tile([1, 3, 9, 27, 81], 4) * DAY_S
    )
    counts = (chance.random((5_000, 20)) < kinds).sum(axis=0)
    expected = 5_000 * kinds
    spread = ((counts - expected) ** 2 / (expected * (1 - kinds))).sum()
    assert spread < CHI_SQUARE_19


def test_a_biased_selection_would_be_noticed() -> None:
    chance = np.random.default_rng(11)
    kinds = gamma(0.05, 1 / (10 * DAY_S), np.geomspace(1, 81, 20) * DAY_S)
    counts = (chance.random((5_000, 20)) < 1.05 * kinds).sum(axis=0)
    assert ((counts - 5_000 * kinds) ** 2 / (5_000 * kinds * (1 - kinds))).sum() > CHI_SQUARE_19


def test_drawn_moments_fall_where_rounds_of_selection_would() -> None:
    """Chi-square over twenty equally likely spans of ∫γ: the moments are those of the hazard pace × γ."""
    chance = np.random.default_rng(5)
    share, rate, pace = 0.1, 1 / (5 * DAY_S), 1 / DAY_S
    moments = interval_s(np.full(20_000, share), rate, pace, chance.random(20_000))
    hazard = pace * (moments + (1 - share) * np.expm1(-rate * moments) / rate)
    counts = np.histogram(-np.expm1(-hazard), bins=20, range=(0, 1))[0]
    assert ((counts - 1_000) ** 2 / 1_000).sum() < CHI_SQUARE_19


def test_rounds_of_selection_give_the_same_mean_wait() -> None:
    chance, share, rate, pace = np.random.default_rng(3), 0.05, 1 / (5 * DAY_S), 1 / DAY_S
    waits, round_s = np.zeros(4_000), DAY_S / 24
    waiting = np.ones(4_000, bool)
    for number in range(24 * 80):
        waits[waiting] += round_s
        chances = gamma(share, rate, (number + 0.5) * round_s) * pace * round_s
        waiting &= ~(chance.random(4_000) < chances)
    assert waits.mean() == pytest.approx(1 / visits_per_s(share, rate, pace)[0], rel=0.05)


@given(st.floats(0, 1), st.floats(1e-9, 1e-2), st.floats(1e-7, 1e-2), st.floats(0, 0.999))
def test_the_moment_is_where_the_hazard_reaches_the_draw(
    a: float, rate: float, pace: float, draw: float
) -> None:
    moment = interval_s(a, rate, pace, [draw])[0]
    hazard = pace * (moment + (1 - a) * np.expm1(-rate * moment) / rate)
    assert hazard == pytest.approx(-np.log1p(-draw), rel=1e-4, abs=1e-6)
