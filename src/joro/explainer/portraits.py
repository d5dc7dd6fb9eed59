"""How are the servers of one share kept fresh?

In:    a frontier, as of the last commit and planning round; the settings.
Out:   figures of any server, and what it takes to find those with most trouble.
Never: changes anything; sees a page.
"""

from __future__ import annotations

import msgspec

from joro.config import Config
from joro.config.servers import servers_like
from joro.fetch import robotstxt
from joro.fetch.politeness import Manners
from joro.schedule import figures, prior
from joro.schedule.feasible import NEUTRAL, Rule
from joro.schedule.figures import ServerFigures, figures_of
from joro.schedule.plan import Timing
from joro.schedule.revisit import Revisiting
from joro.store.frontier import Frontier
from joro.store.records import RobotsRecord, ServerRecord


class _Way(msgspec.Struct):
    """By what all servers gave way in the last planning round: a part of its report."""

    rule: str = Rule.STRETCH.value
    strength: float = NEUTRAL[Rule.STRETCH]


class Portraits:
    """How the servers of one share are kept fresh, as of the last commit and planning round."""

    def __init__(self, frontier: Frontier, config: Config, manners: Manners) -> None:
        self._frontier = frontier
        self._agent = config.identity.name
        self._manners = manners
        self._is_important = servers_like(config.refresh.important)
        self._importance = float(config.refresh.importance)
        refresh, packed = config.refresh, frontier.kept(figures.KEPT_AS).get(figures.KEPT_AS)
        way = msgspec.json.decode(packed, type=_Way) if packed else _Way()
        policy = Revisiting(
            policy=refresh.policy,
            theta=refresh.every_version_percent / 100,
            shortest_s=refresh.least_interval_s,
            longest_s=refresh.most_interval_s,
        )
        self._terms = figures.Terms(policy, Rule(way.rule), way.strength, known_prior(frontier))

    def of(self, server: str, record: ServerRecord) -> ServerFigures:
        """One server."""
        return figures_of(self._known(server, record), self._terms)

    def trouble(self, server: str, record: ServerRecord) -> tuple[int, float]:
        """Visits it missed, and what its pages wish of what it bears: at hand at once."""
        return record.missed_lately, figures.utilisation(self._known(server, record))

    def _known(self, server: str, record: ServerRecord) -> figures.Server:
        robots = self._frontier.robots(server) if self._manners.of(server).robots_txt else None
        delay = rules_in(robots, self._agent).crawl_delay_s if robots else None
        timing = Timing(record.download_s, record.longest_download_s)
        minimum_s = self._manners.mean_s(server, record, delay)
        weight = self._importance if self._is_important(server) else 1.0
        known = record.wishes, timing, minimum_s, record.said, record.due, record.missed_lately, weight
        return figures.Server(*known)


def known_prior(frontier: Frontier | None) -> prior.Prior:
    """What the robot last expected of pages of any server."""
    packed = frontier.kept(prior.KEPT_AS).get(prior.KEPT_AS) if frontier is not None else None
    return prior.unpacked(packed) if packed else prior.BROAD


def rules_in(record: RobotsRecord, agent: str) -> robotstxt.Robots:
    return robotstxt.from_status(record.status, record.body, agent)
