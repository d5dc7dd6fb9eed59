"""At which hours may a server be visited?

In:    the operator's words, e.g. "weekdays 02:00-08:00, weekends 02:00-22:00 Asia/Tokyo".
Out:   whether it is open at a moment, and if not, when it opens next.
Never: looks at a clock. A visit that begins inside may end outside.
Paper: S1 5.1.4: weekdays 2 to 8, Saturday and Sunday 2 to 22, when exchanges are least loaded.

What counts is the clock on the wall over there. A range that begins late and ends early goes over
midnight and belongs to the day on which it begins. An hour the wall clock skips in spring opens nothing;
one it repeats in autumn is open twice.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterator

from joro.errors import ConfigError

DAY_S, WEEK_S = 86_400, 7 * 86_400
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_GROUPS = {"daily": range(7), "weekdays": range(5), "weekends": range(5, 7)}
_RANGE = re.compile(r"(\d\d?):(\d\d)[-–](\d\d?):(\d\d)")


class Window:
    """Hours of the week in one time zone."""

    def __init__(self, ranges: list[tuple[int, int, int]], zone: datetime.tzinfo) -> None:
        """`ranges`: day of the week (Monday is 0), first second of that day, the second it ends before."""
        self._zone = zone
        self._closed = (0.0, 0.0)  # the last answer: from … until …
        self._today: list[list[tuple[int, int]]] = [[] for _ in _DAYS]
        for day, start, end in ranges:
            self._today[day].append((start, min(end, DAY_S)))
            if end > DAY_S:
                self._today[(day + 1) % 7].append((0, end - DAY_S))
        self._openings = list(_openings(self._today))

    @classmethod
    def parse(cls, text: str) -> Window:
        """Read "DAYS HH:MM-HH:MM, … ZONE".

        DAYS is daily, weekdays, weekends, a day (mon) or days (mon-thu); ZONE an IANA name, UTC if left out.
        """
        words = text.replace(",", " , ").split()
        zone = _zone(text, words.pop()) if words and not _RANGE.fullmatch(words[-1]) else datetime.UTC
        parts = [list(part) for comma, part in itertools.groupby(words, ",".__eq__) if not comma]
        ranges = [found for part in parts for found in _ranges(text, part)]
        if not ranges:
            raise _complaint(text, "names no hours")
        return cls(ranges, zone)

    def is_open(self, now: float) -> bool:
        """May a visit begin at this moment (seconds since 1970)?"""
        local = datetime.datetime.fromtimestamp(math.floor(now), self._zone)
        second = local.hour * 3600 + local.minute * 60 + local.second
        return any(start <= second < end for start, end in self._today[local.weekday()])

    def next_open(self, now: float) -> float:
        """The first moment from `now` on at which a visit may begin."""
        if self._closed[0] <= now < self._closed[1]:
            return self._closed[1]
        if self.is_open(now):
            return now
        self._closed = now, float(self._opening(now))
        return self._closed[1]

    def mean_s(self, every_s: float) -> float:
        """Seconds between two visits on average over the weeks, if there are so many while it is open."""
        return WEEK_S / sum(math.ceil(length / every_s) for length in self._openings)

    def _opening(self, now: float) -> int:
        today = datetime.datetime.fromtimestamp(math.floor(now), self._zone).date()
        for week in itertools.count():
            days = (today + datetime.timedelta(days=7 * week + day) for day in range(8))
            moments = (moment for day in days for moment in self._moments(day) if moment >= now)
            opening = min(filter(self.is_open, moments), default=None)
            if opening is not None:
                return opening
        raise AssertionError("a window has hours, so the count ends")

    def _moments(self, day: datetime.date) -> Iterator[int]:
        """When the answer may change on a day: where ranges begin, and where the wall clock is moved."""
        midnight = datetime.datetime.combine(day, datetime.time(), self._zone)
        for start, _ in self._today[day.weekday()]:
            for fold in (0, 1):
                yield int((midnight + datetime.timedelta(seconds=start)).replace(fold=fold).timestamp())
        tomorrow = midnight + datetime.timedelta(days=1)
        yield from self._clock_changes(int(midnight.timestamp()) - 1, int(tomorrow.timestamp()))

    def _clock_changes(self, before: int, after: int) -> Iterator[int]:
        """The first second of another offset from UTC; nowhere does a day have two of them."""
        old = self._offset(before)
        if self._offset(after) == old:
            return
        while after - before > 1:
            middle = (before + after) // 2
            if self._offset(middle) == old:
                before = middle
            else:
                after = middle
        yield after

    def _offset(self, moment: int) -> datetime.timedelta | None:
        return datetime.datetime.fromtimestamp(moment, self._zone).utcoffset()


def _openings(week: list[list[tuple[int, int]]]) -> Iterator[int]:
    """How long it is open at a stretch, each time in a week on whose clocks nobody turns a hand."""
    ranges = sorted((day * DAY_S + start, day * DAY_S + end) for day in range(7) for start, end in week[day])
    merged = [list(ranges[0])]
    for start, end in ranges[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    if len(merged) > 1 and merged[0][0] == 0 and merged[-1][1] == WEEK_S:
        merged[0][0] = merged.pop()[0] - WEEK_S
    return (end - start for start, end in merged)


def _zone(text: str, name: str) -> datetime.tzinfo:
    import zoneinfo  # 0.02 s, which crawls without hours need not pay

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder such as "Asia"
        raise _complaint(text, f"ends in {name!r}, which is no time zone known here") from None


def _ranges(text: str, part: list[str]) -> Iterator[tuple[int, int, int]]:
    """One part, "mon-thu sat 22:00-06:00 12:00-13:00": days first, then hours."""
    hours = [match for word in part if (match := _RANGE.fullmatch(word))]
    days = [day for word in part[: len(part) - len(hours)] for day in _days(text, word.lower())]
    if not days or not hours:
        raise _complaint(text, f"has {' '.join(part)!r}, which is not days and hours")
    for day, match in itertools.product(days, hours):
        start, end = _seconds(match[1], match[2]), _seconds(match[3], match[4])
        if max(start, end) > DAY_S or start == DAY_S or int(match[2]) > 59 or int(match[4]) > 59:
            raise _complaint(text, f"has {match[0]!r}, which are no times of the day")
        yield day, start, end if end > start else end + DAY_S


def _days(text: str, word: str) -> range | list[int]:
    if word in _GROUPS:
        return _GROUPS[word]
    first, dash, last = word.replace("–", "-").partition("-")
    if first[:3] not in _DAYS or (dash and last[:3] not in _DAYS):
        raise _complaint(text, f"has {word!r}, which is no day")
    start = _DAYS.index(first[:3])
    length = (_DAYS.index(last[:3]) - start) % 7 + 1 if dash else 1
    return [day % 7 for day in range(start, start + length)]


def _seconds(hours: str, minutes: str) -> int:
    return int(hours) * 3600 + int(minutes) * 60


def _complaint(text: str, what: str) -> ConfigError:
    return ConfigError(
        f"the window {text!r} {what}",
        remedy='write it like "weekdays 02:00-08:00, weekends 02:00-22:00 Asia/Tokyo"',
    )
