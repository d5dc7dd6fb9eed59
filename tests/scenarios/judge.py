"""Did robots on several machines work as one? Judged by the servers' own log, and by what was archived.

None of the robots' or managers' code, and none of their words, are used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from tests.scenarios import laws
from tests.scenarios.laws import Row


@dataclass(frozen=True)
class Verdict:
    """What went wrong."""

    lost: list[str] = field(default_factory=list)  # pages that nobody archived
    at_once: list[str] = field(default_factory=list)  # requests of one robot while another's was in progress
    inside_interval: list[str] = field(default_factory=list)  # requests too soon after the last, of whomever
    repeated: list[str] = field(default_factory=list)  # pages archived more than once
    asked_again: list[str] = field(default_factory=list)  # pages asked for more than once
    servers: int = 0
    shared_servers: int = 0  # servers that more than one robot has visited
    requests: int = 0
    pages: int = 0  # archived

    @property
    def is_good(self) -> bool:
        """Nobody was harmed and nothing is missing; a page may have been visited twice (decision 0008)."""
        return not (self.lost or self.at_once or self.inside_interval)

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return ", ".join(
            f"{name.replace('_', ' ')} {count if isinstance(count, int) else len(count)}"
            for name, count in counts.items()
        )


def judge(rows: list[Row], wanted: Iterable[str], archived: Counter[str], interval_s: float) -> Verdict:
    """The verdict over all robots; `rows` are the oracle's log, oldest first."""
    pages = Counter(row["url"] for row in rows if not row["path"].endswith("/robots.txt"))
    visitors = [len({row["client"] for row in group}) for group in laws.by(rows).values()]
    return Verdict(
        lost=sorted(set(wanted) - set(archived)),
        at_once=at_once(rows),
        inside_interval=too_soon(rows, interval_s),
        repeated=sorted(url for url, count in archived.items() if count > 1),
        asked_again=sorted(url for url, count in pages.items() if count > 1),
        servers=len(visitors),
        shared_servers=sum(count > 1 for count in visitors),
        requests=len(rows),
        pages=len(archived),
    )


def too_soon(rows: list[Row], interval_s: float) -> list[str]:
    """Every request that came before its server's pause was over, whoever asked before."""
    return [
        laws.told(before, after, interval_s)
        for group in laws.by(rows).values()
        for before, after in pairwise(group)
        if _is_too_soon(before, after, interval_s)
    ]


def _is_too_soon(before: Row, after: Row, interval_s: float) -> bool:
    """A request that was given up has no end that its server knows: the pause began when we hung up.

    That was after it was sent; the server read it a moment later, if it was kept from its processor.
    """
    was_given_up = not before["bytes"] or before["url"] == after["url"]
    if was_given_up:
        return bool(after["start"] - before["start"] < interval_s - laws.LATE_S)
    return laws.is_early(before, after, interval_s)


def at_once(rows: list[Row]) -> list[str]:
    """Every request that a server got while it was still answering another robot."""
    found = []
    for group in laws.by(rows).values():
        under_way: dict[str, Row] = {}  # each robot's last request
        for row in group:
            for client, other in under_way.items():
                if client != row["client"] and row["start"] < other["end"]:
                    found.append(f"{row['url']} by {row['client']} while {client} asked for {other['url']}")
            under_way[row["client"]] = row
    return found
