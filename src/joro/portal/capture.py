"""What did this page look like then?

In:    a time and a URL.
Out:   the archived bytes, as the server sent them, in a sandbox.
Never: lets an archived page run a script, send a form, or fetch anything at all.

The address is `/archive/TIME/URL`, so links relative to the page lead to captures again. A capture is
shown under its own time: asked for another one, we lead to the nearest.
"""

from __future__ import annotations

import re
from email.utils import format_datetime
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from joro.archive.cdx import lookup
from joro.archive.read import response_at
from joro.archive.times import time_of_stamp
from joro.model import Capture
from joro.model import Response as Archived
from joro.parse.charset import charset_of
from joro.parse.payload import is_html, mime_of, unwrap
from joro.portal.look import Look, archive_path, moment
from joro.url import join, try_canonical

#: A page of the archive is a stranger's: it may show text, its own styles, and images it carries inside.
SANDBOX = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STAMP = re.compile(r"\d{4}(?:\d\d){0,5}")
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")


class Captures:
    """Archived captures, one or all of a page."""

    def __init__(self, archive: Path, look: Look) -> None:
        self._archive = archive
        self._look = look

    def versions(self, request: Request) -> Response:
        url = asked_url(request)
        captures = lookup(self._archive, url)
        if not captures:
            return self._missing(url)
        return self._look.page("versions.html", url=url, captures=captures[::-1])

    def show(self, request: Request) -> Response:
        url = asked_url(request)
        time = asked_time(request.path_params["stamp"])
        captures = lookup(self._archive, url)
        if not captures:
            return self._missing(url)
        nearest = min(captures, key=lambda capture: abs(int(capture.time) - time))
        address = archive_path(url, nearest.time)
        if int(nearest.time) != int(time):
            return RedirectResponse(address, 302)
        return self._replay(nearest)

    def _replay(self, capture: Capture) -> Response:
        response = response_at(self._archive, capture)
        location = response.headers.get("location", "")
        if 300 <= response.status < 400 and location:
            target = join(capture.url, location)
            return self._look.page("redirect.html", capture=capture, location=location, target=target)
        body = unwrap(response)
        headers = {
            "content-type": content_type(response, body.content, capture.url),
            "content-security-policy": SANDBOX,
            "memento-datetime": format_datetime(moment(capture.time), usegmt=True),
            "link": f'<{capture.url}>; rel="original"',
            "x-dns-prefetch-control": "off",
        }
        return Response(body.content, response.status if response.status >= 400 else 200, headers)

    def _missing(self, url: str) -> Response:
        return self._look.page("missing.html", 404, url=url)


def asked_url(request: Request) -> str:
    """The URL behind the time, byte for byte: decoded by anyone in between it might be another one."""
    path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")
    rest = path.split("/", 3)[3]
    # Some clients take `//` for a slip and send `http:/host`.
    text = re.sub(r"^(https?):/+", r"\1://", rest, flags=re.IGNORECASE)
    query = request.scope["query_string"].decode("latin-1")
    url = try_canonical(f"{text}?{query}" if query else text)
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


def content_type(response: Archived, content: bytes, url: str) -> str:
    """What the server called it, with the character set that we found a page to be in."""
    declared = response.headers.get("content-type", "")
    mime = mime_of(response.headers)
    if is_html(mime, content):
        return f"{mime or 'text/html'}; charset={charset_of(content, declared, url)}"
    return declared if _MIME.fullmatch(mime) and declared.isprintable() else "application/octet-stream"
