"""Dates are read in every form that feeds and sitemaps write them in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.parse.dates import EARLIEST, is_day, moment

#: 2026-11-16T08:00:10Z
EIGHT = 1_794_816_010.0
MIDNIGHT = 1_794_787_200.0


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("2026", 1_767_225_600.0),
        ("2026-11", 1_793_491_200.0),
        ("2026-11-16", MIDNIGHT),
        ("20261116", MIDNIGHT),
        ("2026-11-16T08:00Z", EIGHT - 10),
        ("2026-11-16T08:00:10Z", EIGHT),
        ("2026-11-16T08:00:10.25Z", EIGHT + 0.25),
        ("2026-11-16T17:00:10+09:00", EIGHT),
        ("2026-11-16T17:00:10+0900", EIGHT),
        ("2026-11-16T08:00:10", EIGHT),
        (" 2026-11-16 08:00:10 UTC\n", EIGHT),
        ("2026-11-16T24:00:00Z", MIDNIGHT + 86_400),
        ("2026/11/16 8:00:10", EIGHT),
    ],
)
def test_w3c_dates_from_a_year_to_a_fraction(written: str, time: float) -> None:
    assert moment(written) == time


@pytest.mark.parametrize(
    "written",
    [
        "Mon, 16 Nov 2026 08:00:10 GMT",
        "Mon, 16 Nov 2026 08:00:10 +0000",
        "Mon, 16 Nov 2026 17:00:10 JST",
        "Mon, 16 Nov 2026 03:00:10 EST",
        "Mon, 16 Nov 2026 17:00:10 GMT+0900",
        "Mon, 16 Nov 2026 08:00:10 QQQ",
        "16 Nov 26 08:00:10",
        "Monday, 16-Nov-26 08:00:10 UTC",
        "16 November 2026, 8:00:10 AM",
        "月, 16 Nov 2026 17:00:10 +0900",
        "Mon Nov 16 08:00:10 2026",
        "Mon Nov 16 17:00:10 JST 2026",
        "November 16, 2026 08:00:10",
        "Nov 16, 2026 at 08:00:10 AM",
        "1794816010",
        "1794816010123",
    ],
)
def test_rfc_822_and_its_accidents(written: str) -> None:
    assert moment(written) == EIGHT


@pytest.mark.parametrize(
    "written",
    ["", "soon", "0001-01-01T00:00:00Z", "1970-01-01", "2026-02-31", "31 Feb 2026", "16 Foo 2026", "99:99"],
)
def test_what_is_no_date_is_none(written: str) -> None:
    assert moment(written) is None


def test_only_a_bare_date_is_a_day() -> None:
    assert [is_day(date) for date in ("2026-11-16", "20261116", "2026-11", "1794816010")] == [
        True,
        True,
        False,
        False,
    ]


@given(st.text(max_size=80) | st.from_regex(r"\A[0-9A-Za-z:,.+ -]{0,70}\Z"))
def test_no_text_is_too_strange(written: str) -> None:
    time = moment(written)
    assert time is None or time >= EARLIEST


@given(st.datetimes())
def test_every_moment_since_1990_reads_back(when: object) -> None:
    time = moment(f"{when}Z")
    assert (time is None) == (str(when) < "1990")
