"""Which capture does an address of the portal mean, and where is a capture shown?

In:    a request, or a URL and a time.
Out:   the URL and the time that were asked for; addresses of captures, calendars and comparisons.
Never: lets a text of the web into an address unescaped: a canonical URL needs no further escapes.

    /archive/20261116055500/URL   a capture with a banner above it
    /archive/2026*/URL            the calendar of a page, here of one year
    /replay/20261116055500/URL    the capture itself, its links leading to the archive
    /raw/20261116055500/URL       its bytes as they were received
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from joro.archive.times import time_of_stamp
from joro.url import try_canonical

_STAMP = re.compile(r"\d{4}(?:\d\d){0,5}", re.ASCII)
_STEPS = {8: timedelta(1), 10: timedelta(hours=1), 12: timedelta(minutes=1), 14: timedelta(seconds=1)}
#: A host a browser can have asked for, as a Content-Security-Policy spells it: no IPv6 there.
_PLAIN_HOST = re.compile(r"[A-Za-z0-9.-]+(?::\d{1,5})?")


def moment(time: float) -> datetime:
    return datetime.fromtimestamp(time, UTC)


def stamp_of(time: float) -> str:
    return f"{moment(time):%Y%m%d%H%M%S}"


def archive_path(url: str, time: float) -> str:
    """Where people look at a capture."""
    return f"/archive/{stamp_of(time)}/{url}"


def replay_path(url: str, time: float) -> str:
    """Where the capture itself is: what the frame shows, and what Memento clients are led to."""
    return f"/replay/{stamp_of(time)}/{url}"


def raw_path(url: str, time: float) -> str:
    return f"/raw/{stamp_of(time)}/{url}"


def calendar_path(url: str, period: str = "") -> str:
    """The versions of a page, all of them or those of a year, month or day."""
    return f"/archive/{period}*/{url}"


def compare_path(url: str, old: float, new: float, **choices: str) -> str:
    asked = {"url": url, "from": stamp_of(old), "to": stamp_of(new), **choices}
    return f"/compare?{urlencode(asked)}"


def asked_url(request: Request, slashes: int = 3) -> str:
    """The URL behind so many slashes, byte for byte: decoded by anyone in between it might be another one."""
    path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")
    rest = path.split("/", slashes)[slashes]
    query = request.scope["query_string"].decode("latin-1")
    return _known(f"{rest}?{query}" if query else rest)


def asked_parameter(request: Request) -> str:
    """The URL in the query part of an address."""
    return _known(request.query_params.get("url", ""))


def _known(text: str) -> str:
    # Some clients take `//` for a slip and send `http:/host`.
    url = try_canonical(re.sub(r"^(https?):/+", r"\1://", text, flags=re.IGNORECASE))
    if url is None:
        raise HTTPException(404)
    return url


def asked_time(stamp: str) -> float:
    """Seconds since 1970 of 4 to 14 digits."""
    if not _STAMP.fullmatch(stamp):
        raise HTTPException(404)
    try:
        return time_of_stamp(stamp)
    except ValueError:  # the 31st of February
        raise HTTPException(404) from None


def asked_end(stamp: str) -> float:
    """Seconds since 1970 when the year, month, day … of 4 to 14 digits is over."""
    start = moment(asked_time(stamp))
    try:
        if len(stamp) == 4:
            return start.replace(year=start.year + 1).timestamp()
        if len(stamp) == 6:
            return (start + timedelta(days=31)).replace(day=1).timestamp()
        return (start + _STEPS[len(stamp)]).timestamp()
    except (ValueError, OverflowError):  # the year 9999
        return math.inf


def site_of(request: Request) -> str:
    """Our own scheme, host and port, as the client knows us; headers and time maps want whole addresses."""
    return str(request.base_url).rstrip("/")


def source_of(request: Request, path: str) -> str:
    """What a Content-Security-Policy calls the part of the portal below a path."""
    host = request.headers.get("host", "")
    return f"{host}{path}" if _PLAIN_HOST.fullmatch(host) else "'self'"
