"""What does a capture hold, and may it be shown?

In:    the URL of a page and a time.
Out:   the nearest capture with its neighbours and the response that was archived.
Never: hands out a capture that is refused: this is the only door to archived bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from starlette.exceptions import HTTPException
from starlette.requests import Request

from joro.archive.cdx import REVISIT
from joro.archive.read import read_at, response_of
from joro.model import Capture, Response
from joro.parse.charset import charset_of, decode
from joro.parse.html import Tree
from joro.parse.payload import Payload, is_html, mime_of, unwrap
from joro.portal.address import asked_time, asked_url
from joro.portal.find import Finder, closest
from joro.url import join

#: Longer payloads are cut here: what the robot archives by default is shorter.
LIMIT_BYTES = 64_000_000
#: Bytes that tell an image or a font that is called something else.
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\0\1\0\0", "font/ttf"),
)
_HEAD_BYTES = 512
_VAGUE = frozenset(
    {"", "text/plain", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "*/*"}
)

#: Why a capture must not be shown, in a sentence for readers; "" if it may be.
Refusal = Callable[[Capture, Response], str]


class Missing(HTTPException):
    """There is no capture of the page."""

    def __init__(self, url: str) -> None:
        super().__init__(404)
        self.url = url


class Refused(HTTPException):
    """The capture is there, and must not be shown."""

    def __init__(self, capture: Capture, reason: str) -> None:
        super().__init__(451)
        self.capture = capture
        self.reason = reason


class NotKept(HTTPException):
    """The capture says "as before", and what was before is not in the archive."""

    def __init__(self, capture: Capture) -> None:
        super().__init__(404)
        self.capture = capture


def _nothing(capture: Capture, response: Response) -> str:
    return ""


@dataclass(frozen=True)
class Opened:
    """A capture that may be shown."""

    capture: Capture
    versions: Sequence[Capture]  # of the page, oldest first: all, or the first, its neighbours, the last
    response: Response  # of the original, where the capture only says "as before"
    original: Capture  # that, or the capture itself
    is_asked: bool = True  # it has the very URL and second that were asked for

    @property
    def is_revisit(self) -> bool:
        return self.capture.mime == REVISIT

    @property
    def location(self) -> str:
        """Where the server sent its visitors, as it said so; "" if it did not."""
        return self.response.headers.get("location", "") if 300 <= self.response.status < 400 else ""

    @property
    def target(self) -> str | None:
        """The URL of that, if it is one."""
        return join(self.capture.url, self.location) if self.location else None

    @cached_property
    def payload(self) -> Payload:
        return unwrap(self.response, LIMIT_BYTES)

    @cached_property
    def mime(self) -> str:
        """The media type, as declared or, where that says nothing, as the first bytes have it."""
        mime = mime_of(self.response.headers)
        content = self.payload.content
        if self.is_page:
            return "text/html"
        if mime in _VAGUE and b"\0" in content[:_HEAD_BYTES]:  # no text has that, and all of them have it
            mime = next((kind for start, kind in _STARTS if content.startswith(start)), mime)
            if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
                return "image/webp"
        return mime

    @cached_property
    def is_page(self) -> bool:
        return is_html(mime_of(self.response.headers), self.payload.content[:_HEAD_BYTES])

    @cached_property
    def charset(self) -> str:
        declared = self.response.headers.get("content-type", "")
        return charset_of(self.payload.content, declared, self.capture.url)

    @cached_property
    def text(self) -> str:
        """The source of the page."""
        return decode(self.payload.content, self.charset)

    @property
    def tree(self) -> Tree:
        return Tree(self.text, self.charset)


class Opener:
    """Opens captures."""

    def __init__(self, finder: Finder, refusal: Refusal = _nothing) -> None:
        self._finder = finder
        self._refusal = refusal

    def asked(self, request: Request, *, spellings: bool = False) -> Opened:
        """The capture nearest to what the address asks for.

        With `spellings`, one of a URL that archives take for the same serves where there is none: pages link
        to their images with and without `www.` and `https`.
        """
        url, time = asked_url(request), asked_time(request.path_params["stamp"])
        versions = self._finder.near(url, time)
        if not versions and spellings:
            # Not a redirect: it would most often lead back to where we come from.
            others = [capture for capture in self._finder.spellings(url) if capture.status < 300]
            versions = self._finder.near(closest(others, time).url, time) if others else []
        if not versions:
            raise Missing(url)
        capture = closest(versions, time)
        return self.open(capture, versions, is_asked=capture.url == url and int(capture.time) == int(time))

    def at(self, url: str, time: float) -> Opened:
        """The capture of a page nearest to a time."""
        versions = self._finder.near(url, time)
        if not versions:
            raise Missing(url)
        return self.open(closest(versions, time), versions)

    def open(self, capture: Capture, versions: Sequence[Capture], *, is_asked: bool = True) -> Opened:
        """The capture with its bytes; `Refused` or `NotKept` where they may not, or cannot, be had."""
        whole = self._finder.original(capture) if capture.mime == REVISIT else capture
        if whole is None:
            raise NotKept(capture)
        response = response_of(read_at(self._finder.archive / whole.warc, whole.offset, whole.length))
        reason = self._refusal(capture, response)
        if reason:
            raise Refused(capture, reason)
        return Opened(capture, versions, response, whole, is_asked)
