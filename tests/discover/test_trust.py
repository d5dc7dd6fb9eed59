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
    assert not booked((True, True), (False, False), times=2).is_good
    assert booked((True, True), (False, False), times=3).is_good


def test_silence_alone_proves_nothing_nor_does_alarm() -> None:
    for compared in ((False, False), (True, True)):
        trust = booked(compared, times=100)
        assert not trust.is_broken
        assert not (trust.is_good and compared == (True, True))


@pytest.mark.parametrize("changed_of_ten", [1, 5, 9])
def test_a_server_that_always_says_changed_is_broken_however_often_it_is_right(changed_of_ten: int) -> None:
    always = booked(*((True, n < changed_of_ten) for n in range(10)), times=6)
    assert always.is_broken
    assert not always.is_good


def test_a_server_that_tells_few_of_its_changes_is_neither() -> None:
    shy = booked((True, True), (False, True), (False, True), (False, False), times=5)
    assert not shy.is_good
    assert not shy.is_broken


def test_recall_false_alarm_and_noise_are_counted() -> None:
    trust = booked((True, True), (True, True), (True, False), (False, True), (False, False), times=20)
    assert trust.recall == pytest.approx(2 / 3, abs=0.02)
    assert trust.false_alarm == pytest.approx(1 / 2, abs=0.02)
    assert trust.false_per_s == pytest.approx(0.2 / DAY_S)


def test_a_server_that_mends_its_ways_is_forgiven() -> None:
    trust = booked((True, False), times=200)
    assert trust.is_broken
    for turn in range(900):
        trust.book(announced=turn % 2 == 0, changed=turn % 2 == 0, elapsed_s=DAY_S)
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
    assert 0 < trust.false_alarm < 1
    assert 0 < trust.recall < 1
    assert trust.comparisons <= MEMORY + 1
    assert not (trust.is_good and trust.is_broken)
