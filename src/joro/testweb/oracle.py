"""What is the truth?

In:    a question as a path with arguments, e.g. `/page?url=http://…`.
Out:   JSON: hosts, pages, links, changes, the access log, and verdicts drawn from it.
Never: guesses: everything comes from the plan or from what the server saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import numpy as np

from joro.clock import Clock
from joro.testweb import politeness, robots
from joro.testweb.log import COLUMNS, AccessLog, Rows
from joro.testweb.paths import path, place, url
from joro.testweb.plan import Host
from joro.testweb.settings import DAY_S, EPOCH
from joro.testweb.site import Site

Arguments = dict[str, str]


class Unknown(LookupError):
    """The question names something that is not on this web."""


class Oracle:
    """Answers questions about one running web."""

    def __init__(self, site: Site, log: AccessLog, clock: Clock, real: Clock) -> None:
        self._site = site
        self._plan = site.plan
        self._log = log
        self._clock = clock
        self._real = real
        self._rules = [robots.rules(host) for host in self._plan.hosts]
        self._questions: dict[str, Callable[[Arguments], Any]] = {
            "/summary": self.summary,
            "/hosts": self.hosts,
            "/pages": self.pages,
            "/page": self.page,
            "/changes": self.changes,
            "/freshness": self.freshness,
            "/links": self.links,
            "/log": self.log,
            "/fetched": self.fetched,
            "/politeness": self.politeness,
            "/reset": self.reset,
            "/clock": self.clock,
        }

    def http(self, target: str) -> bytes:
        """The whole HTTP response to one question."""
        status, body = self._respond(target)
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _respond(self, target: str) -> tuple[str, bytes]:
        parts = urlsplit(target)
        question = self._questions.get(parts.path)
        if question is None:
            return "404 Not Found", msgspec.json.encode(
                {"error": "no such question", "known": list(self._questions)}
            )
        try:
            return "200 OK", msgspec.json.encode(question(dict(parse_qsl(parts.query))))
        except (Unknown, KeyError, ValueError) as error:
            return "400 Bad Request", msgspec.json.encode({"error": f"{type(error).__name__}: {error}"})

    def summary(self, _: Arguments) -> Any:
        """Counts, and where to start."""
        plan = self._plan
        roles: dict[str, int] = {}
        for host in plan.hosts:
            roles[host.role] = roles.get(host.role, 0) + 1
        return {
            "seed": plan.settings.seed,
            "hosts": len(plan.hosts),
            "pages": plan.pages,
            "roles": roles,
            "seeds": plan.seeds(),
            "requests": len(self._log),
        }

    def hosts(self, _: Arguments) -> Any:
        """Every host with all its habits."""
        return [
            asdict(host) | {"url": host.url, "rules": asdict(self._rules[host.number])}
            for host in self._plan.hosts
        ]

    def pages(self, arguments: Arguments) -> Any:
        """Every page (of one host), with its links when `links=1`."""
        hosts = [self._host(arguments["host"])] if "host" in arguments else self._plan.hosts
        links = arguments.get("links") == "1"
        return [self._facts(host, spot, links) for host in hosts for spot in range(host.pages)]

    def page(self, arguments: Arguments) -> Any:
        """All truth about one page, `at` a moment (default: now)."""
        page = self._page(arguments["url"])
        host = self._plan.host_of(page)
        now = float(arguments.get("at", self._clock.now()))
        state = self._site.changes.state(page, now)
        return self._facts(host, page - host.first, links=True) | {
            "host": host.name,
            "role": host.role,
            "version": f"{state.version:x}",
            "advertisement": f"{state.advertisement:x}",
            "changed": state.since,
            "next_change": state.until if state.until < float("inf") else None,
            "disallowed": self._rules[host.number].forbids(path(host, page - host.first)),
        }

    def changes(self, arguments: Arguments) -> Any:
        """True change times in (since, until], of one page, one host, or everything: {url: [times]}."""
        since, until = float(arguments.get("since", EPOCH)), float(arguments.get("until", self._clock.now()))
        pages = self._asked(arguments)
        found = ((page, self._site.changes.changes(page, since, until)) for page in pages)
        return {url(self._plan, page): times for page, times in found if times or "url" in arguments}

    def freshness(self, arguments: Arguments) -> Any:
        """Which pages the visitor knows as they are now: share of all, and of those it ever fetched."""
        now = float(arguments.get("at", self._clock.now()))
        seen = self._last_seen()
        changes = self._site.changes
        pages = [page for page in self._asked(arguments) if changes.gone(page) > now]
        fresh = [page for page in pages if page in seen and not self._changed(page, seen[page], now)]
        fetched = sum(page in seen for page in pages)
        return {
            "at": now,
            "pages": len(pages),
            "fetched": fetched,
            "fresh": len(fresh),
            "share": len(fresh) / len(pages) if pages else None,
            "share_of_fetched": len(fresh) / fetched if fetched else None,
        }

    def _changed(self, page: int, seen: float, now: float) -> bool:
        if self._site.changes.kind(page) == "cosmetic":
            return False
        return self._site.changes.state(page, now).since > seen

    def _last_seen(self) -> dict[int, float]:
        rows = self._log.rows()
        rows = rows[(rows["page"] >= 0) & np.isin(rows["status"], (200, 304))]
        return dict(zip(rows["page"].tolist(), self._virtual(rows["start"]).tolist(), strict=True))

    def links(self, arguments: Arguments) -> Any:
        """Edges [from, to] as page numbers, and the URL of every page among them."""
        edges = [[page, target] for page in self._asked(arguments) for target in self._site.graph.links(page)]
        named = {number for edge in edges for number in edge}
        return {"edges": edges, "urls": {str(page): url(self._plan, page) for page in sorted(named)}}

    def log(self, arguments: Arguments) -> Any:
        """Requests that began after `since` (real time), oldest first."""
        return self._entries(self._rows(arguments))

    def fetched(self, arguments: Arguments) -> Any:
        """How often each URL was answered, by status: {url: {status: count}}."""
        counts: dict[str, dict[str, int]] = {}
        for entry in self._entries(self._rows(arguments)):
            by_status = counts.setdefault(entry["url"], {})
            by_status[str(entry["status"])] = by_status.get(str(entry["status"]), 0) + 1
        return counts

    def politeness(self, arguments: Arguments) -> Any:
        """The verdict for a pause of `interval_s` (of virtual time) between end and next start."""
        rows = self._rows(arguments)
        if arguments.get("robots_txt") == "0":
            rows = rows[[self._log.targets[number] != "/robots.txt" for number in rows["target"].tolist()]]
        interval_s = float(arguments.get("interval_s", 0.0)) / self._speed
        report = asdict(politeness.judge(rows, self._forbidden(rows), interval_s))
        entries = self._entries(rows[[violation["row"] for violation in report["violations"]]])
        report["violations"] = [one | entry for one, entry in zip(report["violations"], entries, strict=True)]
        return report

    def reset(self, _: Arguments) -> Any:
        """Forget the log."""
        forgotten = len(self._log)
        self._log.reset()
        return {"forgotten": forgotten}

    def clock(self, _: Arguments) -> Any:
        """Virtual and real time of the same moment."""
        return {"virtual": self._clock.now(), "real": self._real.now(), "speed": self._speed, "epoch": EPOCH}

    @property
    def _speed(self) -> float:
        return self._plan.settings.speed

    def _virtual(self, real: Any) -> Any:
        return self._clock.now() + (real - self._real.now()) * self._speed

    def _rows(self, arguments: Arguments) -> Rows:
        rows = self._log.rows()
        rows = rows[rows["start"] > float(arguments.get("since", 0.0))]
        return rows[rows["host"] == self._host(arguments["host"]).number] if "host" in arguments else rows

    def _entries(self, rows: Rows) -> list[dict[str, Any]]:
        virtual = self._virtual(rows["start"]).tolist()
        entries = []
        for time, row in zip(virtual, rows.tolist(), strict=True):
            entry = dict(zip(COLUMNS, row, strict=True))
            host = self._plan.hosts[entry["host"]]
            target = self._log.targets[entry.pop("target")]
            entry |= {
                "virtual": time,
                "host": host.name,
                "path": target,
                "url": host.url[:-1] + target,
                "address": ".".join(map(str, entry["address"].to_bytes(4, "big"))),
            }
            entries.append(entry)
        return entries

    def _forbidden(self, rows: Rows) -> Any:
        pairs = zip(rows["host"].tolist(), rows["target"].tolist(), strict=True)
        return np.array(
            [self._rules[host].forbids(self._log.targets[target]) for host, target in pairs], dtype=bool
        )

    def _facts(self, host: Host, spot: int, links: bool) -> dict[str, Any]:
        page, changes = host.first + spot, self._site.changes
        gone = changes.gone(page)
        facts: dict[str, Any] = {
            "url": url(self._plan, page),
            "number": page,
            "title": self._site.pages.title(page),
            "language": host.language,
            "charset": host.charset,
            "needle": self._site.pages.needle(page),
            "kind": changes.kind(page),
            "rate_per_s": changes.rate_per_day(page) / DAY_S,
            "copy_of": url(self._plan, changes.original(page)) if host.copy_of >= 0 else None,
            "gone": gone if gone < float("inf") else None,
        } | asdict(self._site.pages.directions(page))
        if links:
            facts["links"] = [url(self._plan, target) for target in self._site.graph.links(page)]
        return facts

    def _asked(self, arguments: Arguments) -> range:
        if "url" in arguments:
            page = self._page(arguments["url"])
            return range(page, page + 1)
        if "host" in arguments:
            host = self._host(arguments["host"])
            return range(host.first, host.first + host.pages)
        return range(self._plan.pages)

    def _host(self, name: str) -> Host:
        try:
            return self._plan.by_name[name]
        except KeyError:
            raise Unknown(f"no host {name}") from None

    def _page(self, address: str) -> int:
        parts = urlsplit(address)
        host = self._host(parts.hostname or "")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        found = place(host, target.encode())
        if found < 0:
            raise Unknown(f"no page {address}")
        return host.first + found
