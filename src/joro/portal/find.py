"""Which captures may the portal show?

In:    a URL, and a time.
Out:   the captures of a page, or of many; pages near one that was not captured; nothing that is withheld.
Never: reads a capture; that is for `opened`.

The one door between the portal and the index of captures.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from pathlib import Path

from joro.archive.cdx import REVISIT
from joro.archive.index import LOOK_BACK_S, CaptureIndex, Limits, Withheld
from joro.clock import RealClock
from joro.model import Capture
from joro.url import host_of, server_of, try_canonical

#: How `matching` compares URLs.
MATCHES = ("exact", "prefix", "host", "domain")
#: Pages with more versions are not read through to find one of them.
FEW = 200
#: Captures looked at for pages near one that is missing.
_LOOKED_AT = 2_000


_PAGES = Limits(status=200, mime="text/html")


class Finder:
    """Finds captures; `withheld` says which ones must not be shown, listed or counted."""

    def __init__(
        self,
        archive: Path,
        withheld: Withheld | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.archive = archive
        self._now = now or RealClock().now
        self._index = CaptureIndex(archive, withheld=withheld)

    def versions(self, url: str) -> list[Capture]:
        """Every version of the page, oldest first."""
        return list(self._index.versions(url))

    def near(self, url: str, time: float) -> list[Capture]:
        """Versions of the page, oldest first: of many, only the first, those around a time, and the last."""
        some = list(islice(self._index.versions(url), FEW + 1))
        if len(some) <= FEW:
            return some
        second = int(time)
        after = islice(self._index.versions(url, Limits(since=second)), 2)
        before = self._last(url, Limits(until=second), 2)
        found = {some[0], *before, *after, *self._last(url, Limits(), 1)}
        return sorted(found, key=attrgetter("time", "warc", "offset"))

    def original(self, capture: Capture) -> Capture | None:
        """The capture that holds the bytes a revisit speaks of: the last one before it."""
        until = math.nextafter(capture.time, math.inf)
        whole = self._last(capture.url, Limits(until=until, digest=capture.digest), 1)
        return whole[0] if whole else None

    def _last(self, url: str, limits: Limits, count: int) -> list[Capture]:
        """The last captures within the limits; with a digest, of those that hold bytes.

        They are looked for so far back, then further: of a page with many versions, most are not even read.
        """
        end = min(limits.until, self._now())
        found: deque[Capture] = deque()
        for back_s in LOOK_BACK_S:
            versions = self._index.versions(url, replace(limits, since=end - back_s))
            wanted = (each for each in versions if not (limits.digest and each.mime == REVISIT))
            found = deque(wanted, maxlen=count)
            if len(found) == count:
                break
        return list(found)

    def matching(self, url: str, match: str, limits: Limits) -> Iterator[Capture]:
        """Captures of one URL or of many; `match` is one of `MATCHES`."""
        if match == "prefix":
            return self._index.under(url, limits)
        if match in ("host", "domain"):
            return self._index.of_host(host_of(url), subdomains=match == "domain", limits=limits)
        return self._index.versions(url, limits)

    def spellings(self, url: str) -> list[Capture]:
        """The newest capture of each URL that means the same to most: by https, with www. or a slash."""
        found = []
        for other in _spellings(url):
            versions = self.versions(other)
            found += versions[-1:]
        return found

    def beside(self, url: str, limit: int) -> list[Capture]:
        """Captures of some other pages in the same directory or, if there are none, on the same server."""
        path = url.partition("?")[0]
        for prefix in (path[: path.rindex("/") + 1], server_of(url) + "/"):
            near = islice(self._index.under(prefix, _PAGES), _LOOKED_AT)
            found = {capture.url: capture for capture in near}
            if found:
                return list(islice(found.values(), limit))
        return []


def closest(versions: Sequence[Capture], time: float) -> Capture:
    """The version nearest to a whole second, so that a capture is found under its own stamp."""
    return min(versions, key=lambda capture: abs(int(capture.time) - time))


def _spellings(url: str) -> list[str]:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    hosts = [host, host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"]
    paths = [path, path[:-1] if path.endswith("/") else f"{path}/"] if path and "?" not in path else [path]
    schemes = (scheme, "https" if scheme == "http" else "http")
    written = (f"{s}://{h}{slash}{p}" for h in hosts for p in paths for s in schemes)
    return [other for text in written if (other := try_canonical(text)) and other != url]
