"""What does a page that came home say, and do we want it?

In:    an arrival: the visit, and what the frontier knew of the page.
Out:   the arrival with its verdict and, if it may lead on, its outline; facts for the archive, if wished.
Never: archives, registers or schedules anything; reads what a guard against traps need not see twice.
"""

from __future__ import annotations

from collections.abc import Callable

from joro.archive.metadata import Facts
from joro.config import Config, Scope
from joro.discover.traps import Traps
from joro.discover.wanted import Verdict, Wanted
from joro.model import Outcome, Page, Response, Visit
from joro.parse.outline import Outline
from joro.parse.page import document_of, outline_of
from joro.robot.arrivals import Arrival
from joro.robot.keeper import Keeper
from joro.robot.watcher import Watcher

#: Outcomes whose links are followed.
LEADING_ON = frozenset({Outcome.OK, Outcome.REDIRECT, Outcome.UNWANTED})


class Reading:
    """Reads what robots bring home; `visited` tells how many pages of a server are known already."""

    def __init__(
        self, settings: Config, keeper: Keeper, watcher: Watcher, traps: Traps, visited: Callable[[str], int]
    ) -> None:
        self._name = settings.identity.name
        self._noted = settings.archive.metadata
        self.renew(settings.scope)
        self._keeper = keeper
        self._watcher = watcher
        self._traps = traps
        self._visited = visited

    def renew(self, scope: Scope) -> None:
        """Want what these settings say, from now on."""
        self._wanted = Wanted(scope)

    def read(self, one: Arrival) -> None:
        """What the page says, and whether we want it."""
        visit = one.visit
        page = one.page = self._watcher.first_seen(visit.page, one.before)
        one.verdict = self._wants(page, visit)
        if visit.response is not None and visit.outcome in LEADING_ON:
            one.outline = self._outline(page, visit.response, is_new=one.before is None)

    def facts(self, one: Arrival) -> Facts | None:
        """What is written down beside the answer; nothing unless the settings say so."""
        outline, response = one.outline, one.visit.response
        if not self._noted or outline is None or response is None:
            return None
        kind = "redirect" if 300 <= response.status < 400 else "a"
        found = tuple((url, kind) for url in outline.links)
        return Facts(found, outline.charset, hops=one.page.hops)

    def _wants(self, page: Page, visit: Visit) -> Verdict:
        """Does the page belong into the archive, and its links into the frontier?"""
        judged = self._wanted.needs_language or self._wanted.needs_text
        if visit.response is None or visit.outcome is not Outcome.OK or not judged:
            return self._wanted.verdict(page.url, page.hops)
        seen = document_of(page.url, visit.response, self._name)
        return self._wanted.verdict(page.url, page.hops, seen.language, seen.text)

    def _outline(self, page: Page, response: Response, *, is_new: bool) -> Outline:
        """Read a page; one seen for the first time is looked at by the guard against traps, too."""
        visits = self._visited(page.server)
        watched = is_new and self._traps.watches(page.url, visits)
        keeps, feeds = self._keeper.learns, self._watcher.enabled
        outline = outline_of(page.url, response, self._name, likeness=watched, main=keeps, feeds=feeds)
        if watched:
            self._traps.observe(page.url, outline.likeness, visits, outline.to_follow)
        return outline
