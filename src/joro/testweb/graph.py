"""Which page links to which?

In:    the plan.
Out:   the targets of every page: its children in the tree that makes each site reachable from its front
       page, neighbours, the site's hubs, and pages of other hosts, near ones and famous ones.
Never: changes with time; articles of news hosts, traps and other made-up paths are not in it.

In-degree follows a power law on both levels: inside a site low places are chosen more often, among hosts
the fame falls with the rank in size.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from joro.testweb.chance import Stream, source
from joro.testweb.plan import Host, Plan

Picker = Callable[[], int]

#: Children of a page in its site's tree: a site of 4,000 pages is four clicks deep.
SITE_FAN = 8
BENCH_LINKS = 30
#: Out-degree is log-normal: median 25, mean 30.
LINKS_MEDIAN, LINKS_SIGMA = 25.0, 0.6
LINKS_LIMIT = 200
INSIDE_SHARE = 0.75
#: Of the links to other hosts: to the neighbourhood, to the famous of the same language, to the famous.
NEAR, SAME_LANGUAGE = 0.35, 0.75
NEIGHBOURHOOD = 20
#: The last tenth of a sitemap host's pages is linked from nowhere: only the sitemap knows them.
ORPHANS = 0.1
TINY_EVERY = 301


@dataclass(frozen=True)
class Fame:
    """Hosts by fame, to pick from in proportion to 1/rank."""

    hosts: list[int]
    cumulated: list[float]

    @classmethod
    def of(cls, hosts: list[int]) -> Fame:
        return cls(hosts, list(itertools.accumulate(1.0 / (rank + 3) for rank in range(len(hosts)))))

    def pick(self, rng: Random) -> int:
        place = bisect.bisect(self.cumulated, rng.random() * self.cumulated[-1])
        return self.hosts[min(place, len(self.hosts) - 1)]


class Graph:
    """The links of every page, computed when asked for."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._exact = plan.settings.profile == "bench"
        ranked = sorted(plan.hosts, key=lambda host: (-host.pages, host.number))
        by_language: dict[str, list[int]] = defaultdict(list)
        for host in ranked:
            by_language[host.language].append(host.number)
        self._fame = Fame.of([host.number for host in ranked])
        self._villages = {language: sorted(hosts) for language, hosts in by_language.items()}
        self._language_fame = {language: Fame.of(hosts) for language, hosts in by_language.items()}

    def links(self, page: int) -> list[int]:
        """The pages `page` links to, each once; those it must link to come first."""
        host = self._plan.host_of(page)
        if host.copy_of >= 0 and host.kind == "exact":
            return self._copied(host, page)
        if is_tiny(self._plan, page):
            return []
        return self._drawn(host, page)

    def _copied(self, host: Host, page: int) -> list[int]:
        """The original's links; those without a host's name now lead to the copy's own pages."""
        original = self._plan.hosts[host.copy_of]
        start = original.first + page - host.first
        return [
            target - original.first + host.first
            if original.first <= target < original.first + original.pages
            and not says_host(original, start, target)
            else target
            for target in self.links(start)
        ]

    def _drawn(self, host: Host, page: int) -> list[int]:
        place = page - host.first
        rng = source(self._plan.settings.seed, Stream.LINKS, page)
        targets = dict.fromkeys(self._required(host, place))
        wanted = max(len(targets), self._degree(rng))
        inside = min(linked_pages(host) - 1, round(wanted * INSIDE_SHARE))
        self._fill(targets, inside, lambda: self._inside(rng, host, place), page)
        self._fill(targets, wanted, lambda: self._outside(rng, host), page)
        if self._exact:  # the famous repeat themselves; anyone makes up the number
            self._fill(targets, wanted, lambda: rng.randrange(self._plan.pages), page)
        return list(targets)

    def _required(self, host: Host, place: int) -> list[int]:
        below = range(place * SITE_FAN + 1, min(place * SITE_FAN + SITE_FAN, linked_pages(host) - 1) + 1)
        required = [host.first + child for child in below]
        if place == 0:
            return required + [
                self._plan.hosts[child].first for child in self._plan.children.get(host.number, [])
            ]
        return [*required, host.first, host.first + (place - 1) // SITE_FAN]

    def _degree(self, rng: Random) -> int:
        if self._exact:
            return BENCH_LINKS
        return min(LINKS_LIMIT, round(LINKS_MEDIAN * rng.lognormvariate(0.0, LINKS_SIGMA)))

    def _fill(self, targets: dict[int, None], wanted: int, pick: Picker, page: int) -> None:
        for _ in range(4 * wanted):
            if len(targets) >= wanted:
                return
            target = pick()
            if target != page:
                targets[target] = None

    def _inside(self, rng: Random, host: Host, place: int) -> int:
        pages = linked_pages(host)
        if rng.random() < 0.4:
            near = place + int(31 * rng.random()) - 15
            return host.first + near % pages
        return host.first + int(pages * rng.random() ** 3)

    def _outside(self, rng: Random, host: Host) -> int:
        pick = rng.random()
        if pick < NEAR:
            step = int((2 * NEIGHBOURHOOD + 1) * rng.random()) - NEIGHBOURHOOD
            village = self._villages[host.language]
            number = village[(bisect.bisect_left(village, host.number) + step) % len(village)]
        elif pick < SAME_LANGUAGE:
            number = self._language_fame[host.language].pick(rng)
        else:
            number = self._fame.pick(rng)
        other = self._plan.hosts[number]
        place = 0 if rng.random() < 0.6 else int(linked_pages(other) * rng.random() ** 3)
        return other.first + place


def linked_pages(host: Host) -> int:
    """How many of a host's pages, from the front page on, are linked at all."""
    if host.role == "sitemap":
        return max(1, host.pages - int(host.pages * ORPHANS))
    return host.pages


def says_host(host: Host, page: int, target: int) -> bool:
    """True when a link within the site is written with the host's name all the same."""
    return host.base or (page + target) % 5 == 0


def is_nofollow(host: Host, page: int, target: int) -> bool:
    """True for links marked rel=nofollow: some to other hosts, none on front pages."""
    outside = not host.first <= target < host.first + host.pages
    return outside and page != host.first and (page + target) % 17 == 0


def is_tiny(plan: Plan, page: int) -> bool:
    """True for the few pages that are nothing but a title; none depends on them."""
    if plan.settings.profile == "bench" or page % TINY_EVERY != TINY_EVERY - 1:
        return False
    host = plan.host_of(page)
    return host.copy_of < 0 and is_leaf(host, page - host.first)


def is_leaf(host: Host, place: int) -> bool:
    """True when no other page depends on this one to be reached."""
    return place > 0 and place * SITE_FAN + 1 >= linked_pages(host)
