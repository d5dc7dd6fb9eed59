"""Which captures of a page, a directory, a host or a payload are there?

In:    the directory of WARCs: merged runs, indexes of closed WARCs, indexes of those being written.
Out:   captures, one after the other, those of a page oldest first.
Never: loads an index; misses what was flushed, or sees it twice, while robots write and others merge;
       shows what is withheld.

A look-up reads one or two blocks of each run, and halves the index of each WARC not merged yet. Both are few:
their number grows with the logarithm of the archive, so ten times the captures cost three runs more.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path

from joro.archive.cdx import REVISIT, capture_of
from joro.archive.snapshot import Snapshots
from joro.archive.times import stamp, warc_date
from joro.model import DAY_S, Capture
from joro.url import canonical, host_of, surt, surt_of_host, surt_under

#: Where one looks for the last version before a time: so far back, then further, then all the way.
LOOK_BACK_S = (30 * DAY_S, 5 * 365 * DAY_S, math.inf)
#: The last second that has four digits for its year.
_LAST_S = 253_402_300_799.0

Withheld = Callable[[Capture], bool]


@dataclass(frozen=True, slots=True)
class Limits:
    """Which of the captures are wanted; all of them, where nothing is said."""

    since: float = -math.inf  # seconds since 1970; that moment included
    until: float = math.inf  # that moment excluded
    digest: str = ""  # of the payload, "sha1:BASE32"
    status: int | None = None
    mime: str | None = None  # as the index has it; of a capture that says "as before" that is warc/revisit

    def allow(self, capture: Capture) -> bool:
        return (
            self.since <= capture.time < self.until
            and self.digest in ("", capture.digest)
            and self.status in (None, capture.status)
            and self.mime in (None, capture.mime)
        )


NO_LIMITS = Limits()


class CaptureIndex:
    """Finds captures. Made once and asked often, also by several threads."""

    def __init__(self, directory: Path, *, withheld: Withheld | None = None) -> None:
        self.directory = directory
        self._withheld = withheld
        self._snapshots = Snapshots(directory)

    def versions(self, url: str, limits: Limits = NO_LIMITS) -> Iterator[Capture]:
        """Every version of the page with this canonical URL, oldest first."""
        key = surt(url).encode() + b" "
        found = self._sorted(key, key + _digits(limits.since))
        if limits.until < math.inf:
            found = _until(found, key + _digits(limits.until) + b"~")
        return (capture for capture in self._wanted(found, limits) if capture.url == url)

    def under(self, prefix: str, limits: Limits = NO_LIMITS) -> Iterator[Capture]:
        """Captures of all pages whose canonical URL begins so, sorted by SURT and time.

        The prefix has at least a scheme and a host: `http://www.example.jp/a/`.
        """
        spelled = canonical(prefix)
        found = self._sorted(surt_under(spelled).encode())
        return (capture for capture in self._wanted(found, limits) if capture.url.startswith(spelled))

    def of_host(
        self, host: str, *, subdomains: bool = False, limits: Limits = NO_LIMITS
    ) -> Iterator[Capture]:
        """Captures of all pages of a host, at any port, perhaps of the hosts below it, too."""
        host = host_of(canonical(f"http://{host}/"))
        starts = surt_of_host(host, subdomains=subdomains)
        found = chain.from_iterable(self._sorted(start.encode()) for start in starts)
        below = "." + host
        for capture in self._wanted(found, limits):
            name = host_of(capture.url)
            if name == host or (subdomains and name.endswith(below)):
                yield capture

    def of_digest(self, digest: str, limits: Limits = NO_LIMITS) -> Iterator[Capture]:
        """Captures with this payload ("sha1:BASE32"), those that only say "as before" included."""
        found = chain.from_iterable(
            self._sorted(key, key) for key in self._snapshots.latest().keys_of_digest(digest.encode())
        )
        return self._wanted(found, replace(limits, digest=digest))

    def all(self, limits: Limits = NO_LIMITS) -> Iterator[Capture]:
        """Every capture there is, sorted by SURT and time."""
        return self._wanted(self._sorted(b""), limits)

    def nearest(self, url: str, time: float, limits: Limits = NO_LIMITS) -> Capture | None:
        """The version of the page whose time is closest; of two, the earlier one."""
        after = replace(limits, since=max(time, limits.since))
        later = next(self.versions(url, after), None)
        earlier = None
        for back_s in LOOK_BACK_S:
            since = max(time - back_s, limits.since)
            before = replace(limits, since=since, until=min(time, limits.until))
            earlier = _last(self.versions(url, before))
            if earlier is not None or since == limits.since:
                break
        if earlier is None or later is None:
            return earlier or later
        return earlier if time - earlier.time <= later.time - time else later

    def newest(self, url: str, limits: Limits = NO_LIMITS) -> Capture | None:
        """The last version of the page."""
        return _last(self.versions(url, limits))

    def original(self, capture: Capture) -> Capture | None:
        """The capture that holds the bytes a revisit speaks of: the last one before it."""
        versions = self.versions(capture.url, Limits(digest=capture.digest))
        return _last(each for each in versions if each.mime != REVISIT and each.time <= capture.time)

    def _sorted(self, prefix: bytes, start: bytes = b"") -> Iterator[bytes]:
        sources = self._snapshots.latest().beginning(prefix, start)
        return heapq.merge(*sources) if len(sources) > 1 else chain.from_iterable(sources)

    def _wanted(self, lines: Iterator[bytes], limits: Limits) -> Iterator[Capture]:
        """The captures within the limits; those of one second, which the bytes do not sort, by their time."""
        withheld = self._withheld
        for _, same in groupby(lines, _page_and_second):
            captures = [capture for line in same if limits.allow(capture := capture_of(line))]
            if len(captures) > 1:
                captures.sort(key=attrgetter("time", "warc", "offset"))
            for capture in captures:
                if withheld is None or not withheld(capture):
                    yield capture


def _page_and_second(line: bytes) -> bytes:
    return line[: line.index(b" ", line.index(b" ") + 1)]


def _last(captures: Iterable[Capture]) -> Capture | None:
    last = None
    for last in captures:  # noqa: B007
        pass
    return last


def _digits(time: float) -> bytes:
    """What the lines of that second have behind their SURT; the first or last second, where it has none."""
    return stamp(warc_date(math.floor(min(max(time, 0.0), _LAST_S)))).encode()


def _until(lines: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    for line in lines:
        if line > end:
            return
        yield line
