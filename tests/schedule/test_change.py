from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joro.model import DAY_S
from joro.schedule import change
from joro.schedule.change import BINS, HISTORY, RATES_PER_S, STEP, Grid, Histories

EVEN = np.full((1, BINS), 1 / BINS, np.float32)


def watched(days: list[float], changed: list[bool], drift_per_s: float = 0.0) -> Histories:
    """The history of one page, visited after so many days each time."""
    history = change.blank()
    for day, was_changed in zip(days, changed, strict=True):
        likelihood = change.seen([day * DAY_S], [was_changed])
        history = change.observe(history, likelihood, EVEN, [day * DAY_S], [was_changed], drift_per_s)
    return history


def interval_days(history: Histories) -> float:
    return float(1 / change.rate_per_s(change.posterior(history, EVEN))[0] / DAY_S)


def exact(days: list[float], changed: list[bool]) -> Grid:
    """The plain twin: probabilities from the formula, in full precision; nothing is below e^-16."""
    chance = np.ones(BINS)
    for day, was_changed in zip(days, changed, strict=True):
        still = np.exp(-RATES_PER_S * day * DAY_S)
        chance *= 1 - still if was_changed else still
        chance = np.maximum(chance / chance.max(), np.exp(-255 * STEP))
    return np.asarray(chance / chance.sum(), dtype=np.float32)


def test_a_history_takes_36_bytes_and_comes_back_from_them() -> None:
    history = watched([1, 2], [True, False])
    stored = change.pack(history)
    assert len(stored[0]) == HISTORY.itemsize == 36
    assert change.unpack(stored) == history


def test_an_empty_record_is_a_blank_history() -> None:
    assert change.unpack([b""]) == change.blank()


def test_visits_and_the_time_before_them_are_counted() -> None:
    history = watched([1, 2, 4], [True, False, True])
    assert history[["visits", "changes"]].tolist() == [(3, 2)]
    assert history["changed_s"] == 5 * DAY_S


@pytest.mark.parametrize(("stored", "quality"), [(0.0, 0), (-6.0, 6), (2 * DAY_S, 0)])
def test_a_history_says_how_well_its_server_tells_and_an_older_one_nothing(
    stored: float, quality: int
) -> None:
    history = watched([1.0], [True])
    history["told"] = stored
    assert change.telling(change.unpack(change.pack(history))).tolist() == [quality]


def test_a_page_changed_at_every_second_visit_changes_a_little_more_often_than_that() -> None:
    assert interval_days(watched([10] * 20, [True, False] * 10)) == pytest.approx(10 / np.log(2), rel=0.1)


@given(st.lists(st.tuples(st.floats(0.05, 200), st.booleans()), min_size=1, max_size=12))
@example([(92.0, False), (128.0, False), (24.0, False), (1.0, True), (0.25, True)])
def test_24_bytes_hold_what_the_visits_say(visits: list[tuple[float, bool]]) -> None:
    days, changed = [day for day, _ in visits], [was for _, was in visits]
    stored = change.posterior(watched(days, changed), EVEN)[0]
    truth = exact(days, changed)
    assert np.abs(stored - truth).sum() < 0.2


def test_a_visit_that_says_little_is_not_rounded_away() -> None:
    """A thousand daily visits to a page that changes once a year: each says less than a stored step."""
    changed = [day % 365 == 364 for day in range(1_095)]
    assert interval_days(watched([1.0] * 1_095, changed)) == pytest.approx(365, rel=0.35)


def test_a_page_that_becomes_slower_is_learned_anew() -> None:
    fast = watched([1.0] * 60, [True] * 60, change.DRIFT_PER_S)
    assert interval_days(fast) < 0.5
    slow = fast
    for number in range(20):
        was_changed = number % 5 == 0
        likelihood = change.seen([6 * DAY_S], [was_changed])
        slow = change.observe(slow, likelihood, EVEN, [6 * DAY_S], [was_changed])
    assert 20 < interval_days(slow) < 45  # the likeliest interval is 27 days


def test_what_is_known_fades_into_what_is_expected() -> None:
    known = watched([1.0] * 30, [True] * 30)
    likelihood = np.zeros((1, BINS), np.float32)
    faded = change.observe(known, likelihood, EVEN, [1e9 * DAY_S], [True])
    assert change.posterior(faded, EVEN)[0] == pytest.approx(np.full(BINS, 1 / BINS), abs=0.01)


def test_a_trusted_date_tells_more_than_a_change_alone() -> None:
    month = 30 * DAY_S
    alone = change.posterior(watched([30], [True]), EVEN)
    dated = change.observe(
        change.blank(), change.dated([month], [True], [20 * DAY_S], 1.0), EVEN, [month], [True], 0.0
    )
    sharper = change.posterior(dated, EVEN)
    assert sharper.max() > 1.5 * alone.max()
    # Rates are as likely as a stretch of 20 days without a change makes them; E[λ^−¼] of that is Γ(¾) 20^¼.
    assert 1 / change.rate_per_s(sharper)[0] / DAY_S == pytest.approx(20 * math.gamma(0.75) ** 4, rel=0.05)


def test_a_date_nobody_trusts_is_only_a_change() -> None:
    nobody, plain = change.dated([DAY_S], [True], [60.0], 0.0), change.seen([DAY_S], [True])
    assert nobody == pytest.approx(plain, abs=1e-4)


def test_a_trusted_date_of_a_first_visit_tells_how_fast_a_page_is() -> None:
    estimate = 1 / change.rate_per_s(change.posterior(change.begun([20 * DAY_S, DAY_S], 1.0), EVEN)) / DAY_S
    usual = math.gamma(0.75) ** 4  # E[λ^−¼] of λ e^−λa, as above
    assert estimate == pytest.approx([20 * usual, usual], rel=0.05)


@pytest.mark.parametrize("age_s", [0.0, 1.0, DAY_S, 25 * 365 * DAY_S])
def test_a_date_half_trusted_makes_no_rate_more_than_twice_as_likely(age_s: float) -> None:
    assert np.ptp(change.stood([age_s], 0.5)) <= math.log(2) + 1e-6
    assert np.ptp(change.stood([age_s], 0.0)) == 0.0


def test_a_history_that_a_date_began_has_seen_nothing_yet() -> None:
    (stored,) = change.pack(change.begun([DAY_S], 0.9))
    assert not change.is_watched(stored)
    assert not change.is_watched(b"")
    assert change.is_watched(change.pack(watched([1], [False]))[0])


def test_many_pages_are_learned_as_one_is() -> None:
    both = change.blank(2)
    for was in ([True, False], [True, True], [False, False]):
        both = change.observe(both, change.seen([DAY_S] * 2, was), EVEN, [DAY_S] * 2, was, 0.0)
    assert both[1:] == watched([1, 1, 1], [False, True, False])


def test_counters_stop_before_they_wrap() -> None:
    history = change.blank()
    history["visits"] = history["changes"] = 65_535
    after = change.observe(history, change.seen([1.0], [True]), EVEN, [1.0], [True])
    assert after[["visits", "changes"]].tolist() == [(65_535, 65_535)]
