"""Servers whose dates are right are believed, the others are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.discover.trust import MEMORY, Trust, is_announced

DAY_S = 86_400.0


def booked(*compared: tuple[bool, bool], times: int = 1) -> Trust:
    trust = Trust()
    for announced, changed in compared * times:
        trust.book(announced=announced, changed=changed, elapsed_s=DAY_S)
    return trust


def test_dates_that_are_right_five_times_are_good() -> None:
    assert not booked((True, True), times=4).is_good
    assert booked((True, True), times=5).is_good


def test_silence_proves_nothing() -> None:
    assert not booked((False, False), times=100).is_good
    assert not booked((False, False), times=100).is_broken


def test_a_server_that_always_says_changed_is_broken() -> None:
    always = booked((True, False), (True, False), (True, False), (True, False), (True, True), times=4)
    assert always.is_broken
    assert not always.is_good


def test_a_server_that_tells_few_of_its_changes_is_neither() -> None:
    shy = booked((True, True), (False, True), (False, True), times=5)
    assert not shy.is_good
    assert not shy.is_broken


def test_recall_precision_and_noise_are_counted() -> None:
    trust = booked((True, True), (True, True), (True, False), (False, True), times=25)
    assert trust.recall == pytest.approx(2 / 3, abs=0.02)
    assert trust.precision == pytest.approx(2 / 3, abs=0.02)
    assert trust.false_per_s == pytest.approx(0.25 / DAY_S)


def test_a_server_that_mends_its_ways_is_forgiven() -> None:
    trust = booked((True, False), times=200)
    assert trust.is_broken
    for _ in range(600):
        trust.book(announced=True, changed=True, elapsed_s=DAY_S)
    assert trust.is_good


def test_a_bare_date_may_mean_any_hour_of_its_day() -> None:
    assert is_announced(1_000.0, 0.0, visited_at=999.0)
    assert not is_announced(1_000.0, 0.0, visited_at=1_000.0)
    assert is_announced(0.0, DAY_S, visited_at=DAY_S / 2)
    assert not is_announced(None, 0.0, visited_at=0.0)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(-1, 1e9))))
def test_shares_are_shares_and_memory_is_bounded(compared: list[tuple[bool, bool, float]]) -> None:
    trust = Trust()
    for announced, changed, elapsed_s in compared:
        trust.book(announced=announced, changed=changed, elapsed_s=elapsed_s)
    assert 0 < trust.precision < 1
    assert 0 < trust.recall < 1
    assert trust.comparisons <= MEMORY + 1
    assert not (trust.is_good and trust.is_broken)
