"""What did the visitors do?

In:    the access log, and a question's arguments.
Out:   log entries, counts by URL, the verdict on politeness, how fresh the visitor's knowledge is.
Never: asks the visitor.
"""

from __future__ import annotations

from dataclasses import asdict
from ipaddress import IPv4Address
from typing import Any

import numpy as np

from joro.testweb import politeness
from joro.testweb.log import COLUMNS, AccessLog, Rows
from joro.testweb.settings import EPOCH
from joro.testweb.timeline import Timeline
from joro.testweb.truth import Arguments, Truth


class Witness:
    """Everything the server saw."""

    def __init__(self, truth: Truth, log: AccessLog, timeline: Timeline) -> None:
        self._truth = truth
        self._log = log
        self._timeline = timeline

    def log(self, arguments: Arguments) -> Any:
        """Requests that began after `since` (real time), oldest first."""
        return self._entries(self._rows(arguments))

    def fetched(self, arguments: Arguments) -> Any:
        """How often each URL was answered, by status: {url: {status: count}}."""
        rows = self._rows(arguments)
        triples = np.stack([rows["host"], rows["target"], rows["status"]], axis=1).astype(np.int64)
        counts: dict[str, dict[str, int]] = {}
        for (host, target, status), count in zip(*_tally(triples), strict=True):
            counts.setdefault(self._url(host, target), {})[str(status)] = count
        return counts

    def politeness(self, arguments: Arguments) -> Any:
        """The verdict for a pause of `interval_s` (virtual time) between one end and the next start.

        `robots_txt=0` leaves requests for robots.txt out.
        """
        rows = self._rows(arguments)
        if arguments.get("robots_txt") == "0":
            rows = rows[[self._log.targets[number] != "/robots.txt" for number in rows["target"].tolist()]]
        interval_s = float(arguments.get("interval_s", 0.0)) / self._timeline.speed
        report = asdict(politeness.judge(rows, self._forbidden(rows), interval_s))
        entries = self._entries(rows[[violation["row"] for violation in report["violations"]]])
        report["violations"] = [one | entry for one, entry in zip(report["violations"], entries, strict=True)]
        return report

    def freshness(self, arguments: Arguments) -> Any:
        """How many pages stand, `at` a moment, as the visitor saw them last."""
        now = float(arguments.get("at", self._timeline.now()))
        seen = self._last_seen(now)
        changes = self._truth.site.changes
        pages = [page for page in self._truth.asked(arguments) if changes.gone(page) > now]
        fetched = [page for page in pages if page in seen]
        fresh = sum(not self._truth.site.is_news(page, seen[page], now) for page in fetched)
        return {
            "at": now,
            "pages": len(pages),
            "fetched": len(fetched),
            "fresh": fresh,
            "share": fresh / len(pages) if pages else None,
            "share_of_fetched": fresh / len(fetched) if fetched else None,
        }

    def _last_seen(self, now: float) -> dict[int, float]:
        rows = self._log.rows()
        times = self._virtual(rows)
        told = (rows["page"] >= 0) & np.isin(rows["status"], (200, 304)) & (times <= now)
        return dict(zip(rows["page"][told].tolist(), times[told].tolist(), strict=True))

    def reset(self, _: Arguments) -> Any:
        """Forget the log."""
        forgotten = len(self._log)
        self._log.reset()
        return {"forgotten": forgotten}

    def clock(self, arguments: Arguments) -> Any:
        """Virtual and real time of the same moment; where it stands still, after `pass_s` more seconds."""
        timeline = self._timeline
        if timeline.let_pass is not None:
            timeline.let_pass(float(arguments.get("pass_s", 0.0)))
        real, speed = timeline.read(), 0.0 if timeline.let_pass is not None else timeline.speed
        return {"virtual": timeline.at(real), "real": real, "speed": speed, "epoch": EPOCH}

    def _virtual(self, rows: Rows) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([self._timeline.at(start) for start in rows["start"].tolist()])

    def _rows(self, arguments: Arguments) -> Rows:
        rows = self._log.rows()
        rows = rows[rows["start"] > float(arguments.get("since", 0.0))]
        if "host" in arguments:
            rows = rows[rows["host"] == self._truth.host(arguments["host"]).number]
        return rows

    def _entries(self, rows: Rows) -> list[dict[str, Any]]:
        virtual = self._virtual(rows).tolist()
        return [self._entry(time, row) for time, row in zip(virtual, rows.tolist(), strict=True)]

    def _entry(self, virtual: float, row: tuple[Any, ...]) -> dict[str, Any]:
        entry = dict(zip(COLUMNS, row, strict=True))
        target = entry.pop("target")
        return entry | {
            "virtual": virtual,
            "host": self._truth.plan.hosts[entry["host"]].name,
            "path": self._log.targets[target],
            "url": self._url(entry["host"], target),
            "address": str(IPv4Address(entry["address"])),
            "client": str(IPv4Address(entry["client"])),
        }

    def _url(self, host: int, target: int) -> str:
        return self._truth.plan.hosts[host].url[:-1] + self._log.targets[target]

    def _forbidden(self, rows: Rows) -> Any:
        pairs = zip(rows["host"].tolist(), rows["target"].tolist(), strict=True)
        rules, targets = self._truth.rules, self._log.targets
        return np.array([rules[host].forbids(targets[target]) for host, target in pairs], dtype=bool)


def _tally(values: Any) -> tuple[list[list[int]], list[int]]:
    kinds, counts = np.unique(values, axis=0, return_counts=True)
    return kinds.tolist(), counts.tolist()
