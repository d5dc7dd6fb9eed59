"""When is it time, by a line as crontab has it?

In:    five fields (minute, hour, day of the month, month, day of the week) and a moment.
Out:   the next moment that fits.
Never: reads a clock.
Paper: S1, 5.4.1: starting times are written as in UNIX's crontab.

    30 3 * * *            every night at half past three
    */15 8-18 * * mon-fri every quarter of an hour while people work
    0 4 1,15 * sun        the 1st, the 15th, and every Sunday: two days given are both meant, as cron has it
    @daily                @hourly, @daily, @weekly, @monthly, @yearly
"""

from __future__ import annotations

import calendar
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time

from joro.errors import UsageError

_SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
#: Name, least, most and words of each field.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _DAYS),
)
#: A line that fits no day within this time fits none: the 29th of February comes at least every eighth year.
_HORIZON_DAYS = 8 * 366


@dataclass(frozen=True)
class Cron:
    """One line, understood."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    either: bool  # both kinds of days are given: one of them is enough
    zone: zoneinfo.ZoneInfo | None  # None: UTC

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> Cron:
        """The line as people write it; a `UsageError` names the field that is wrong."""
        words = _SHORT.get(text.strip().lower(), text).split()
        if len(words) != 5:
            raise UsageError(
                f"schedule {text!r} has {len(words)} fields",
                remedy='write minute, hour, day, month and weekday, like "30 3 * * *"',
            )
        found = [_numbers(word, field, text) for word, field in zip(words, _FIELDS, strict=True)]
        weekdays = frozenset(number % 7 for number in found[4])
        either = not words[2].startswith("*") and not words[4].startswith("*")
        cron = cls(
            text,
            tuple(sorted(found[0])),
            tuple(sorted(found[1])),
            frozenset(found[2]),
            frozenset(found[3]),
            weekdays,
            either,
            _zone(zone),
        )
        if not any(cron._fits(date(2024, 1, 1) + timedelta(days=day)) for day in range(_HORIZON_DAYS)):
            raise UsageError(f"schedule {text!r} never comes", remedy="give a day that its month has")
        return cron

    def next(self, after: float) -> float:
        """The first moment later than `after` (seconds since 1970) that fits."""
        for moment in self._moments(datetime.fromtimestamp(after, self.zone or UTC).date()):
            if moment > after:
                return moment
        raise AssertionError(self.text)  # parse saw that it comes

    def _moments(self, first: date) -> Iterator[float]:
        for number in range(2 * _HORIZON_DAYS):
            day = first + timedelta(days=number)
            if not self._fits(day):
                continue
            for hour in self.hours:
                for minute in self.minutes:
                    local = datetime.combine(day, clock_time(hour, minute), self.zone or UTC)
                    moment = local.timestamp()
                    # A time that summer time leaves out does not come that day.
                    if datetime.fromtimestamp(moment, self.zone or UTC).replace(tzinfo=None) == local.replace(
                        tzinfo=None
                    ):
                        yield moment

    def _fits(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either else by_date and by_weekday


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    if name == "UTC":
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"timezone {name!r} is not known", remedy='write one like "Asia/Tokyo"') from None


def _numbers(word: str, field: tuple[str, int, int, dict[str, int]], text: str) -> set[int]:
    found: set[int] = set()
    for part in word.lower().split(","):
        span, slash, step = part.partition("/")
        first, last = _span(span, field, text, open_ended=bool(slash))
        every = _number(step, ("step", 1, 10_000, {}), text) if slash else 1
        found.update(range(first, last + 1, every))
    return found


def _span(
    span: str, field: tuple[str, int, int, dict[str, int]], text: str, *, open_ended: bool
) -> tuple[int, int]:
    """Both ends of `*`, `5`, `5-9` or (before a step) `5`, which goes on to the end."""
    _, least, most, _ = field
    if span == "*":
        return least, most
    begin, hyphen, end = span.partition("-")
    first = _number(begin, field, text)
    last = _number(end, field, text) if hyphen else most if open_ended else first
    if last < first:
        raise UsageError(f"schedule {text!r}: {span} ends before it begins", remedy="turn it around")
    return first, last


def _number(word: str, field: tuple[str, int, int, dict[str, int]], text: str) -> int:
    name, least, most, words = field
    number = words.get(word, int(word) if word.isascii() and word.isdecimal() and len(word) < 6 else -1)
    if not least <= number <= most:
        known = f", or {next(iter(words))} …" if words else ""
        raise UsageError(
            f"schedule {text!r}: {word!r} is no {name}",
            remedy=f"write a number from {least} to {most}{known}",
        )
    return number
