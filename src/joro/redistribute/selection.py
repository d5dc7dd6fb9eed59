"""Which captures does somebody want?

In:    the archive, and a selection: host names, times, and where an earlier transfer ended.
Out:   the captures in the order they were written; a mark, from which a later transfer goes on.
Never: looks at all captures at once: one WARC's index at a time.
Paper: S1, 5.4: all, difference, since a day, a period; hosts by regular expression.

A difference is counted by what was *written* since, not by the time of captures: a distribution system
receives today what a robot visited last week. Host names are compared by RE2, whose time grows with the
length of the name only: the expressions come from others, and some of those that Python takes never end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from joro.archive.cdx import capture_of, index_of, whole_lines
from joro.archive.hosts import hosts_like
from joro.archive.names import number_of, stream_of, warcs
from joro.archive.times import time_of, time_of_stamp
from joro.errors import ArchiveError, UsageError
from joro.model import DAY_S, Capture
from joro.url import host_of

#: Where a walk through the archive stands: for each stream the number of its last WARC, and a byte in that.
Mark = dict[str, tuple[int, int]]

#: A mark this far on lies behind everything.
END = 1 << 62
#: What WARCs that come from another collection are called before its name.
FROM = "from-"
_FROM = re.compile(re.escape(FROM) + r".+-(\d{14})-\d{5,}\.warc\.gz")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Selection(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is wanted; everything, where nothing is said."""

    hosts: str = ""  # regular expression, found anywhere in the host name
    since: float | None = None  # captures of this moment or later …
    until: float | None = None  # … and before this one
    day: str = ""  # what came on that day (UTC), "2026-11-16": collected then, or received from others
    whole: bool = False  # what captures speak of that say "as before" comes along, be it older
    after: Mark = {}  # written after this
    upto: Mark | None = None  # and not after that


class Step(msgspec.Struct, frozen=True):
    """One WARC on the walk: the captures wanted of it, and where the walk stands behind it."""

    warc: str
    captures: list[Capture]
    lines: int  # that were looked at
    number: int
    stream: str


def checked(selection: Selection) -> Selection:
    """The same, once it is known to make sense."""
    hosts_like(selection.hosts)
    for name, value in (("since", selection.since), ("until", selection.until)):
        if value is not None and not math.isfinite(value):
            raise UsageError(f"{name} = {value} is no time", remedy="write seconds since 1970")
    if selection.day:
        span_of(selection.day)
    if selection.since is not None and selection.until is not None and selection.since >= selection.until:
        raise UsageError("the period ends before it begins", remedy="give the earlier time as since")
    return selection


def span_of(day: str) -> tuple[float, float]:
    """When a day begins and ends."""
    try:
        begin = time_of(day) if _DAY.fullmatch(day) else math.nan
    except ValueError:
        begin = math.nan
    if math.isnan(begin):
        raise UsageError(f"day = {day[:40]!r} is no day", remedy="write 2026-11-16")
    return begin, begin + DAY_S


def mark_now(directory: Path) -> Mark:
    """Behind everything that can be found at this moment."""
    last: Mark = {}
    for name in warcs(directory):
        last[stream_of(name)] = number_of(name), 0
    for name in warcs(directory):
        stream, number = stream_of(name), number_of(name)
        if last.get(stream, (0, 0))[0] == number:
            last[stream] = (
                number,
                max((capture.offset + capture.length for capture in _indexed(directory, name)), default=0),
            )
    return last


def walk(directory: Path, selection: Selection, free: Callable[[str], bool] | None = None) -> Iterator[Step]:
    """WARC after WARC, the captures wanted, in the order they lie there."""
    wanted = hosts_like(selection.hosts)
    since = -math.inf if selection.since is None else selection.since
    until = math.inf if selection.until is None else selection.until
    came = span_of(selection.day) if selection.day else (-math.inf, math.inf)
    for name in warcs(directory):
        stream, number = stream_of(name), number_of(name)
        received = _received(name)
        if received is None:
            first, last = max(since, came[0]), min(until, came[1])
        elif came[0] <= received < came[1]:
            first, last = since, until
        else:
            continue
        start, end = _begin(selection.after, stream, number), _end(selection.upto, stream, number)
        if start >= end:
            continue
        captures = [each for each in _indexed(directory, name) if start <= each.offset < end]
        found = [
            each
            for each in captures
            if first <= each.time < last
            and wanted(host := host_of(each.url))
            and (free is None or free(host))
        ]
        found.sort(key=lambda each: each.offset)
        yield Step(name, found, len(captures), number, stream)


def is_selected(capture: Capture, selection: Selection) -> bool:
    """Does a capture of a wanted host belong to the selection by its time and place?"""
    since = -math.inf if selection.since is None else selection.since
    until = math.inf if selection.until is None else selection.until
    received = _received(capture.warc)
    if selection.day:
        begin, end = span_of(selection.day)
        if not begin <= (capture.time if received is None else received) < end:
            return False
    stream, number = stream_of(capture.warc), number_of(capture.warc)
    is_new = _begin(selection.after, stream, number) <= capture.offset < _end(selection.upto, stream, number)
    return since <= capture.time < until and is_new


def _received(name: str) -> float | None:
    """When a WARC came from another collection; None for one of our own robots'."""
    found = _FROM.fullmatch(name)
    return time_of_stamp(found[1]) if found else None


def _begin(mark: Mark, stream: str, number: int) -> int:
    """The first byte of a WARC that lies behind the mark."""
    if stream not in mark or mark[stream][0] < number:
        return 0
    return mark[stream][1] if mark[stream][0] == number else END


def _end(mark: Mark | None, stream: str, number: int) -> int:
    return END if mark is None else 0 if stream not in mark else _before(mark[stream], number)


def _before(place: tuple[int, int], number: int) -> int:
    return END if number < place[0] else place[1] if number == place[0] else 0


def _indexed(directory: Path, name: str) -> Iterator[Capture]:
    for line in whole_lines(index_of(directory / name)):
        try:
            yield capture_of(line)
        except ValueError as error:
            raise ArchiveError(
                f"the index of {directory / name} is damaged ({error})",
                remedy="run: joro archive check --mend",
            ) from None
