from __future__ import annotations

import contextlib
import datetime
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.errors import ConfigError
from joro.fetch.window import Window

PAPER = "weekdays 02:00–08:00, weekends 02:00–22:00 Asia/Tokyo"
ZONES = ["UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]


def at(text: str, zone: str = "UTC", fold: int = 0) -> float:
    local = datetime.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone), fold=fold)
    return local.timestamp()


def test_the_hours_of_the_paper() -> None:
    window = Window.parse(PAPER)
    tuesday = [at(f"2026-11-17 {time}", "Asia/Tokyo") for time in ("01:59:59", "02:00", "07:59:59", "08:00")]
    saturday = [at(f"2026-11-21 {time}", "Asia/Tokyo") for time in ("01:59", "08:00", "21:59:59", "22:00")]
    assert [window.is_open(moment) for moment in tuesday] == [False, True, True, False]
    assert [window.is_open(moment) for moment in saturday] == [False, True, True, False]


def test_closed_on_friday_at_eight_it_opens_on_saturday_at_two() -> None:
    friday, saturday = at("2026-11-20 08:00", "Asia/Tokyo"), at("2026-11-21 02:00", "Asia/Tokyo")
    assert Window.parse(PAPER).next_open(friday) == saturday


def test_an_open_window_opens_now() -> None:
    assert Window.parse("daily 00:00-24:00").next_open(1234.5) == 1234.5


def test_a_range_over_midnight_belongs_to_the_day_it_begins_on() -> None:
    window = Window.parse("fri 22:00-06:00")
    assert [window.is_open(at(f"2026-11-{day} 05:59")) for day in (20, 21, 22)] == [False, True, False]


def test_days_may_be_lists_and_go_over_the_weekend() -> None:
    window = Window.parse("sat-mon wednesday 01:00-02:00 03:00-04:00")
    days = range(16, 23)  # Monday to Sunday
    assert [day for day in days if window.is_open(at(f"2026-11-{day} 03:30"))] == [16, 18, 21, 22]


def test_an_hour_that_spring_skips_opens_nothing() -> None:
    window = Window.parse("daily 02:00-03:00 Europe/Berlin")
    before = at("2027-03-27 03:00", "Europe/Berlin")
    assert window.next_open(before) == at("2027-03-29 02:00", "Europe/Berlin")


def test_a_range_that_begins_in_the_skipped_hour_opens_when_the_clock_was_moved() -> None:
    window = Window.parse("sun 02:30-05:00 Europe/Berlin")
    opened = window.next_open(at("2027-03-27 12:00", "Europe/Berlin"))
    assert opened == at("2027-03-28 01:00", "UTC") == at("2027-03-28 03:00", "Europe/Berlin")


def test_an_hour_that_autumn_repeats_is_open_twice() -> None:
    window = Window.parse("daily 02:00-02:30 Europe/Berlin")
    assert window.next_open(at("2026-10-25 02:30", "Europe/Berlin")) == at(
        "2026-10-25 02:00", "Europe/Berlin", fold=1
    )


def test_a_clock_set_back_into_a_range_opens_it_again() -> None:
    window = Window.parse("sun 01:30-02:30 Europe/Berlin")
    closed = at("2026-10-25 02:45", "Europe/Berlin")
    assert window.next_open(closed) == at("2026-10-25 02:00", "Europe/Berlin", fold=1)


times = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda time: "{:02}:{:02}".format(*time))
days = st.sampled_from(["daily", "weekdays", "weekends", "mon", "sun", "wed-fri", "sat-tue"])
windows = st.builds(
    "{} {}-{}, {} {}-{} {}".format, days, times, times, days, times, times, st.sampled_from(ZONES)
)


@given(windows, st.floats(0.0, 4e9))
def test_the_next_opening_is_open_not_earlier_and_within_a_week_or_two(text: str, now: float) -> None:
    window = Window.parse(text)
    opened = window.next_open(now)
    assert now <= opened <= now + 15 * 86_400
    assert window.is_open(opened)


@given(windows, st.floats(1.7e9, 1.9e9), st.lists(st.floats(0, 1), max_size=20))
def test_nothing_is_open_before_the_next_opening(text: str, now: float, shares: list[float]) -> None:
    window = Window.parse(text)
    opened = window.next_open(now)
    assert Window.parse(text).next_open(now) == window.next_open(now) == opened
    between = (now + (opened - now) * share for share in shares)
    assert not any(window.is_open(moment) for moment in between if moment < opened)


@pytest.mark.parametrize("zone", ZONES)
def test_quarter_by_quarter_the_next_opening_is_the_first(zone: str) -> None:
    window = Window.parse(f"sun 01:30-02:30, sat 02:30-03:00 {zone}")
    for start in (at("2026-10-24 00:00"), at("2027-03-27 00:00"), at("2026-10-03 00:00")):
        expected = None
        for moment in range(int(start) + 3 * 86_400, int(start), -900):
            expected = moment if window.is_open(moment) else expected
            if expected is not None:
                assert window.next_open(moment) == expected


@pytest.mark.parametrize(
    ("hours", "every_s", "a_week"),
    [
        ("daily 00:00-24:00", 60, 7 * 1440),
        ("daily 02:00-03:00", 60, 7 * 60),
        ("daily 02:00-03:00", 7_200, 7),
        ("weekdays 02:00-03:00 02:30-03:30", 60, 5 * 90),
        ("daily 23:00-01:00", 3_000, 7 * 3),
        ("sun 23:00-02:00", 7_200, 2),
    ],
)
def test_visits_of_a_week_are_those_that_begin_while_it_is_open(
    hours: str, every_s: float, a_week: int
) -> None:
    assert Window.parse(hours).mean_s(every_s) == pytest.approx(7 * 86_400 / a_week)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no hours"),
        ("02:00-08:00", "has '02:00-08:00', which is not days and hours"),
        ("weekdays 02:00-08:00 Mars/Olympus", "ends in 'Mars/Olympus', which is no time zone known here"),
        ("weekdays 02:00-08:00 Asia", "ends in 'Asia', which is no time zone known here"),
        ("someday 02:00-08:00", "has 'someday', which is no day"),
        ("daily 02:00-25:00", "has '02:00-25:00', which are no times of the day"),
        ("daily 02:60-03:00", "has '02:60-03:00', which are no times of the day"),
    ],
)
def test_a_mistake_is_named_with_the_remedy(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Window.parse(text)
    assert str(caught.value).startswith(f"the window {text!r} {said}; write it like ")


@given(st.text())
def test_any_text_is_a_window_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(Window.parse(text), Window)
