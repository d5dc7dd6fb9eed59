"""May we ask this server for this page?

In:    robots.txt answers as they arrive.
Out:   the rules of a server while they are fresh; None when its robots.txt must be read first.
Never: asks the network itself: the robot reads robots.txt as a visit like any other, in the server's turn.
Paper: S3, exclusion management inside the unit; S2 table 1, re-read every 6 hours at the latest.
"""

from __future__ import annotations

from joro.clock import Clock
from joro.config import Politeness
from joro.fetch import robotstxt
from joro.fetch.robotstxt import Robots
from joro.model import Outcome, Visit
from joro.store.frontier import Frontier, RobotsRecord

#: Rules kept parsed in memory; the frontier keeps the text of all.
IN_MEMORY = 20_000


class Exclusions:
    """robots.txt rules per server, remembered over restarts."""

    def __init__(self, frontier: Frontier, settings: Politeness, *, agent: str, clock: Clock) -> None:
        self._frontier = frontier
        self._settings = settings
        self._agent = agent
        self._clock = clock
        self._rules: dict[str, tuple[float, Robots]] = {}

    def rules(self, server: str) -> Robots | None:
        """The server's rules, or None when robots.txt has to be read (again) first."""
        if not self._settings.robots_txt:
            return robotstxt.ALLOW_ALL
        read_at, rules = self._rules.get(server) or self._recall(server)
        fresh = read_at >= self._clock.now() - self._settings.robots_age_s
        return rules if fresh else None

    def learn(self, visit: Visit, body: bytes) -> Robots:
        """Take in what a visit to /robots.txt brought; `body` is the decoded text."""
        record = RobotsRecord(visit.time, _status(visit), body)
        self._frontier.keep_robots(visit.page.server, record)
        return self._remember(visit.page.server, record)

    def _recall(self, server: str) -> tuple[float, Robots]:
        record = self._frontier.robots(server)
        if record is None:
            return float("-inf"), robotstxt.DISALLOW_ALL
        return record.time, self._remember(server, record)

    def _remember(self, server: str, record: RobotsRecord) -> Robots:
        if len(self._rules) >= IN_MEMORY:
            self._rules.clear()
        rules = robotstxt.from_status(record.status, record.body, self._agent)
        self._rules[server] = (record.time, rules)
        return rules


def _status(visit: Visit) -> int:
    """The status robots.txt counts as: 0 when unreachable; a redirect elsewhere counts as "none there"."""
    if visit.outcome is Outcome.REDIRECT:
        return 404
    return visit.response.status if visit.response is not None else 0
