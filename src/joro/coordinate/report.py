"""What does a robot tell of itself, and when are all of them done?

Paper: S2 (a robot set reports as one); the two rounds of `robotset` are Mattern's (1987) four counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from joro.model import Outcome

#: Pages that are done with, though nobody asked for them.
_LEFT_OUT = (Outcome.DISALLOWED, Outcome.TRAP, Outcome.FORBIDDEN_ADDRESS)


class Report(msgspec.Struct):
    """One robot, or several added up, in numbers."""

    visits: int = 0  # of this run; what follows is of the whole collection
    found: int = 0
    visited: int = 0
    bytes: int = 0
    outcomes: dict[str, int] = msgspec.field(default_factory=dict)
    sockets: int = 0  # in use now
    idle: bool = False  # nothing to do unless mail arrives
    sent: dict[int, int] = msgspec.field(default_factory=dict)  # batches, by receiver
    read: dict[int, int] = msgspec.field(default_factory=dict)  # batches, by sender
    stopped: bool = False  # a person ended it
    revisits: int = 0  # those of the visits that went to pages visited before, where it is known of all
    word: str = ""  # for people: what keeps it from collecting

    @property
    def waiting(self) -> int:
        """Pages known and not visited."""
        return self.found - self.visited

    @property
    def left_out(self) -> int:
        """Pages among those visited that a rule of ours or theirs kept from being asked for."""
        return sum(self.outcomes.get(outcome.value, 0) for outcome in _LEFT_OUT)

    @property
    def asked_for(self) -> int:
        """Pages that were really visited."""
        return self.visited - self.left_out


def total(reports: Sequence[Report]) -> Report:
    """Several robots as one."""
    outcomes: Counter[str] = Counter()
    for report in reports:
        outcomes.update(report.outcomes)
    return Report(
        visits=sum(report.visits for report in reports),
        found=sum(report.found for report in reports),
        visited=sum(report.visited for report in reports),
        bytes=sum(report.bytes for report in reports),
        outcomes=dict(outcomes),
        sockets=sum(report.sockets for report in reports),
        idle=all(report.idle for report in reports),
        revisits=sum(report.revisits for report in reports),
        word=next((report.word for report in reports if report.word), ""),
    )


def is_quiet(reports: Sequence[Report]) -> bool:
    """Nobody has anything to do, and every batch sent was read."""
    return all(report.idle for report in reports) and all(
        report.sent.get(other, 0) == reports[other].read.get(number, 0)
        for number, report in enumerate(reports)
        for other in range(len(reports))
        if other != number
    )
