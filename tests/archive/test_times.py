import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.archive.times import microsecond, stamp, time_of, time_of_stamp, time_typed, warc_date
from joro.errors import UsageError


def test_a_moment_is_spelled_with_its_microseconds() -> None:
    date = warc_date(1_700_000_000.25)
    assert (date, stamp(date)) == ("2023-11-14T22:13:20.250000Z", "20231114221320")


@given(micros=st.integers(0, 4_000_000_000_000_000))
def test_both_spellings_lead_back_to_the_moment(micros: int) -> None:
    time = micros / 1e6
    date = warc_date(time)
    assert time_of(date) == time == time_of_stamp(stamp(date), microsecond(date))


@pytest.mark.parametrize(
    "date", ["2023", "2023-01", "2023-01-01", "2023-01-01T00:00:00Z", "2023-01-01T09:00+09:00"]
)
def test_any_date_warc_allows_is_understood(date: str) -> None:
    assert time_of(date) == 1_672_531_200.0


@pytest.mark.parametrize("digits", ["2023", "202301", "20230101", "2023010100", "20230101000000"])
def test_a_stamp_may_be_cut_short(digits: str) -> None:
    assert time_of_stamp(digits) == 1_672_531_200.0


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00"])
def test_a_time_that_no_date_of_utc_names_is_not_taken(text: str) -> None:
    with pytest.raises(UsageError, match=r"--since '.*' is not in the years 1 to 9999 of UTC"):
        time_typed(text, "--since")
    assert warc_date(time_typed(text[:19])).startswith(text[:19])


def test_a_moment_that_no_date_names_is_told_by_the_nearest() -> None:
    assert warc_date(-1e12) == warc_date(-1e308) == "0001-01-01T00:00:00.000000Z"
    assert warc_date(1e12) == warc_date(1e308) == "9999-12-31T23:59:59.999999Z"
