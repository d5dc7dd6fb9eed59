"""How is a moment spelled in WARC and CDXJ?

In:    seconds since 1970, or a spelling of them.
Out:   the other one; both directions agree to the microsecond.
Never: reads a clock.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta

from joro.errors import UsageError

_EPOCH = datetime(1970, 1, 1)
#: The years that a date can name, 1 to 9999: from the first moment, and before the other.
_FIRST_S, _END_S = -62_135_596_800.0, 253_402_300_800.0
_FIRST, _LAST = "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"


def warc_date(time: float) -> str:
    """As WARC 1.1 allows it: `2026-11-16T05:55:00.123456Z`, or the nearest moment that has a date."""
    try:
        seconds, micros = divmod(round(time * 1e6), 1_000_000)
        return f"{_second(seconds)}.{micros:06}Z"
    except OverflowError:
        return _LAST if time > 0 else _FIRST


@functools.lru_cache(maxsize=256)  # visits come by the hundred in a second
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()


def stamp(date: str) -> str:
    """The fourteen digits CDXJ and file names want, from a `warc_date`."""
    return date[0:4] + date[5:7] + date[8:10] + date[11:13] + date[14:16] + date[17:19]


def microsecond(date: str) -> int:
    """What `stamp` leaves out."""
    return int(date[20:26])


def time_of(date: str) -> float:
    """Seconds since 1970 of any date WARC 1.1 allows (a year alone, a day, seconds, fractions)."""
    if len(date) < 10:  # "2026" and "2026-11" are dates too
        date = date[:4] + (date[4:7] or "-01") + "-01"
    moment = datetime.fromisoformat(date)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def time_of_stamp(digits: str, micros: int = 0) -> float:
    """Seconds since 1970 of fourteen digits, or of their first 4, 6, 8, 10 or 12."""
    full = digits + "00000101000000"[len(digits) :]
    date = datetime.fromisoformat(f"{full[:8]}T{full[8:]}")
    return ((date - _EPOCH) // timedelta(microseconds=1) + micros) / 1e6


def time_typed(text: str, option: str = "") -> float:
    """The same of what a person typed: `2026`, `2026-11-16`, `2026-11-16T05:55`, `20261116`."""
    named = f"{option} {text!r}".lstrip()
    try:
        time = time_of_stamp(text) if text.isdigit() else time_of(text)
    except ValueError:
        raise UsageError(f"{named} is no time", remedy="write 2026-11-16T05:55 or 20261116") from None
    if not _FIRST_S <= time < _END_S:  # by its zone
        raise UsageError(f"{named} is not in the years 1 to 9999 of UTC", remedy="give a time within them")
    return time
