from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.schedule.late import Waiting, came, left, missed

HOUR, START = 3_600.0, 1.7e9
INTERVALS = st.floats(60.0, 1e7)
PAGES = st.lists(st.tuples(INTERVALS, st.floats(START - 1e7, START)), max_size=30)


def as_wished(interval_s: float) -> float:
    return interval_s


def waiting(*pages: tuple[float, float]) -> Waiting:
    made: Waiting = {}
    for interval_s, date in pages:
        came(made, interval_s, date)
    return made


@pytest.mark.parametrize(("hours", "visits"), [(0.0, 0), (0.9, 0), (1.0, 1), (10.0, 10), (1_110.0, 1_110)])
def test_a_page_that_waits_misses_a_visit_in_every_interval(hours: float, visits: int) -> None:
    assert missed(waiting((HOUR, START)), START + hours * HOUR, as_wished) == visits


def test_many_that_hardly_wait_miss_nothing_and_do_not_hide_one_that_does() -> None:
    patient = [(30 * 24 * HOUR, START)] * 999
    assert missed(waiting(*patient, (HOUR, START)), START + 24 * HOUR, as_wished) == 24


def test_intervals_that_are_kept_longer_are_missed_less_often() -> None:
    assert missed(waiting((HOUR, START)), START + 24 * HOUR, lambda wished_s: 12 * wished_s) == 2


def test_pages_called_before_their_date_have_missed_nothing() -> None:
    assert missed(waiting((HOUR, START + 5 * HOUR)), START, as_wished) == 0


def test_pages_without_an_interval_do_not_count() -> None:
    assert waiting((0.0, START)) == {}


@given(PAGES, PAGES)
def test_who_has_left_does_not_count_any_more(
    stay: list[tuple[float, float]], go: list[tuple[float, float]]
) -> None:
    here = waiting(*stay, *go)
    for page in go:
        left(here, *page)
    alone = waiting(*stay)
    assert here.keys() == alone.keys()
    for octave, (pages, rate_per_s, dates) in alone.items():
        assert here[octave][0] == pages
        assert here[octave][1:] == pytest.approx((rate_per_s, dates), rel=1e-6)
