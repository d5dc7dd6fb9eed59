"""When was a page captured, and when had it changed?

In:    the captures of a page, oldest first.
Out:   its versions, each new, changed or identical; how many a year has; a year as months, weeks and days.
Never: looks at a clock, or at what a capture says: a payload with another digest is another version.
"""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from joro.archive.cdx import REVISIT
from joro.model import Capture
from joro.portal.address import moment, stamp_of

Kind = Literal["new", "changed", "identical"]


@dataclass(frozen=True)
class Version:
    """A capture among the others of its page."""

    capture: Capture
    kind: Kind

    @property
    def stamp(self) -> str:
        return stamp_of(self.capture.time)

    @property
    def is_changed(self) -> bool:
        """Shows something that the capture before it does not."""
        return self.kind != "identical"


@dataclass(frozen=True)
class Day:
    """A day on the sheet of a month; one of the months beside it has the number 0."""

    number: int
    date: str  # "20261116"
    versions: Sequence[Version]

    @property
    def is_changed(self) -> bool:
        return any(version.is_changed for version in self.versions)


@dataclass(frozen=True)
class Month:
    name: str
    number: int
    weeks: Sequence[Sequence[Day]]
    count: int


def versions_of(captures: Sequence[Capture]) -> list[Version]:
    """Each capture with what is new about it."""
    found: list[Version] = []
    before = ""
    for capture in captures:
        is_same = capture.mime == REVISIT or capture.digest == before
        kind: Kind = ("identical" if is_same else "changed") if found else "new"
        found.append(Version(capture, kind))
        before = capture.digest
    return found


def years_of(versions: Sequence[Version]) -> dict[int, int]:
    """How many versions each year has, the newest year first."""
    counts = Counter(moment(version.capture.time).year for version in versions)
    return dict(sorted(counts.items(), reverse=True))


def months_of(year: int, versions: Sequence[Version]) -> Iterator[Month]:
    """The twelve sheets of a year; weeks begin on Monday."""
    by_day: dict[date, list[Version]] = {}
    for version in versions:
        by_day.setdefault(moment(version.capture.time).date(), []).append(version)
    for number in range(1, 13):
        weeks = [
            [_day(year, number, day, by_day) for day in week]
            for week in calendar.Calendar().monthdayscalendar(year, number)
        ]
        count = sum(len(day.versions) for week in weeks for day in week)
        yield Month(calendar.month_name[number], number, weeks, count)


def _day(year: int, month: int, number: int, by_day: dict[date, list[Version]]) -> Day:
    if number == 0:
        return Day(0, "", ())
    return Day(number, f"{year:04}{month:02}{number:02}", by_day.get(date(year, month, number), ()))
