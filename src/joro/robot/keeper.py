"""Which known pages are visited again, and what did their visits teach?

In:    every visit that ended, with what was known of the page before; the calendar.
Out:   pages that are due, waiting in the frontier's queues; of every page visited the next date.
Never: fetches; learns from a failure; forgets a date: it is written in one batch with the page's record.
Paper: S0-01 to S0-03 (refresh before discovery), S0-07 (what cannot be kept is revised), S4-05 (main text).

A page that is due simply waits in its server's queue again, before those never visited. So politeness,
robots.txt, crashes and sleeping servers are dealt with once, for both kinds of page.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray

from joro.clock import Clock
from joro.config import Refresh
from joro.model import Known, Outcome, Page, Visit
from joro.robot.planner import Planner, PlanReport
from joro.robot.policy import Policy
from joro.schedule import change, prior
from joro.schedule.plan import Timing
from joro.store.calendar import Entries, entries
from joro.store.frontier import Frontier
from joro.store.records import PageRecord, Upkeep
from joro.store.upkeep import counting
from joro.url import fingerprint, server_of

#: Pages taken from the calendar at a time.
BATCH = 2_000
#: A page is looked at again after so much of the time until its visit: prices fall as well as rise. When
#: less than so much of its interval is left, it waits for the visit itself.
LOOKED_AT, SOON = 0.6, 0.15
#: Every so many visits a page is asked for without condition: some validators never change.
UNCONDITIONAL_EVERY = 8
#: A server's validators are trusted when so many changes have changed them, and after a change that did not
#: only when so many more have. Pages that stay as they are tell nothing: frozen validators look right there.
TRUSTED_AFTER, FORGIVEN_AFTER = 3, 100
#: Outcomes after which a page is visited again.
KEPT = frozenset({Outcome.OK, Outcome.NOT_MODIFIED, Outcome.REDIRECT})

_KEPT_WORDS = frozenset(outcome.value for outcome in KEPT)
#: Pages that get a date between two commits.
ADOPTED_AT_ONCE = 10_000
ADOPTED = "adopted"

#: What the calendar keeps with a date, so that it can be worked out anew without the page's record.
STATE = np.dtype([("history", change.HISTORY), ("weight", "<f4"), ("visited_at", "<f8")])


class Keeper:
    """The pages of one robot that are visited again."""

    def __init__(self, frontier: Frontier, settings: Refresh, planner: Planner, clock: Clock) -> None:
        self._frontier = frontier
        self._settings = settings
        self.enabled = settings.enabled
        has_dates = bool(frontier.kept(ADOPTED))
        # A crawl that keeps nothing fresh still learns, where there are dates already: none is forgotten.
        self.learns = settings.enabled or has_dates
        self._planner = planner
        self._clock = clock
        self._urged: list[str] = []  # servers of pages urged since the last commit
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
            if record.upkeep is None and record.outcome in _KEPT_WORDS:
                mark, server = fingerprint(record.url), server_of(record.url)
                care = Upkeep(seen_at=record.time, interval_s=self._settings.first_interval_s)
                care.due = self._clock.now() + care.interval_s * (mark / 2**64)
                frontier.keep_page(structs.replace(record, upkeep=care))
                self._planner.enters(frontier.server(server), care)
                self._date(Page(record.url, server=server), care, record.time)
            if number % ADOPTED_AT_ONCE == ADOPTED_AT_ONCE - 1:
                frontier.commit(None)
        frontier.keep(ADOPTED, b"yes")
        frontier.commit(None)

    def bring_due(self) -> list[str]:
        """Let pages wait that are due; their servers."""
        if not self.enabled:
            return []
        now, calendar = self._clock.now(), self._frontier.calendar
        popped = calendar.pop(now, BATCH)
        urged, self._urged = self._urged, []
        if not len(popped):
            return urged
        dates = self._dates(popped)
        is_due = dates <= now
        early = popped[~is_due]
        visited_at = early["state"].view(STATE)["visited_at"]
        calendar.put_off(early, looked_at(now, visited_at, dates[~is_due]))
        due = popped[is_due]
        records = self._frontier.records(due["mark"])
        calendar.drop(due)
        return urged + [
            server_of(record.url)
            for record, counts, date in zip(
                records, counting(due, records).tolist(), due["due"].tolist(), strict=True
            )
            if counts and record is not None and self._wait_since(record, date)
        ]

    def _wait_since(self, record: PageRecord, date: float) -> bool:
        """Let a page wait that is due since then; its record remembers, so that a late visit is noticed."""
        care = record.upkeep
        if care is None or not self._wait(record, urgent=care.polled):
            return False
        self._frontier.keep_page(structs.replace(record, upkeep=structs.replace(care, due=date)))
        return True

    def _wait(self, record: PageRecord, *, urgent: bool) -> bool:
        return self._frontier.wait_again(record, first=True, urgent=urgent)

    def _dates(self, popped: Entries) -> NDArray[np.float64]:
        """When pages should be visited by what they cost and are worth now; a signal's date stands."""
        state = popped["state"].view(STATE)
        if self.policy.is_drawn:
            return np.asarray(popped["due"], np.float64)
        others = self._planner.said_of(popped["server"]) - prior.said(state["history"])
        wished = self.policy.intervals_s(
            state["history"], state["weight"], np.maximum(others, [0.0, -np.inf])
        )
        interval = self._planner.page_intervals_s(popped["server"], wished, state["weight"])
        return np.where(state["visited_at"] > 0.0, state["visited_at"] + interval, popped["due"])

    def before(self, page: Page) -> PageRecord | None:
        """What is known of a page from an earlier visit."""
        return self._frontier.visited(fingerprint(page.url)) if self.learns else None

    def first_seen(self, page: Page, before: PageRecord | None) -> Page:
        """The page as it was found, as many links from a seed as it was then."""
        return page if before is None else replace(page, hops=before.hops, cgi_hops=before.cgi_hops)

    def plan_if_due(self) -> None:
        """Plan anew when it is time."""
        if self.enabled and self._planner.is_due:
            self._planner.round()

    def known(self, before: PageRecord | None) -> Known | None:
        """The last capture that has the bytes of a page."""
        care = before.upkeep if before is not None else None
        return Known(care.captured_at, care.body) if care is not None and care.body else None

    def validators(self, before: PageRecord | None) -> dict[str, str]:
        """What makes a request conditional."""
        care = before.upkeep if before is not None else None
        if before is None or care is None or care.version % UNCONDITIONAL_EVERY == 0:
            return {}
        if self._frontier.server(server_of(before.url)).validated < TRUSTED_AFTER:
            return {}
        return {"etag": care.etag, "last-modified": care.modified}

    def learn(
        self, visit: Visit, before: PageRecord | None, digest: str, main: int, read_at: float | None = None
    ) -> Upkeep | None:
        """What is kept of a page from now on; None when it is not visited again.

        `digest` is that of the payload, "" where none came; `main` that of its main text; `read_at` when a
        watched source wants to be read again, whatever the policy wishes.
        """
        care = before.upkeep if before is not None else None
        server = self._frontier.server(visit.page.server)
        if visit.response is not None and visit.elapsed_s > 0.0:
            timing = Timing(server.download_s, server.longest_download_s)
            server.download_s, server.longest_download_s = timing.after(visit.elapsed_s, server.visited)
        if care is not None:
            server.missed += self._missed(care, visit)
            server.validated = validated(server.validated, visit, care, digest)
            self._planner.leaves(server, care)
        after = self._after(visit, care, digest, main)
        if read_at is not None:
            after = _polled(visit, care, after, read_at)
        elif after is not None:
            after.polled = False
        if after is not None:
            self._planner.enters(server, after)
            self._date(visit.page, after, visit.time)
        return after

    def _missed(self, care: Upkeep, visit: Visit) -> int:
        """S0 counts periods without a visit: a page visited two intervals late missed two.

        Late is what comes after the date that the calendar had. A plan that has become less strict since
        makes nobody late: the page was to wait that long when it was last looked at.
        """
        late_s = visit.time - care.due
        if late_s < self._settings.least_interval_s:
            return 0
        server, wished_s = visit.page.server, care.interval_s
        if _is_priced(care) and not self.policy.is_drawn:
            wished_s = self._wished_s(server, care, is_first=False)
        interval_s = self._interval_s(server, wished_s, care.weight)
        return int(late_s / interval_s) if interval_s > 0.0 else 0

    def _after(self, visit: Visit, care: Upkeep | None, digest: str, main: int) -> Upkeep | None:
        after: Upkeep | None
        if visit.outcome in KEPT:
            after = self._seen(visit, care, digest, main)
        elif care is None or visit.outcome is Outcome.TRAP:
            return None
        elif visit.outcome is Outcome.GONE:
            after = self._gone(care)
        else:  # a failure teaches nothing
            after = _copied(care)
        if after is not None:
            after.version = care.version + 1 if care is not None else 1
            after.due = visit.time + self._interval_s(visit.page.server, after.interval_s, after.weight)
        return after

    def _seen(self, visit: Visit, care: Upkeep | None, digest: str, main: int) -> Upkeep:
        response = visit.response
        assert response is not None
        after = _copied(care) if care is not None else Upkeep()
        if visit.outcome is not Outcome.NOT_MODIFIED:
            after.etag = response.headers.get("etag", "")
            after.modified = response.headers.get("last-modified", "")
            if care is None or digest != care.body:
                after.body, after.captured_at, after.text = digest, visit.time, main
        if care is not None and care.body:
            changed = is_changed(visit, care, digest, main)
            others = self._others(visit.page.server)
            after.history = self.policy.learned(care.history, visit.time - care.seen_at, changed, others)
        after.seen_at, after.absences = visit.time, 0
        after.interval_s = self._wished_s(visit.page.server, after, is_first=care is None)
        return after

    def _gone(self, care: Upkeep) -> Upkeep | None:
        """Looked for again at growing intervals, and then given up."""
        after = _copied(care)
        after.absences += 1
        if after.absences >= self._settings.gone_visits:
            return None
        after.interval_s = min(2.0 * care.interval_s, self._settings.most_interval_s)
        return after

    def _wished_s(self, server: str, care: Upkeep, *, is_first: bool) -> float:
        if is_first and not self.policy.has_studied:
            return self._settings.first_interval_s
        weights = np.array([care.weight], np.float32)
        wished = self.policy.intervals_s(change.unpack([care.history]), weights, self._others(server))
        return min(float(wished[0]), self._settings.first_interval_s) if is_first else float(wished[0])

    def _others(self, server: str) -> prior.Said:
        """What the other pages of a server have said, while the page at hand is taken out."""
        return np.array([self._frontier.server(server).said])

    def _interval_s(self, server: str, wished_s: float, weight: float) -> float:
        marks = np.array([fingerprint(server)], np.uint64)
        return float(self._planner.page_intervals_s(marks, [wished_s], [weight])[0])

    def _date(self, page: Page, care: Upkeep, now: float) -> None:
        state = np.zeros(1, STATE)
        state["history"], state["weight"] = change.unpack([care.history]), care.weight
        due: NDArray[np.float64] = np.array([care.due])
        if _is_priced(care):
            state["visited_at"] = care.seen_at
            due = due if self.policy.is_drawn else looked_at(now, care.seen_at, due)
        mark, server = fingerprint(page.url), fingerprint(page.server)
        self._frontier.calendar.push(entries(due, mark, care.version, server, state.tobytes()))

    def urge(self, url: str, *, urgent: bool = False) -> bool:
        """Let a visited page wait now, whatever its date: a signal says that it has changed."""
        record = self._frontier.visited(fingerprint(url))
        if record is None or not self._wait(record, urgent=urgent):
            return False
        self._urged.append(server_of(url))
        return True


def looked_at(now: float, visited_at: ArrayLike, due: NDArray[np.float64]) -> NDArray[np.float64]:
    """When pages that are due later are looked at again."""
    left = due - now
    return np.where(left > SOON * (due - np.asarray(visited_at)), now + LOOKED_AT * left, due)


def is_changed(visit: Visit, care: Upkeep, digest: str, main: int) -> bool:
    """Has the page something else to say than before? Only its main text counts, where it has one."""
    if visit.outcome is Outcome.NOT_MODIFIED or digest == care.body:
        return False
    return main != care.text if main and care.text else True


def validated(count: int, visit: Visit, care: Upkeep, digest: str) -> int:
    """How many changes have changed a server's validators, after one more visit; negative after a lie.

    A page that changed while its validator stayed would be called unchanged for ever.
    """
    if visit.outcome is not Outcome.OK or visit.response is None or digest == care.body:
        return count
    name, before = ("etag", care.etag) if care.etag else ("last-modified", care.modified)
    if not before or not care.body:
        return count
    is_lie = visit.response.headers.get(name, "") == before
    return -FORGIVEN_AFTER if is_lie else min(count + 1, TRUSTED_AFTER)


def _is_priced(care: Upkeep) -> bool:
    """At its second visit, while it is gone, and as a source a page has a date that no price moves."""
    return bool(care.history) and not care.absences and not care.polled


def _polled(visit: Visit, care: Upkeep | None, after: Upkeep | None, read_at: float) -> Upkeep:
    """A source is never given up, and its date is its own."""
    after = after or (_copied(care) if care is not None else Upkeep())
    after.version = care.version + 1 if care is not None else 1
    after.due, after.interval_s, after.polled = read_at, max(read_at - visit.time, 1.0), True
    return after


def _copied(care: Upkeep) -> Upkeep:
    """Records read stay as they are, until the one after is written."""
    return structs.replace(care)
