"""Which moment does a date mean, in all the ways feeds and sitemaps write one?

In:    a date as written: W3C (a year to a fraction of a second), RFC 822 and its many accidents, Unix time.
Out:   seconds since 1970, or None; whether it names a whole day only.
Never: raises; reads a clock: whether a date lies in the future is for those who know what time it is.

A date without a zone is taken as UTC. What lies before 1990 is the default of some program, not a date.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

#: 1990-01-01: before the first web page nothing was published on the web.
EARLIEST = 631_152_000.0

#: A longer text is no date.
_LIMIT_CHARS = 64
_DAY = re.compile(r"\s*\d{4}(-?)\d\d\1\d\d\s*")

_W3C = re.compile(
    r"(\d{4})(?:[-/](\d\d?)(?:[-/](\d\d?)(?:[T\s]\s*(\d\d?)[:.](\d\d)(?:[:.](\d\d)(?:[.,]\d*)?)?)?)?)?"
    r"\s*(Z|[+-]\d\d:?\d\d|[A-Z]{2,5})?",
    re.IGNORECASE,
)
_CLOCK = (
    r"(\d\d?):(\d\d)(?::(\d\d)(?:\.\d*)?)?\s*([AP]M\b)?\s*((?:UTC?|GMT)?\s*[+-]\s*\d\d?:?\d\d|[A-Z]{1,5}\b)?"
)
#: Mon, 16 Nov 2026 08:00:10 GMT
_DAY_FIRST = re.compile(
    rf"(?:[^\W\d]+\.?,?\s+)?(\d\d?)[\s-]+([A-Z]{{3}})[A-Z]*\.?,?[\s-]+(\d\d(?:\d\d)?)(?:,?\s+{_CLOCK})?",
    re.IGNORECASE,
)
#: Mon Nov 16 08:00:10 2026 and November 16, 2026 08:00
_MONTH_FIRST = re.compile(
    rf"(?:[A-Z]+\.?,?\s+)?([A-Z]{{3}})[A-Z]*\.?\s+(\d\d?),?\s+(?:{_CLOCK}\s+)?(\d{{4}})(?:,?\s+(?:at\s+)?{_CLOCK})?",
    re.IGNORECASE,
)
_UNIX = re.compile(r"(\d{9,10})(\d{3})?(?:\.\d*)?")
_OFFSET = re.compile(r"([+-])\s*(\d\d?):?(\d\d)$")

_MONTHS = {name: n for n, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
#: Hours east of Greenwich. A zone nobody knows is taken for UTC: wrong by some hours at most.
_ZONES = {
    **{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7},
    **{
        "JST": 9,
        "KST": 9,
        "CET": 1,
        "CEST": 2,
        "EET": 2,
        "EEST": 3,
        "MSK": 3,
        "BST": 1,
        "IST": 5.5,
        "AEST": 10,
    },
}


def moment(text: str) -> float | None:
    """Seconds since 1970 of a date, None for what is none."""
    text = text.strip()[: _LIMIT_CHARS + 1]
    if not 4 <= len(text) <= _LIMIT_CHARS:
        return None
    try:
        when = datetime.fromisoformat(text)
        return _plausible(when.timestamp() if when.tzinfo else when.replace(tzinfo=UTC).timestamp())
    except (ValueError, OverflowError):
        return _otherwise(text)


def is_day(text: str) -> bool:
    """Does the date name a day, and no hour of it?"""
    return _DAY.fullmatch(text) is not None


def _otherwise(text: str) -> float | None:
    if match := _UNIX.fullmatch(text):
        return _plausible(float(match[1]))
    if match := _W3C.fullmatch(text):
        year, month, day, hour, minute, second, zone = match.groups()
        return _seconds(year, month or "1", day or "1", (hour, minute, second), "", zone)
    if match := _DAY_FIRST.match(text):
        day, name, year, hour, minute, second, half, zone = match.groups()
        return _seconds(year, name, day, (hour, minute, second), half, zone)
    if match := _MONTH_FIRST.match(text):
        name, day, *early, year = match.groups()[:8]
        hour, minute, second, half, zone = early if early[0] else match.groups()[8:]
        return _seconds(year, name, day, (hour, minute, second), half, zone)
    return None


def _seconds(
    year: str, month: str, day: str, clock: tuple[str | None, ...], half: str | None, zone: str | None
) -> float | None:
    number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
    hour, minute, second = (int(part or 0) for part in clock)
    if half:
        hour = hour % 12 + 12 * (half[0] in "Pp")
    try:
        start = datetime(_full_year(year), number, int(day), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    if hour > 24 or minute > 59:
        return None
    return _plausible(start + 3_600 * hour + 60 * minute + min(second, 60) - _offset_s(zone))


def _full_year(year: str) -> int:
    """RFC 2822, 4.3: years of two digits below 50 are of this century."""
    number = int(year)
    if len(year) > 2:
        return number
    return number + (2000 if number < 50 else 1900)


def _offset_s(zone: str | None) -> float:
    if not zone:
        return 0.0
    if match := _OFFSET.search(zone):
        seconds = 3_600.0 * int(match[2]) + 60.0 * int(match[3])
        return -seconds if match[1] == "-" else seconds
    return 3_600.0 * _ZONES.get(zone.upper(), 0)


def _plausible(time: float) -> float | None:
    return time if time >= EARLIEST else None
