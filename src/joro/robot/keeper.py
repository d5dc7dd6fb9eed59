"""Which known pages are visited again, and what did their visits teach?

In:    every visit that ended, with what was known of the page before; the calendar.
Out:   pages that are due, waiting in the frontier's queues; of every page visited the next date.
Never: fetches; learns from a failure; forgets a date: it is written in one batch with the page's record.
Paper: S0-01 to S0-03 (refresh before discovery), S0-07 (what cannot be kept is revised), S4-05 (main text).

A page that is due simply waits in its server's queue again, before those never visited. So politeness,
robots.txt, crashes and sleeping servers are dealt with once, for both kinds of page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from joro.clock import Clock
from joro.config import Refresh
from joro.config.servers import servers_like
from joro.discover.watch import Signal
from joro.model import PASSING, Known, Outcome, Page, Response, Truncated, Visit
from joro.parse.dates import moment
from joro.parse.page import document_of
from joro.robot.batches import Batches
from joro.robot.hearing import GIVEN_UP, Hearing, was_here
from joro.robot.lessons import STATE, Lesson, Lessons, dated, looked_at
from joro.robot.planner import Planner, PlanReport
from joro.robot.policy import Policy
from joro.robot.sights import Sights
from joro.schedule import change, late, prior
from joro.schedule.plan import timed, wish
from joro.schedule.trust import Trust, age_s
from joro.store.again import ASKED_FOR
from joro.store.calendar import ENTRY, Entries
from joro.store.frontier import Frontier
from joro.store.queue import URGENT
from joro.store.records import PageRecord, ServerRecord, Upkeep
from joro.url import fingerprint, server_of

#: Pages taken from the calendar at a time.
BATCH = 2_000
#: Every so many visits a page is asked for without condition, at a server whose validators are trusted and at
#: one that nobody has tried yet: some never change, and only the page itself betrays them.
TRUSTED_EVERY, UNTRIED_EVERY = 8, 2
#: They are trusted when so many changes have changed them, and after a change that did not they are asked for
#: nothing before so many have. Pages that stay as they are tell nothing: frozen validators look right there.
TRUSTED_AFTER, FORGIVEN_AFTER = 3, 100
#: A date is another one when prices have moved it by such a share of the interval: a visit that much early or
#: late is worth as much, and lateness is counted in whole intervals.
NOTICED = 0.05
#: Outcomes after which a page is visited again.
KEPT = frozenset({Outcome.OK, Outcome.NOT_MODIFIED, Outcome.REDIRECT})

#: At hand: an enumeration takes as long to name one of its members as all the rest of a comparison.
_OK: Final = Outcome.OK
_NOT_MODIFIED: Final = Outcome.NOT_MODIFIED
_REDIRECT: Final = Outcome.REDIRECT
_REDIRECTED: Final = Outcome.REDIRECT.value

_KEPT_WORDS = frozenset(outcome.value for outcome in KEPT)
#: The language (BCP 47) of pages that were looked at and whose text does not tell: nobody looks again.
UNTOLD = "und"
#: Pages that get a date between two commits.
ADOPTED_AT_ONCE = 10_000
ADOPTED = "adopted"
#: Whoever reads no feeds and sitemaps leaves those that are due aside for so long, again and again: as the
#: shortest pause between two readings.
ASIDE_S = 300.0

_NO_ENTRIES: Entries = np.empty(0, ENTRY)


class Keeper:
    """The pages of one robot that are visited again."""

    def __init__(self, frontier: Frontier, settings: Refresh, planner: Planner, clock: Clock) -> None:
        self._frontier = frontier
        self._settings = settings
        self.enabled = settings.enabled
        has_dates = bool(frontier.kept(ADOPTED))
        # A crawl that keeps nothing fresh still learns, where there are dates already: none is forgotten.
        self.learns = settings.enabled or has_dates
        self._asks_all = self.learns or bool(frontier.kept(ASKED_FOR))
        self._planner = planner
        self._clock = clock
        self._lessons = Lessons(frontier, settings, planner)
        self._batches = Batches(frontier, settings, clock, planner.sockets)
        self._has_batches = settings.batch_pages > 0
        self._sights = Sights(frontier.sources)
        self._hearing = Hearing(frontier, planner, self._dates, settings.least_interval_s)
        self._urged: list[str] = []  # servers of pages urged since the last commit, or back
        self._is_important = servers_like(settings.important) if settings.important else None
        if self.enabled and has_dates:
            planner.resume()

    @property
    def policy(self) -> Policy:
        """How often pages are visited, at the present price."""
        return self._planner.policy

    @property
    def plan(self) -> PlanReport | None:
        """What the last planning round came to."""
        return self._planner.report

    def adopt(self) -> None:
        """Give dates to pages collected before there was refreshing, spread over the first interval."""
        frontier = self._frontier
        if not self.enabled or frontier.kept(ADOPTED):
            return
        for number, record in enumerate(frontier.all_visited()):
            if record.upkeep is None and (care := self.adopted(record)) is not None:
                names = np.array([fingerprint(server_of(record.url))], np.uint64)
                dates = dated([fingerprint(record.url)], names, [care], np.array([record.time]))
                frontier.calendar.push(dates)
            if number % ADOPTED_AT_ONCE == ADOPTED_AT_ONCE - 1:
                frontier.commit(None)
        frontier.keep(ADOPTED, b"yes")
        frontier.commit(None)

    def adopted(self, record: PageRecord) -> Upkeep | None:
        """What is kept from now on of a page visited by who kept nothing fresh; None where nothing is."""
        if not self.learns or record.outcome not in _KEPT_WORDS:
            return None
        mark, server = fingerprint(record.url), server_of(record.url)
        care = Upkeep(seen_at=record.time, interval_s=self._settings.first_wait_s)
        care.weight = self._weight_of(server)
        care.due = self._clock.now() + care.interval_s * (mark / 2**64)
        self._frontier.keep_page(structs.replace(record, upkeep=care))
        wish(self._frontier.server(server).wishes, care.interval_s, care.weight)
        return care

    def bring_due(self) -> list[str]:
        """Let pages wait that are due; their servers."""
        self.settle()
        if not self.enabled:
            return []
        urged, self._urged = self._urged, []
        calendar = self._frontier.calendar
        sources = self._let_wait(self._sources_due())
        until, room = self._batches.room(BATCH)
        popped = calendar.pop(until, room) if room else _NO_ENTRIES
        due = self.sift(popped) if len(popped) else popped
        waiting = self._let_wait(self._hearing.without_replaced(due))
        if room:
            self._batches.brought(waiting, is_last=len(popped) < room)
        return urged + sources + waiting

    def _sources_due(self) -> Entries:
        """Sources to be visited now; who reads none visits front pages alone, which are pages for people.

        Feeds and sitemaps are left to whoever reads them: what is new there would be archived, and lost.
        """
        dates, now = self._frontier.calendar.sources, self._clock.now()
        popped = dates.pop(now, BATCH)
        if self._settings.watch or not len(popped):
            return popped
        records = self._frontier.records(popped["mark"])
        aside = np.array([each is not None and self._sights.of(each.url).is_source for each in records])
        dates.put_off(popped[aside], now + ASIDE_S)
        kept: Entries = popped[~aside]
        return kept

    def _let_wait(self, due: Entries) -> list[str]:
        """Let pages wait that are due; their servers."""
        if not len(due):
            return []
        records = self._frontier.records(due["mark"])
        rows = zip(records, due["version"].tolist(), due["due"].tolist(), strict=True)
        return [server for row in rows if (server := self._wait_since(*row))]

    def sift(self, popped: Entries) -> Entries:
        """The pages that are due at the present price; the others are looked at again later.

        While prices are steady, a date stands that has hardly moved: as many would be later as earlier.
        """
        now = self._clock.now()
        dates = self._dates(popped)
        share = self._planner.looked_at_share
        visited_at = np.abs(popped["state"].view(STATE)["visited_at"])
        is_due = dates - now <= (NOTICED * (dates - visited_at) if share == 1.0 else 0.0)
        early, visited_at = popped[~is_due], visited_at[~is_due]
        looks = looked_at(now, visited_at, dates[~is_due], share)
        self._frontier.calendar.put_off(early, np.minimum(looks, now + self._planner.look_within_s[1]))
        return popped[is_due]

    def _wait_since(self, record: PageRecord | None, version: int, date: float) -> str:
        """Let a page wait that is due since then; its server, or "" when the date is stale, or it waits.

        Its record knows since when, so that a late visit is noticed.
        """
        care = record.upkeep if record is not None else None
        if record is not None and care is None and version == GIVEN_UP:
            return server_of(record.url) if self._hearing.look_again(record) else ""
        if record is None or care is None or care.version != version:
            return ""
        if not self._frontier.wait_again(record, first=True, urgent=care.polled):
            return ""
        if abs(date - care.due) > NOTICED * care.interval_s:
            care = structs.replace(care, due=date)
            self._frontier.keep_page(structs.replace(record, upkeep=care))
        server = server_of(record.url)
        known = self._frontier.server(server)
        known.due += 1
        late.came(known.waiting, care.interval_s, care.due)
        return server

    def _dates(self, popped: Entries) -> NDArray[np.float64]:
        """When pages should be visited by what they cost and are worth now; a signal's date stands."""
        state = popped["state"].view(STATE)
        visited_at, is_new = np.abs(state["visited_at"]), state["visited_at"] < 0.0
        others = self._planner.said_of(popped["server"]) - prior.said(state["history"])
        worth = self._planner.worth(popped["server"], state["weight"])
        wished = self.policy.intervals_s(state["history"], worth, np.maximum(others, [0.0, -np.inf]))
        first_s = self._settings.first_wait_s
        wished[is_new] = np.minimum(wished[is_new], first_s) if self.policy.has_studied else first_s
        dates = visited_at + self._planner.page_intervals_s(popped["server"], wished, state["weight"])
        dates = np.minimum(dates, self._planner.cycle_dues(popped["server"], visited_at))
        is_fixed = (visited_at == 0.0) | self.policy.is_drawn
        return np.where(is_fixed, popped["due"], dates)

    def before(self, page: Page) -> PageRecord | None:
        """What is known of a page from an earlier visit.

        Whoever learns nothing, where `joro retry` never let pages wait, asks of urgent ones alone: these
        wait among the seeds, and are none.
        """
        is_asked = self._asks_all or page.hops == URGENT
        return self._frontier.visited(fingerprint(page.url)) if is_asked else None

    def first_seen(self, page: Page, before: PageRecord | None) -> Page:
        """The page as it was found, as many links from a seed as it was then."""
        return page if before is None else structs.replace(page, hops=before.hops, cgi_hops=before.cgi_hops)

    def plan_if_due(self) -> None:
        """Plan anew when it is time, a little after each commit."""
        if self.enabled:
            self._planner.advance()

    def known(self, before: PageRecord | None) -> Known | None:
        """The last capture that has the bytes of a page.

        None after a torn answer: the next is archived whole, or the part would pass for the newest version.
        """
        care = before.upkeep if before is not None else None
        if care is None or care.torn or not care.body:
            return None
        return Known(care.captured_at, care.body)

    def validators(self, before: PageRecord | None) -> dict[str, str]:
        """What makes a request conditional.

        Visits are counted that were compared, not versions: with a signal between every two visits, all of
        those would be odd. A redirect, which is never compared, is asked for as it is.
        """
        care = before.upkeep if before is not None else None
        if before is None or care is None or care.torn or care.moved:
            return {}
        proved = self._frontier.server(server_of(before.url)).validated
        every = TRUSTED_EVERY if proved >= TRUSTED_AFTER else UNTRIED_EVERY
        if proved < 0 or (change.visits_in(care.history) + 1) % every == 0:
            return {}
        if self._settings.languages and _is_unheard(care, care.text):
            return {}
        return {"etag": care.etag, "last-modified": care.modified}

    def learn(
        self, visit: Visit, before: PageRecord | None, digest: str, main: int, read_at: float | None = None
    ) -> Upkeep | None:
        """What is kept of a page from now on; None when it is not visited again.

        `digest` is that of the payload, "" where none came; `main` that of its main text; `read_at` when a
        watched source wants to be read again, whatever the policy wishes. History, interval and date follow
        when all visits of a commit are learned from together (`settle`).
        """
        care, name = before.upkeep if before is not None else None, visit.page.server
        server = self._frontier.server(name)
        if before is not None:
            server.due = max(server.due - 1, 0)  # people may have let it wait, uncounted
            if care is not None and server.waiting:
                late.left(server.waiting, care.interval_s, care.due)
            if self._has_batches and (care is None or not care.polled):
                self._batches.visited(name)
        if visit.elapsed_s > 0.0:
            _count_time(server, visit)
        if care is not None and digest != care.body:
            server.validated = validated(server.validated, visit, care, digest)
        lesson = self._lesson(visit, before, digest, main, server)
        if read_at is not None:  # a source is never given up
            lesson.after, lesson.read_at = lesson.after or _copied(care), read_at
        after = lesson.after
        if after is not None:
            after.weight = self._weight_of(name)
        if after is not None or care is not None:
            self._lessons.add(lesson)
        return after

    def put_back(self, visit: Visit) -> None:
        """A passing failure, tried again soon, has held a socket all the same."""
        if self.learns and visit.elapsed_s > 0.0:
            _count_time(self._frontier.server(visit.page.server), visit)

    def _weight_of(self, server: str) -> float:
        """How much a page of a server matters; a usual one counts 1."""
        is_important = self._is_important is not None and self._is_important(server)
        return float(self._settings.importance) if is_important else 1.0

    def settle(self) -> None:
        """Learn from all visits since the last time; before every commit."""
        self._lessons.learn()

    def _lesson(
        self, visit: Visit, before: PageRecord | None, digest: str, main: int, server: ServerRecord
    ) -> Lesson:
        care = before.upkeep if before is not None else None
        lesson = Lesson(visit.page, visit.time, care, None, server=server)
        if care is not None and care.seen_at and is_part(visit):  # as a failure; some answers never end
            lesson.after = structs.replace(self._failed(visit, care), torn=True, absences=0)
        elif visit.outcome is _OK or visit.outcome in KEPT:
            lesson.after, lesson.is_seen = seen(visit, care, digest, main), True
            is_new = lesson.after.captured_at == visit.time
            if self._settings.languages and (is_new or _is_unheard(lesson.after, main)):
                lesson.after.language = _language_of(visit)
            # A redirect is not the page: it does not say whether that changed, nor does the page after it.
            is_page = visit.outcome is not _REDIRECT and not _has_moved(before)
            # Where the clock was once ahead, time since then tells nothing.
            if care is not None and care.captured_at and is_page and visit.time > care.seen_at:
                lesson.elapsed_s = max(visit.time - care.seen_at, 1e-3)
                lesson.changed = is_changed(visit, care, digest, main)
                _hear(visit, care, lesson, server)
            elif visit.outcome is _OK and (care is None or not care.history):
                lesson.age_s = _stood_s(visit)
        elif care is not None and visit.outcome is Outcome.GONE:
            lesson.after = self._gone(care)
        elif visit.outcome in PASSING and not (care is not None and was_here(care)):
            lesson.after = self._gone(care or Upkeep(interval_s=self._settings.first_wait_s / 2))
        elif care is not None and visit.outcome is not Outcome.TRAP:
            lesson.after = self._failed(visit, care)
        return lesson

    def _failed(self, visit: Visit, care: Upkeep) -> Upkeep:
        """A failure teaches nothing, but a page asked for in vain is asked for less often from then on."""
        after = _copied(care)
        was_asked = visit.request or visit.response is not None  # one that was replayed has no request
        if was_asked and visit.outcome is not Outcome.UNWANTED:
            last_s, most_s = care.interval_s, self._settings.most_interval_s
            after.interval_s, after.failures = max(last_s, min(2.0 * last_s, most_s)), care.failures + 1
        return after

    def _gone(self, care: Upkeep) -> Upkeep | None:
        """Looked for again at growing intervals, and then given up; so is one that was never seen."""
        after = _copied(care)
        after.absences += 1
        if after.absences >= self._settings.gone_visits:
            return None
        after.interval_s = min(2.0 * care.interval_s, self._settings.most_interval_s)
        return after

    def forget(self, server: str) -> None:
        """The server is somebody else's."""
        self._batches.gone(server)

    def hear(self, told: Sequence[Signal], every_s: float) -> None:
        """Known pages have changed, says a source, read so long after the last time."""
        if self.enabled:
            self.settle()  # what is known of pages visited since the last commit is known to nobody before
            self._urged += self._hearing.hear(told, self._clock.now(), every_s)

    def urge(self, url: str, *, urgent: bool = False) -> bool:
        """Let a source wait now that was visited before, whatever its date."""
        record = self._frontier.visited(fingerprint(url))
        if record is None or not self._frontier.wait_again(record, first=True, urgent=urgent):
            return False
        server = server_of(url)
        known = self._frontier.server(server)
        known.due += 1
        if record.upkeep is not None:
            late.came(known.waiting, record.upkeep.interval_s, record.upkeep.due)
        self._urged.append(server)
        return True


def _count_time(server: ServerRecord, visit: Visit) -> None:
    """e_i and e_max are how long sockets are held: also by who never answers.

    A refusal within a moment is no download: what failed counts where it took longer than they usually do.
    """
    if visit.response is not None or visit.elapsed_s > server.download_s:
        server.download_s, server.longest_download_s = timed(
            server.download_s, server.longest_download_s, visit.elapsed_s, server.visited
        )


def is_changed(visit: Visit, care: Upkeep, digest: str, main: int) -> bool:
    """Has the page something else to say than before? Only its main text counts, where it has one."""
    if visit.outcome is _NOT_MODIFIED or digest == care.body:
        return False
    return main != care.text if main and care.text else True


def validated(count: int, visit: Visit, care: Upkeep, digest: str) -> int:
    """How many changes have changed a server's validators, after one more visit; negative after a lie.

    A page that changed while its validator stayed would be called unchanged for ever. One of which only a
    part arrived says nothing about that.
    """
    response = visit.response
    if visit.outcome is not _OK or response is None or is_torn(response) or digest == care.body:
        return count
    name, before = ("etag", care.etag) if care.etag else ("last-modified", care.modified)
    if not before or not care.body:
        return count
    is_lie = response.headers.get(name, "") == before
    return -FORGIVEN_AFTER if is_lie else min(count + 1, TRUSTED_AFTER)


def is_torn(response: Response) -> bool:
    """Did less of it arrive than we would have taken? Then the rest may come another time."""
    return response.truncated is not None and response.truncated is not Truncated.LENGTH


def is_part(visit: Visit) -> bool:
    """Did only a part of a page arrive? Where it broke off says nothing about whether the page changed."""
    response = visit.response
    return visit.outcome is _OK and response is not None and is_torn(response)


def _hear(visit: Visit, care: Upkeep, lesson: Lesson, server: ServerRecord) -> None:
    """What the server says of the page's last change, and how far such words came true."""
    if not care.modified or visit.outcome is not _OK or visit.response is None:
        return
    fields = visit.response.headers
    said = fields.get("last-modified", "")
    if not said:
        return
    server.dated = Trust(*server.dated).after(said != care.modified, lesson.changed)
    age = age_s(moment(said) or 0.0, moment(fields.get("date", "")) or 0.0, visit.time)
    if age is not None and said != care.modified:
        lesson.age_s = age


def _stood_s(visit: Visit) -> float:
    """How long a page seen for the first time has stood, by its server's word; not a number: nobody says.

    The server's own date is compared as it is written: to read it takes as long as all the rest.
    """
    fields = visit.response.headers if visit.response is not None else {}
    said = fields.get("last-modified", "")
    if not said or said == fields.get("date", ""):
        return math.nan
    age = age_s(moment(said) or 0.0, 0.0, visit.time)
    return math.nan if age is None else age


def _has_moved(before: PageRecord | None) -> bool:
    """Was a page a redirect when it last answered? Of older records only the last visit is known."""
    if before is None or before.outcome == _REDIRECTED:
        return True
    return before.upkeep is not None and before.upkeep.moved


def _is_unheard(care: Upkeep, main: int) -> bool:
    """Has a page a text whose language is not known, perhaps because none was chosen when it was archived?"""
    return not care.language and main != 0


def _language_of(visit: Visit) -> str:
    if visit.outcome is not _OK or visit.response is None:
        return ""
    return document_of(visit.page.url, visit.response).language or UNTOLD


def seen(visit: Visit, care: Upkeep | None, digest: str, main: int) -> Upkeep:
    """What is known of a page that was there, but for what the visit taught."""
    response = visit.response
    assert response is not None
    after = _copied(care)
    if visit.outcome is not _NOT_MODIFIED:
        after.moved, after.torn = visit.outcome is _REDIRECT, is_part(visit)
        # To ask only for what has changed since a part of it arrived would be never to get the rest.
        headers = {} if is_torn(response) else response.headers
        after.etag, after.modified = headers.get("etag", ""), headers.get("last-modified", "")
        if care is None or care.torn or digest != care.body:
            after.body, after.text = digest, main
            after.captured_at = 0.0 if after.torn else visit.time
    after.seen_at, after.absences, after.failures, after.signals = visit.time, 0, 0, 0
    return after


def _copied(care: Upkeep | None) -> Upkeep:
    """Records read stay as they are, until the one after is written."""
    return structs.replace(care) if care is not None else Upkeep()
