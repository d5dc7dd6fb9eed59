from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.errors import UsageError
from joro.redistribute.cron import Cron


def after(line: str, moment: str, zone: str = "UTC") -> str:
    start = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    return datetime.fromtimestamp(Cron.parse(line, zone).next(start), UTC).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("line", "moment", "comes"),
    [
        ("30 3 * * *", "2026-11-16 03:29:59", "2026-11-16 03:30"),
        ("30 3 * * *", "2026-11-16 03:30", "2026-11-17 03:30"),  # that moment has come: the next one
        ("*/15 8-18 * * mon-fri", "2026-11-13 18:50", "2026-11-16 08:00"),  # over a weekend
        ("5/20 * * * *", "2026-11-16 00:26", "2026-11-16 00:45"),
        ("0 4 1,15 * *", "2026-11-16 00:00", "2026-12-01 04:00"),
        ("0 4 1,15 * sun", "2026-11-16 00:00", "2026-11-22 04:00"),  # either of the days is enough
        ("0 0 */2 * mon", "2026-11-16 01:00", "2026-11-23 00:00"),  # a star first: both are wanted
        ("0 0 29 feb *", "2026-11-16 00:00", "2028-02-29 00:00"),
        ("0 0 31 1-12 *", "2026-11-16 00:00", "2026-12-31 00:00"),
        ("0 0 * * 7", "2026-11-16 00:00", "2026-11-22 00:00"),
        ("@weekly", "2026-11-16 00:00", "2026-11-22 00:00"),
        ("59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"),
    ],
)
def test_the_next_time_is_the_one_crontab_means(line: str, moment: str, comes: str) -> None:
    assert after(line, moment) == comes


def test_times_are_those_of_a_zone_if_one_is_given() -> None:
    assert after("30 3 * * *", "2026-11-16 00:00", "Asia/Tokyo") == "2026-11-16 18:30"
    assert after("30 3 * * *", "2026-11-16 18:30", "Asia/Tokyo") == "2026-11-17 18:30"


def test_an_hour_that_summer_time_leaves_out_does_not_come() -> None:
    assert after("30 2 * * *", "2026-03-28 12:00", "Europe/Berlin") == "2026-03-30 00:30"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("30 3 * *", "4 fields"),
        ("60 3 * * *", "'60' is no minute"),
        ("0 24 * * *", "'24' is no hour"),
        ("0 0 0 * *", "'0' is no day"),
        ("0 0 * foo *", "'foo' is no month"),
        ("0 0 * * mon-", "'' is no weekday"),
        ("9-5 * * * *", "ends before it begins"),
        ("*/0 * * * *", "'0' is no step"),
        ("0 0 30 2 *", "never comes"),
        ("², * * * *", "'²' is no minute"),
    ],
)
def test_what_is_wrong_with_a_line_is_named(line: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Cron.parse(line)


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(UsageError, match="Asia/Nowhere"):
        Cron.parse("0 0 * * *", "Asia/Nowhere")


FIELDS = st.sampled_from(["*", "0", "7", "3-20", "*/7", "1,5,9", "2-22/5"])


@given(
    FIELDS,
    FIELDS,
    st.sampled_from(["*", "1", "16,17", "*/3"]),
    st.sampled_from(["*", "0", "1-5"]),
    st.integers(0, 5_000),
)
def test_no_minute_that_fits_is_passed_over(
    minute: str, hour: str, day: str, weekday: str, start: int
) -> None:
    cron = Cron.parse(f"{minute} {hour} {day} * {weekday}")
    begin = datetime(2026, 11, 16, tzinfo=UTC) + timedelta(minutes=start)
    comes = cron.next(begin.timestamp())
    plain = begin + timedelta(minutes=1)
    while not fits(cron, plain):
        plain += timedelta(minutes=1)
    assert comes == plain.timestamp()


def fits(cron: Cron, moment: datetime) -> bool:
    by_date, by_weekday = moment.day in cron.days, moment.isoweekday() % 7 in cron.weekdays
    day = (by_date or by_weekday) if cron.either else (by_date and by_weekday)
    return moment.minute in cron.minutes and moment.hour in cron.hours and day
