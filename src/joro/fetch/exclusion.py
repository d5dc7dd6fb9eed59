"""May we ask this server for this page?

In:    robots.txt answers as they arrive.
Out:   the rules of a server while they are fresh; else the errand that must be run first: which
       robots.txt to read, in whose turn.
Never: asks the network itself: the robot runs errands as visits like any other, so politeness holds for
       them too. A robots.txt that redirects to another server is read in *that* server's turn. Takes a
       part of a robots.txt for all of it: what it did not get to say may forbid everything. Lets
       robots.txt have every turn of a server whose pauses are longer than rules are good for: where that
       happens twice in a row, rules are good for the server's next turn, however long it was left alone.
Paper: S3, exclusion management inside the unit; S2 table 1, re-read every 6 hours at the latest;
       RFC 9309, 2.3.1: five redirects followed, 4xx allows, 5xx and silence disallow.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from joro.clock import Clock
from joro.config import Politeness
from joro.fetch import robotstxt
from joro.fetch.robotstxt import Robots
from joro.model import Outcome, Page, Visit
from joro.store.frontier import Frontier
from joro.store.records import UNHEARD, RobotsRecord
from joro.url import join, server_of

#: Rules kept parsed in memory; the frontier keeps the text of all.
IN_MEMORY = 20_000
#: RFC 9309, 2.3.1.2: "at least five consecutive redirects".
REDIRECTS = 5
#: No robots.txt lies behind a longer URL, and readers of WARCs give up on a record that names one.
URL_LIMIT_CHARS = 2_000
#: The clocks of two robots that cooperate, and may give each other their rules, differ by less.
SKEW_S = 60.0


#: No text has these, and everything packed does.
_PACKED = re.compile(rb"[\x00-\x08\x0e-\x1f]")
#: Under which status it is kept why a server gave no answer.
_STATUS_OF = {outcome: status for status, outcome in UNHEARD.items()}


@dataclass(frozen=True, slots=True)
class Errand:
    """Read `url` to learn the rules of `server`, which redirected us there `redirects` times."""

    url: str
    server: str
    redirects: int = 0
    tries: int = 0  # that have failed


def as_heard(visit: Visit, body: bytes, undecoded: str = "", *, breaks_off: bool = False) -> Visit:
    """A visit to a robots.txt; one that brought only a part of it, or nothing to be read, was no answer.

    `undecoded` names an encoding that is still on `body`. Where that is a text all the same, there was none.
    `breaks_off`: an encoding does, or its chunks do, before the end.
    """
    response = visit.response
    if response is None or not 200 <= response.status < 300 or len(body) >= robotstxt.SIZE_LIMIT_BYTES:
        return visit
    if response.truncated is not None:
        detail = f"only a part of it arrived ({response.truncated.value})"
    elif breaks_off:
        detail = "its encoding or its chunks break off"
    elif undecoded and _PACKED.search(body):
        detail = f"its {undecoded} encoding cannot be read"
    else:
        return visit
    return replace(visit, outcome=Outcome.UNREACHABLE, response=None, detail=detail)


class Exclusions:
    """robots.txt rules per server, remembered over restarts."""

    def __init__(
        self, frontier: Frontier, settings_of: Callable[[str], Politeness], *, agent: str, clock: Clock
    ) -> None:
        self._frontier = frontier
        self._settings_of = settings_of
        self._agent = agent
        self._clock = clock
        self.may_ask: Callable[[str], bool] = lambda server: True  # on behalf of another one
        self.has_pages: Callable[[str], bool] = lambda server: True  # that wait to be asked for
        self._known: dict[str, tuple[RobotsRecord, Robots]] = {}
        self._errands: defaultdict[str, deque[Errand]] = defaultdict(deque)
        self._away: set[str] = set()  # servers whose rules another server's turn will bring

    def rules(self, server: str) -> Robots | None:
        """The server's rules, or None while its robots.txt has to be read (again) first."""
        settings = self._settings_of(server)
        if not settings.robots_txt:
            return robotstxt.ALLOW_ALL
        known = self._known.get(server) or self._recall(server)
        if known is None:
            return None
        now, read_at, age_s = self._clock.now(), known[0].time, settings.robots_age_s
        if read_at > now + SKEW_S:
            return None  # by a clock that was ahead; nobody knows how old they are
        if read_at + age_s < now and not self._is_first_turn(server, age_s):
            return None
        return known[1]

    def _is_first_turn(self, server: str, age_s: float) -> bool:
        """Has the server only now got the turn for which its robots.txt was read, and the one before in vain?

        Reading it again helps where hours had ended meanwhile, but not where every pause is too long.
        """
        record = self._frontier.server(server)
        in_vain = record.rules_unused and record.rules_wasted
        return in_vain and self._clock.now() <= record.ready_at + age_s

    def used(self, server: str) -> None:
        """A page was asked for by the rules of its server."""
        record, known = self._frontier.server(server), self._known.get(server)
        record.rules_unused = False
        if record.rules_wasted and known is not None:
            record.rules_wasted = known[0].time + self._settings_of(server).robots_age_s < self._clock.now()

    def _note_waste(self, server: str) -> None:
        """Were its rules too old already when the server might first be asked for a page by them?"""
        record, known = self._frontier.server(server), self._known.get(server)
        if record.rules_unused and known is not None:
            record.rules_wasted = record.ready_at > known[0].time + self._settings_of(server).robots_age_s

    def refusal(self, server: str) -> Outcome:
        """What to call it when the rules forbid a page: silence and 5xx are no rule, but no leave either.

        Where robots.txt could not even be asked for, as at a private address, no page can be: it fares alike.
        """
        known = self._known.get(server) or self._recall(server)
        status = known[0].status if known is not None else 0
        if status <= 0:
            return UNHEARD.get(status, Outcome.UNREACHABLE)
        if status == 429:
            return Outcome.THROTTLED
        return Outcome.SERVER_ERROR if status >= 500 else Outcome.DISALLOWED

    def crawl_delay_s(self, server: str) -> float | None:
        """The delay the server wished for when it was last asked, however long ago."""
        if not self._settings_of(server).robots_txt:
            return None
        known = self._known.get(server) or self._recall(server)
        return known[1].crawl_delay_s if known is not None else None

    def errand(self, server: str) -> Errand | None:
        """What to read in this server's turn before any of its pages; None when nothing, or not yet."""
        waiting = self._errands.get(server)
        if waiting:
            errand = waiting.popleft()
            if not waiting:
                del self._errands[server]
            return errand
        if not self.is_due(server):
            return None
        self._note_waste(server)
        return Errand(f"{server}/robots.txt", server)

    def awaits(self, server: str) -> bool:
        """Is there something to read in this server's turn that somebody waits for?"""
        return server in self._errands

    def is_due(self, server: str) -> bool:
        """Does the server's own robots.txt have to be read, in its own turn?"""
        return server not in self._away and self.rules(server) is None and self.has_pages(server)

    def retry(self, errand: Errand) -> None:
        """The errand was not run, or failed for now: run it again in the same server's next turn."""
        self._errands[server_of(errand.url)].append(errand)

    def learn(self, errand: Errand, visit: Visit, body: bytes) -> str:
        """Take in what an errand brought (`body`: the decoded text); the server whose turn should come."""
        onward = self._onward(errand, visit)
        if onward is not None:
            host = server_of(onward.url)
            self._away.add(errand.server)
            self._errands[host].append(onward)
            return host
        self._away.discard(errand.server)
        status = self._standing(errand, visit)
        record = RobotsRecord(visit.time, status, body if status > 0 else b"")
        self._frontier.keep_robots(errand.server, record)
        self._frontier.server(errand.server).rules_unused = True
        self._remember(errand.server, record)
        return errand.server

    def _standing(self, errand: Errand, visit: Visit) -> int:
        """The status to judge by. Rules that only another robot may read are unreachable, not absent.

        Why another server gave no answer, to which this one redirected us, says nothing about its own pages.
        """
        if visit.response is None:
            return _STATUS_OF.get(visit.outcome, 0) if server_of(errand.url) == errand.server else 0
        status = visit.response.status
        if not 300 <= status < 400:
            return status
        target = self._target(errand, visit)
        return 404 if target is None or self.may_ask(server_of(target)) else 0

    def _target(self, errand: Errand, visit: Visit) -> str | None:
        """Where a redirect leads, if we would go there."""
        assert visit.response is not None
        target = join(errand.url, visit.response.headers.get("location", ""))
        return target if target is not None and len(target) <= URL_LIMIT_CHARS else None

    def _onward(self, errand: Errand, visit: Visit) -> Errand | None:
        if visit.outcome is not Outcome.REDIRECT or visit.response is None or errand.redirects == REDIRECTS:
            return None
        target = self._target(errand, visit)
        if not target or not self.may_ask(server_of(target)):
            return None
        return Errand(target, errand.server, errand.redirects + 1)

    def recall(self, server: str, record: RobotsRecord) -> None:
        """The rules of a server as another robot read them."""
        self._remember(server, record)

    def forget(self, server: str) -> list[str]:
        """A server is somebody else's now; those whose rules it was to bring must ask for themselves."""
        self._known.pop(server, None)
        self._away.discard(server)
        stranded = [errand.server for errand in self._errands.pop(server, ()) if errand.server != server]
        self._away.difference_update(stranded)
        for host, errands in list(self._errands.items()):
            self._errands[host] = deque(errand for errand in errands if errand.server != server)
            if not self._errands[host]:
                del self._errands[host]
        return stranded

    def out_of_reach(self, host: str) -> list[str]:
        """Nobody may ask at `host`: what others have there is unreachable; which servers they are."""
        waiting = self._errands.pop(host, None) or ()
        stranded = [errand for errand in waiting if errand.server != host]
        for own in waiting:
            if own.server == host:
                self.retry(own)
        for errand in stranded:
            silence = Visit(Page(errand.url, 0, host), self._clock.now(), Outcome.UNREACHABLE)
            self.learn(errand, silence, b"")
        return [errand.server for errand in stranded]

    def shed(self) -> None:
        """Keep no rules in memory: the frontier has them. Only right after a commit."""
        self._known.clear()

    def _recall(self, server: str) -> tuple[RobotsRecord, Robots] | None:
        record = self._frontier.robots(server)
        return self._remember(server, record) if record is not None else None

    def _remember(self, server: str, record: RobotsRecord) -> tuple[RobotsRecord, Robots]:
        if len(self._known) >= IN_MEMORY:
            self._known.clear()
        self._known[server] = record, robotstxt.from_status(record.status, record.body, self._agent)
        return self._known[server]
