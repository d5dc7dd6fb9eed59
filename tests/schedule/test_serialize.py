from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.serialize import (
    access_interval_s,
    complete_periods,
    deadline_s,
    load_per_s,
    missed_between,
    period_at,
    ready_as_printed_s,
    ready_by_completion_s,
    ready_s,
)

DAY_S = 86_400.0
intervals = st.floats(1e-3, 1e7)
moments = st.floats(0.0, 2e9)


def test_rates_of_pages_add_up_to_the_load_of_their_server() -> None:
    load = load_per_s([DAY_S, DAY_S, 2 * DAY_S])
    assert access_interval_s(load, minimum_s=1.0) == pytest.approx(34_560)


def test_politeness_wins_over_freshness() -> None:
    assert access_interval_s(load_per_s([1.0, 1.0]), minimum_s=10.0) == 10.0


def test_a_server_without_pages_is_never_due() -> None:
    assert access_interval_s(0.0, minimum_s=1.0) == math.inf
    assert deadline_s(25.0, math.inf, 1.5) == math.inf


@pytest.mark.parametrize(("waiting_since_s", "deadline"), [(25.0, 28.5), (30.0, 38.5)])
def test_the_deadline_is_one_mean_download_before_the_period_ends(
    waiting_since_s: float, deadline: float
) -> None:
    assert deadline_s(waiting_since_s, interval_s=10.0, mean_s=1.5) == deadline


def test_a_server_is_ready_when_the_period_of_the_start_is_over() -> None:
    assert ready_s(26.5, period=2, interval_s=10.0, minimum_s=1.0) == 30.0


def test_a_download_that_runs_over_the_end_of_its_period_costs_no_further_one() -> None:
    assert ready_s(31.0, period=2, interval_s=10.0, minimum_s=1.0) == 32.0
    assert ready_by_completion_s(31.0, interval_s=10.0, minimum_s=1.0) == 40.0


def test_equation_6_as_printed_waits_for_the_minimum_only() -> None:
    assert ready_as_printed_s(26.5, interval_s=10.0, minimum_s=1.0) == 27.5


def test_periods_may_begin_anywhere() -> None:
    assert [period_at(moment, 10.0, phase_s=3.0) for moment in (2.9, 3.0, 12.9, 13.0)] == [-1, 0, 0, 1]
    assert ready_s(14.0, period=1, interval_s=10.0, minimum_s=1.0, phase_s=3.0) == 23.0


def test_a_division_alone_would_name_the_wrong_period() -> None:
    assert math.floor((43 * 0.1) / 0.1) == 42
    assert all(period_at(number * 0.1, 0.1) == number for number in range(10_000))


@given(moments, intervals, st.floats(0.0, 1e6))
def test_a_moment_lies_in_its_period(moment: float, interval_s: float, phase_s: float) -> None:
    number = period_at(moment, interval_s, phase_s)
    assert phase_s + number * interval_s <= moment < phase_s + (number + 1) * interval_s


@given(st.integers(0, 10**9), st.floats(1e-2, 1e7), st.floats(0.0, 100.0), st.floats(0.0, 60.0))
def test_a_period_never_sees_two_starts(
    number: int, interval_s: float, elapsed_s: float, minimum_s: float
) -> None:
    started = number * interval_s
    again = ready_s(started + elapsed_s, period_at(started, interval_s), interval_s, minimum_s)
    assert period_at(again, interval_s) > period_at(started, interval_s)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=50))
def test_missed_and_made_periods_add_up(gaps: list[int]) -> None:
    last, missed = -1, 0
    for gap in gaps:
        period = last + 1 + gap
        missed += missed_between(last, period)
        last = period
    assert missed + len(gaps) == last + 1


def test_only_periods_that_are_over_can_have_been_missed() -> None:
    assert complete_periods(99.0, 10.0) == 9
    assert complete_periods(100.0, 10.0) == 10
    assert complete_periods(100.0, 10.0, phase_s=5.0) == 9
    assert complete_periods(3.0, 10.0, phase_s=5.0) == 0
    assert missed_between(11, 10) == 0
