"""What does the browser get of a capture?

In:    a URL and a time.
Out:   the capture with its links leading to the archive, or its bytes as they were received.
Never: runs a script of a capture, loads anything from outside `/replay/`, or lets it see who is looking.

Three walls stand around a captured page, whatever it tries. Its links are rewritten and its scripts gone. The
browser takes it for a stranger without a name (`sandbox`: no cookies, no storage, no scripts, no windows),
even when its address is opened by itself. And it may load from `/replay/` only. Of its header fields, none
that a browser heeds is passed on.
"""

from __future__ import annotations

import re
from itertools import islice
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from joro.archive.payload import payload_of
from joro.model import Capture
from joro.model import Response as Archived
from joro.portal.address import (
    archive_path,
    asked_time,
    asked_url,
    raw_path,
    replay_path,
    site_of,
    source_of,
    stamp_of,
)
from joro.portal.memento import http_date, link_field
from joro.portal.opened import Opened, Opener
from joro.portal.rewrite import Guide, rewritten_page
from joro.portal.styles import css_text, rewritten_css
from joro.url import host_of

_MIME = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_FIELDS_LIMIT = 64
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)
#: Shown as they are.
_MEDIA = ("image/", "audio/", "video/", "font/")
_FONTS = re.compile(r"font/|application/(?:x-)?font-|application/vnd\.ms-fontobject")
#: Shown as the text they are: what a browser would else run, follow or hand to another program.
_TEXTS = re.compile(
    r"text/|application/(?:[a-z0-9.-]+\+)?(?:json|xml|javascript|ecmascript|x-javascript)\b|.*\+xml"
)
#: Encodings a browser takes off itself.
_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
OTHER = "application/octet-stream"
_RAW_RULES = "sandbox; default-src 'none'"


def rules(request: Request, *, is_page: bool) -> str:
    """What the browser lets a capture do.

    Only a rewritten page may change the window, on a reader's click: all its links lead to the archive.
    """
    shown, read = source_of(request, "/replay/"), source_of(request, "/archive/")
    freedom = " allow-forms allow-top-navigation-by-user-activation" if is_page else ""
    return (
        f"sandbox{freedom}; default-src 'none'; style-src 'unsafe-inline' data: {shown}; "
        f"img-src data: {shown}; font-src data: {shown}; media-src data: {shown}; frame-src {shown}; "
        f"form-action {read}; base-uri 'none'"
    )


class Replay:
    """Captures themselves, without our words around them."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener

    def rewritten(self, request: Request) -> Response:
        """`/replay/TIME/URL`: what the frame shows; a reader who opens it alone is led to the whole page."""
        if request.headers.get("sec-fetch-dest") == "document":
            time = asked_time(request.path_params["stamp"])
            return RedirectResponse(archive_path(asked_url(request), time), 302)
        if "service-worker" in request.headers:  # nothing of ours asks for one
            raise HTTPException(404)
        opened = self._opener.asked(request, spellings=True)
        capture = opened.capture
        if not opened.is_asked:
            return RedirectResponse(replay_path(capture.url, capture.time), 302)
        target = opened.target
        if target:
            return RedirectResponse(replay_path(target, capture.time), 302, _about(request, opened))
        kind, content = shown(opened)
        headers = {
            "content-type": kind,
            "content-security-policy": rules(request, is_page=opened.is_page),
            **_about(request, opened),
            **_manners(kind, capture),
        }
        status = opened.response.status
        if status < 400 and kind.startswith(("audio/", "video/")):
            status, content, place = part_of(content, request.headers.get("range", ""))
            headers |= place
        return Response(content, status if status == 206 or status >= 400 else 200, headers)

    def raw(self, request: Request) -> Response:
        """`/raw/TIME/URL`: to keep, or for programs; a browser saves it, and opens nothing."""
        opened = self._opener.asked(request)
        capture, response = opened.capture, opened.response
        if not opened.is_asked:
            return RedirectResponse(raw_path(capture.url, capture.time), 302)
        headers = {
            "content-type": _declared(opened),
            "content-security-policy": _RAW_RULES,
            "content-disposition": _saved_as(capture),
            **_about(request, opened),
            **_received(response),
        }
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding in _CODINGS and not opened.payload.undecoded:
            headers["content-encoding"] = coding
        return Response(payload_of(response.head, response.body), 200, headers)


def shown(opened: Opened) -> tuple[str, bytes]:
    """Media type and bytes of a capture for a browser."""
    kind, capture, content = kind_of(opened), opened.capture, opened.payload.content
    stamp = stamp_of(capture.time)
    if opened.is_page:
        page, _ = rewritten_page(opened.text, capture.url, opened.charset, stamp)
        return kind, page.encode(errors="replace")
    if opened.mime == "text/css":
        guide = Guide(capture.url, capture.url, "UTF-8", stamp)
        css = rewritten_css(css_text(content, opened.response.headers["content-type"]), guide.style)
        return kind, css.encode(errors="replace")
    return kind, content


def kind_of(opened: Opened) -> str:
    """As what a capture is replayed; `OTHER` is what a browser can only save."""
    if opened.is_page or opened.mime == "text/css":
        return f"{opened.mime}; charset=utf-8"
    if opened.mime.startswith(_MEDIA) or _FONTS.match(opened.mime):
        return _declared(opened)
    return f"text/plain; charset={opened.charset}" if _TEXTS.match(opened.mime) else OTHER


def part_of(content: bytes, asked: str) -> tuple[int, bytes, dict[str, str]]:
    """The part of a film that a player asks for, with its status and header fields: RFC 9110, 14.2.

    Whoever asks for several parts, or in words nobody knows, gets all of it.
    """
    found = _RANGE.fullmatch(asked.strip())
    if not found or not (found[1] or found[2]):
        return 200, content, {"accept-ranges": "bytes"}
    size = len(content)
    start = int(found[1]) if found[1] else max(0, size - int(found[2]))
    end = min(int(found[2]) + 1, size) if found[1] and found[2] else size
    if start >= end:
        return 416, b"", {"content-range": f"bytes */{size}"}
    return 206, content[start:end], {"content-range": f"bytes {start}-{end - 1}/{size}"}


def _declared(opened: Opened) -> str:
    """What the server called it; of a page also the character set we found, as not every server knows."""
    if opened.is_page:
        return f"text/html; charset={opened.charset}"
    return opened.mime if _MIME.fullmatch(opened.mime) else OTHER


def _about(request: Request, opened: Opened) -> dict[str, str]:
    """What Memento wants to be told. Not to be kept: a capture may have to go at once."""
    found = {
        "memento-datetime": http_date(opened.capture.time),
        "link": link_field(site_of(request), opened.versions, opened.capture),
        "cache-control": "no-cache",
        "x-robots-tag": "noindex, nofollow",
        "x-dns-prefetch-control": "off",
    }
    if opened.response.truncated is not None:
        found["joro-truncated"] = opened.response.truncated.value
    return found


def _received(response: Archived) -> dict[str, str]:
    """The header fields of the server, under names that mean nothing to a browser."""
    found = {
        f"x-archive-orig-{name}": value
        for name, value in response.headers.items()
        if _NAME.fullmatch(name) and len(value) < 1_000 and value.isprintable() and "cookie" not in name
    }
    return dict(islice(found.items(), _FIELDS_LIMIT))


def _manners(kind: str, capture: Capture) -> dict[str, str]:
    if kind == OTHER:
        return {"content-disposition": _saved_as(capture)}
    # Fonts are only given to pages that may read them, and a replayed page has no name to be allowed by.
    return {"access-control-allow-origin": "*"} if _FONTS.match(kind) else {}


def _saved_as(capture: Capture) -> str:
    """The name under which a browser saves it."""
    name = capture.url.partition("?")[0].rpartition("/")[2] or host_of(capture.url)
    return f"attachment; filename*=UTF-8''{quote(unquote(name)[:100], safe='')}"
