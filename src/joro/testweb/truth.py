"""What is planned for this web, seen or unseen?

In:    a question's arguments.
Out:   hosts, pages, links, change times, articles, and which pages a polite visitor can reach.
Never: looks at the access log: what happened is `witness`' to tell.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from joro.model import DAY_S
from joro.testweb import moods, robots
from joro.testweb.graph import is_nofollow
from joro.testweb.paths import path, place, url
from joro.testweb.plan import Host
from joro.testweb.settings import EPOCH
from joro.testweb.site import Site

Arguments = dict[str, str]


class Unknown(LookupError):
    """The question names something that is not on this web."""


class Truth:
    """Everything the plan knows."""

    def __init__(self, site: Site, now: Callable[[], float]) -> None:
        self.site = site
        self.plan = site.plan
        self._now = now  # virtual time
        self.rules = [robots.rules(host) for host in self.plan.hosts]

    def summary(self, _: Arguments) -> Any:
        """Counts, and where to start."""
        plan = self.plan
        return {
            "seed": plan.settings.seed,
            "hosts": len(plan.hosts),
            "pages": plan.pages,
            "roles": Counter(host.role for host in plan.hosts),
            "languages": Counter(host.language for host in plan.hosts),
            "addresses": len({host.address for host in plan.hosts}),
            "seeds": plan.seeds(),
        }

    def hosts(self, arguments: Arguments) -> Any:
        """Every host (of one role) with all its habits."""
        wanted = arguments.get("role", "")
        return [self._host_facts(host) for host in self.plan.hosts if wanted in ("", host.role)]

    def _host_facts(self, host: Host) -> dict[str, Any]:
        facts = asdict(host) | {"url": host.url, "rules": asdict(self.rules[host.number])}
        if host.role == "throttling":
            facts["pause_s"] = moods.pause_s(host)
        if host.kind == "delay" and host.role == "slow":
            facts["delay_s"] = moods.delay_s(host)
        if host.role == "news":
            facts["articles_per_day"] = self.site.news.articles_per_day(host)
        return facts

    def pages(self, arguments: Arguments) -> Any:
        """Every page (of one host), with its links when `links=1`."""
        links = arguments.get("links") == "1"
        return [self._facts(page, links) for page in self.asked(arguments)]

    def page(self, arguments: Arguments) -> Any:
        """All truth about one page, `at` a moment (default: now)."""
        page = self.number(arguments["url"])
        host = self.plan.host_of(page)
        state = self.site.state(page, float(arguments.get("at", self._now())))
        return self._facts(page, links=True) | {
            "role": host.role,
            "version": f"{state.version:x}",
            "advertisement": f"{state.advertisement:x}",
            "changed": state.since,
            "next_change": _finite(state.until),
        }

    def _facts(self, page: int, links: bool) -> dict[str, Any]:
        host, changes = self.plan.host_of(page), self.site.changes
        facts: dict[str, Any] = {
            "url": url(self.plan, page),
            "number": page,
            "host": host.name,
            "title": self.site.pages.title(page),
            "language": host.language,
            "charset": host.charset,
            "needle": self.site.pages.needle(page),
            "kind": changes.kind(page),
            "rate_per_day": changes.rate_per_day(page),
            "copy_of": url(self.plan, changes.original(page)) if host.copy_of >= 0 else None,
            "gone": _finite(changes.gone(page)),
            "disallowed": self.is_disallowed(page),
        } | asdict(self.site.pages.directions(page))
        if links:
            facts["links"] = [url(self.plan, target) for target in self.site.graph.links(page)]
        return facts

    def changes(self, arguments: Arguments) -> Any:
        """True change times in (since, until], of one page, one host, or everything: {url: [times]}."""
        since, until = self._period(arguments)
        found = ((page, self.site.changed(page, since, until)) for page in self.asked(arguments))
        return {url(self.plan, page): times for page, times in found if times or "url" in arguments}

    def articles(self, arguments: Arguments) -> Any:
        """News that appears in (since, until], on one host or on all."""
        since, until = self._period(arguments)
        hosts = [self.host(arguments["host"])] if "host" in arguments else self.plan.hosts
        return [
            {"url": host.url[:-1] + one.path, "time": one.time, "title": one.title, "needle": one.needle}
            for host in hosts
            if host.role == "news"
            for one in self.site.news.between(host, since, until)
        ]

    def links(self, arguments: Arguments) -> Any:
        """Edges [from, to] as page numbers, and the URL of every page among them."""
        edges = [[page, target] for page in self.asked(arguments) for target in self.site.graph.links(page)]
        named = {number for edge in edges for number in edge}
        return {"edges": edges, "urls": {str(page): url(self.plan, page) for page in sorted(named)}}

    def reachable(self, arguments: Arguments) -> Any:
        """{url: hops} of the planned pages a polite visitor finds by links from a seed (default: the first).

        It skips what robots.txt disallows, links and pages marked nofollow, pages that are gone, and hosts
        that never answer whole. Redirects, sitemaps and feeds may lead to more.
        """
        start = self.number(arguments.get("url", self.plan.seeds()[0]))
        hops = {start: 0}
        queue = deque([start])
        while queue:
            page = queue.popleft()
            for target in self._followed(page):
                if target not in hops and self._answers(target):
                    hops[target] = hops[page] + 1
                    queue.append(target)
        return {url(self.plan, page): count for page, count in hops.items()}

    def _followed(self, page: int) -> Iterable[int]:
        if self.site.pages.directions(page).nofollow:
            return ()
        host = self.plan.host_of(page)
        return (target for target in self.site.graph.links(page) if not is_nofollow(host, page, target))

    def _answers(self, page: int) -> bool:
        host = self.plan.host_of(page)
        if host.role == "dead" or host.kind in ("stall", "rebinding"):
            return False
        return not self.is_disallowed(page) and self.site.changes.gone(page) > self._now()

    def is_disallowed(self, page: int) -> bool:
        """Whether robots.txt forbids the page."""
        host = self.plan.host_of(page)
        return self.rules[host.number].forbids(path(host, page - host.first))

    def _period(self, arguments: Arguments) -> tuple[float, float]:
        return float(arguments.get("since", EPOCH)), float(arguments.get("until", self._now()))

    def asked(self, arguments: Arguments) -> range:
        """The pages a question is about: `url`, `host`, or all."""
        if "url" in arguments:
            page = self.number(arguments["url"])
            return range(page, page + 1)
        if "host" in arguments:
            host = self.host(arguments["host"])
            return range(host.first, host.first + host.pages)
        return range(self.plan.pages)

    def host(self, name: str) -> Host:
        """The host of that name."""
        if name not in self.plan.by_name:
            raise Unknown(f"no host {name}")
        return self.plan.by_name[name]

    def number(self, address: str) -> int:
        """The page at that URL."""
        parts = urlsplit(address)
        host = self.host(parts.hostname or "")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        found = place(host, target.encode())
        if found < 0:
            raise Unknown(f"no page {address}")
        return host.first + found


def _finite(time: float) -> float | None:
    return time if time < EPOCH + 1e5 * DAY_S else None
