"""What did this page look like then, and what became of it?

In:    a time and a URL.
Out:   a page of ours around the capture: which one it is, its neighbours, its calendar; or why there is none.
Never: lets the capture out of its frame, or claims that it shows more than it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from joro.model import Capture, Truncated
from joro.portal.address import archive_path, asked_time, asked_url, moment, site_of, source_of, stamp_of
from joro.portal.calendar import Version, months_of, versions_of, years_of
from joro.portal.find import Finder
from joro.portal.look import Look
from joro.portal.memento import link_field
from joro.portal.opened import Missing, NotKept, Opened, Opener, Refused
from joro.portal.replay import OTHER, kind_of
from joro.portal.rewrite import leads_on, rewritten_page

#: Versions listed on one page; the calendar leads to those of a day.
LISTED = 200
SUGGESTED = 12
#: Shorter pages are always shown whole; whether longer ones are, rewriting tells.
LONG_CHARS = 50_000
_PERIOD = re.compile(r"(\d{4}(?:\d\d){0,2})?\*", re.ASCII)
#: What asks for a page, and not for a part of one.
_READERS = frozenset({"", "document", "iframe", "frame", "empty"})
_CUT = {
    Truncated.LENGTH: "it was longer than the robot takes",
    Truncated.TIME: "it took longer than the robot waits",
    Truncated.DISCONNECT: "the connection broke off",
}


@dataclass(frozen=True)
class Banner:
    """What stands above a capture."""

    opened: Opened
    versions: Sequence[Capture]  # all of the page, oldest first

    @property
    def capture(self) -> Capture:
        return self.opened.capture

    @cached_property
    def number(self) -> int:
        return self.versions.index(self.capture) + 1

    @property
    def total(self) -> int:
        return len(self.versions)

    @property
    def before(self) -> Capture | None:
        return self.versions[self.number - 2] if self.number > 1 else None

    @property
    def after(self) -> Capture | None:
        return self.versions[self.number] if self.number < self.total else None

    @property
    def original(self) -> Capture | None:
        """The capture whose bytes are shown, if it is another one."""
        return self.opened.original if self.opened.is_revisit else None

    @property
    def cut(self) -> str:
        """Why what is shown is not whole, "" if it is."""
        if self.opened.response.truncated:
            return _CUT[self.opened.response.truncated]
        return "" if self._is_whole() else "it is longer than a page can be shown"

    def _is_whole(self) -> bool:
        opened, capture = self.opened, self.capture
        if not opened.is_page or len(opened.text) < LONG_CHARS:
            return True
        return rewritten_page(opened.text, capture.url, opened.charset, stamp_of(capture.time))[1]

    @property
    def status(self) -> int:
        return self.opened.response.status

    @cached_property
    def is_shown(self) -> bool:
        return kind_of(self.opened) != OTHER

    @cached_property
    def onward(self) -> str | None:
        """Where the page would have sent its reader."""
        return leads_on(self.opened.tree, self.capture.url) if self.opened.is_page else None


class Captures:
    """Captures and their versions, for people."""

    def __init__(self, finder: Finder, opener: Opener, look: Look) -> None:
        self._finder = finder
        self._opener = opener
        self._look = look

    def show(self, request: Request) -> Response:
        """`/archive/TIME/URL`, and the calendar for `/archive/2026*/URL`."""
        if request.path_params["stamp"].endswith("*"):
            return self._calendar(request)
        opened = self._opener.asked(request)
        capture = opened.capture
        if not opened.is_asked:
            return RedirectResponse(archive_path(capture.url, capture.time), 302)
        if opened.location:
            return self._look.page(
                "redirect.html", capture=capture, location=opened.location, target=opened.target
            )
        page = self._look.page("capture.html", banner=Banner(opened, self._finder.versions(capture.url)))
        page.headers["link"] = link_field(site_of(request), opened.versions, capture)
        page.headers["content-security-policy"] = (
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
            f"frame-ancestors 'none'; frame-src {source_of(request, '/replay/')}"
        )
        return page

    def _calendar(self, request: Request) -> Response:
        url = asked_url(request)
        found = _PERIOD.fullmatch(request.path_params["stamp"])
        if found is None:
            raise HTTPException(404)
        period = found[1] or ""
        if period:
            asked_time(period)
        versions = versions_of(self._finder.versions(url))
        if not versions:
            raise Missing(url)
        year = int(period[:4]) if period else moment(versions[-1].capture.time).year
        chosen = [version for version in versions if version.stamp.startswith(period or f"{year:04}")]
        return self._look.page(
            "calendar.html",
            url=url,
            period=period,
            year=year,
            years=years_of(versions),
            months=list(months_of(year, chosen if len(period) < 5 else versions)),
            versions=versions,
            listed=chosen[::-1][:LISTED],
            chosen=chosen,
            compared=_worth_comparing(chosen),
        )

    def problem(self, request: Request, error: Exception) -> Response:
        """Why a capture cannot be shown, and what can be instead."""
        if request.headers.get("sec-fetch-dest", "") not in _READERS:
            return PlainTextResponse("not archived\n", 404)
        if request.url.path.startswith("/replay/"):
            return self._framed(error)
        if isinstance(error, Refused):
            return self._look.page("refused.html", 451, capture=error.capture, reason=error.reason)
        if isinstance(error, NotKept):
            return self._look.page("notkept.html", 404, capture=error.capture)
        assert isinstance(error, Missing)
        spellings = {capture.url: capture for capture in self._finder.spellings(error.url)}
        beside = self._finder.beside(error.url, SUGGESTED) if not spellings else []
        return self._look.page(
            "missing.html", 404, url=error.url, spellings=spellings.values(), beside=beside
        )

    def _framed(self, error: Exception) -> Response:
        """The same in a few words, for a frame: our own pages do not let themselves be framed."""
        assert isinstance(error, (Missing, Refused, NotKept))
        url = error.url if isinstance(error, Missing) else error.capture.url
        problem = {Missing: "Not archived", Refused: "Withheld", NotKept: "Not in the archive any more"}[
            type(error)
        ]
        reason = error.reason if isinstance(error, Refused) else ""
        page = self._look.page("absent.html", error.status_code, url=url, problem=problem, reason=reason)
        page.headers["content-security-policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
        return page


def _worth_comparing(chosen: list[Version]) -> tuple[str, str]:
    """The stamps of two versions to compare first: the newest, and the last one before it that differs."""
    if len(chosen) < 2:
        return "", ""
    newest = chosen[-1]
    others = [version for version in chosen[:-1] if version.capture.digest != newest.capture.digest]
    return (others or chosen[:-1])[-1].stamp, newest.stamp
