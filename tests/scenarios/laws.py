"""Which pauses do the rules of politeness promise, and did the servers get them?

Everything here is worked out from the servers' own log and from `docs/concepts/politeness.md`, with none of
the robot's code: a plain twin of `fetch.politeness` that gives the least pause due before each request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from joro.config import Politeness
from joro.testweb import moods
from joro.testweb.chance import Stream, uniform

Row = dict[str, Any]  # one request as the oracle's /log tells it
Host = dict[str, Any]  # one host as /hosts tells it

#: Every web here holds its answers back so long: whoever asks twice at once is seen.
LATENCY_S = 0.02
#: A server that is kept from its processor writes the end of an answer down later than it was.
LATE_S = 0.05
#: Timers of an event loop may go off a millisecond early.
TICK_S = 0.002


def by(rows: list[Row], column: str = "host") -> dict[str, list[Row]]:
    """Rows of each host (or address), in order."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def as_we_left(row: Row, patience_s: float) -> Row:
    """The same request, over when our patience was: one that stalls notices only when it writes again."""
    return row | {"end": min(row["end"], row["start"] + patience_s)}


def was_read_too_late(row: Row) -> bool:
    """Had we hung up before the server read it? No answer leaves before its latency is over."""
    return bool(row["bytes"] == 0 and row["end"] - row["start"] < LATENCY_S - TICK_S)


def is_early(before: Row, after: Row, wait_s: float) -> bool:
    """Did a request come before `wait_s` had passed since the end of the one before?

    The first condition is exact: no answer leaves before its latency is over.
    """
    exactly = after["start"] - before["start"] < wait_s + LATENCY_S - TICK_S
    return wait_s > 0 and (exactly or after["start"] - before["end"] < wait_s - LATE_S)


def told(before: Row, after: Row, wait_s: float) -> str:
    """One breach, for people."""
    pause_s, took_s = after["start"] - before["end"], before["end"] - before["start"]
    asked = f"{before['url']} {before['status']} in {took_s:.4f} s"
    return f"{asked} → {pause_s:.4f} s, not {wait_s:.4f} → {after['url']}"


def early(rows: list[Row], wait_s: float, column: str = "host") -> list[str]:
    """Every request that came too early where one pause holds for all."""
    return [
        told(before, after, wait_s)
        for group in by(rows, column).values()
        for before, after in pairwise(group)
        if is_early(before, after, wait_s)
    ]


@dataclass
class Expected:
    """What one server may expect, request after request; the least there is where chance has a say."""

    settings: Politeness
    host: Host
    seed: int = 7
    asked: int = 0
    failures: int = 0
    throttles: int = 0
    recent: list[float | None] = field(default_factory=list)  # speeds; None: an error

    def after(self, row: Row) -> float:
        """Seconds of rest after this request."""
        self.asked += 1
        lost, cut = self._is_broken("reset"), self._is_broken("cut")
        throttled = row["status"] in (429, 503)
        failed = lost or row["status"] >= 500 or throttled
        self.failures = self.failures + 1 if failed else 0
        if throttled:
            self.throttles += 1
        elif not failed:
            self.throttles = max(self.throttles - 1, 0)
        took_s = row["end"] - row["start"]
        elapsed_s = max(took_s - LATE_S, min(took_s, LATENCY_S), TICK_S)  # a timer may have gone off early
        self.recent = [*self.recent, None if lost or cut else row["bytes"] / elapsed_s][-10:]
        return max(self._interval_s(), self._penalty_s(failed, throttled))

    def _is_broken(self, kind: str) -> bool:
        """What the test web's plan says happened to this request of a flaky server."""
        if self.host["role"] != "flaky" or self.host["kind"] != kind:
            return False
        return uniform(self.seed, Stream.FLAKY, self.host["number"], self.asked) < moods.FLAKY_SHARE

    def _interval_s(self) -> float:
        """S2's formula over S1's minimum, or what robots.txt wishes."""
        speeds = [speed for speed in self.recent if speed is not None]
        speed = sum(speeds) / len(speeds) if speeds else 0.0
        least = self.settings.fast_interval_percent if self.settings.fast_servers_percent else 100
        slowness = max(0.0, 1.0 - speed / self.settings.target_bytes_per_s)
        errors = len(self.recent) - len(speeds)
        percent = (
            least
            + self.settings.slow_delay_percent * slowness
            + self.settings.error_delay_percent * errors / 10
        )
        wished = min(float(self.host["rules"]["delay_s"]), self.settings.crawl_delay_limit_s)
        return max(self.settings.interval_s * percent / 100, wished)

    def _penalty_s(self, failed: bool, throttled: bool) -> float:
        """Retry-After, and what failures double."""
        asked_s = self._asked_s() if throttled else None
        doublings = self.throttles - (asked_s is not None)
        wait_s = self._interval_s() * 2**doublings if doublings > 0 else 0.0
        if failed and asked_s is None:
            wait_s = max(wait_s, self.settings.retry_wait_s * 2 ** (self.failures - 1))
        return max(wait_s, asked_s or 0.0)

    def _asked_s(self) -> float | None:
        kind = str(self.host["kind"])
        return float(self.host["pause_s"]) if kind.endswith(("seconds", "date")) else None


def broken(rows: list[Row], settings: Politeness, hosts: list[Host], seed: int = 7) -> Iterator[str]:
    """Every request that came before its server's rest was over."""
    named = {host["name"]: host for host in hosts}
    for name, group in by(rows).items():
        expected = Expected(settings, named[name], seed)
        for before, after in pairwise(group):
            wait_s = expected.after(before)
            if is_early(before, after, wait_s):
                yield told(before, after, wait_s)


def runs(rows: list[Row], pause_s: float) -> list[list[Row]]:
    """One server's requests, cut wherever it had a pause."""
    found: list[list[Row]] = []
    for row in rows:
        if found and row["start"] - found[-1][-1]["end"] < pause_s - LATE_S:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def missing_rules(rows: list[Row], age_s: float = float("inf")) -> list[str]:
    """Requests whose server had not told its robots.txt before, or not lately."""
    wrong = []
    for group in by(rows).values():
        read_at = float("-inf")
        for row in group:
            if row["path"].endswith(("/robots.txt", "/robots-moved.txt")):
                read_at = row["end"]
            elif row["start"] - read_at > age_s or read_at < 0:
                wrong.append(row["url"])
    return wrong
