"""How fast is a server, by itself and among the others?

In:    visits, as they end.
Out:   speed and errors of a server's last ten requests; whether it belongs to the fastest of all servers.
Never: decides what follows from it: that is `politeness`' business.
Paper: S1 5.1.4 (bytes received by time needed; the fastest fifth), S2 table 2 (the last ten requests).
"""

from __future__ import annotations

import math
import struct

from joro.model import Outcome, Truncated, Visit

#: S2 table 2: speed and errors are those of the last ten requests.
REQUESTS = 10
#: S2 table 2: time-outs, cut connections, errors of sending or receiving.
ERRORS = frozenset({Outcome.TIMEOUT, Outcome.UNREACHABLE, Outcome.MALFORMED})
#: Outcomes without a request: they say nothing about the server.
NOT_ASKED = frozenset({Outcome.NO_ADDRESS, Outcome.FORBIDDEN_ADDRESS, Outcome.DISALLOWED})

_FLOAT = struct.Struct("<f")
_FLOATS = tuple(struct.Struct(f"<{count}f") for count in range(REQUESTS + 1))
_ERROR = -1.0
#: No clock we use tells a shorter time from none.
_SHORTEST_S = 0.001


def noted(recent: bytes, visit: Visit) -> bytes:
    """The last ten requests with this one: four bytes each, its speed or a mark for an error."""
    if visit.outcome in NOT_ASKED:
        return recent
    return (recent + _FLOAT.pack(_measure(visit)))[-REQUESTS * _FLOAT.size :]


def _measure(visit: Visit) -> float:
    response = visit.response
    if response is None or visit.outcome in ERRORS:
        return _ERROR
    if response.truncated in (Truncated.TIME, Truncated.DISCONNECT):
        return _ERROR
    return (len(response.head) + len(response.body)) / max(visit.elapsed_s, _SHORTEST_S)


def standing(recent: bytes) -> tuple[float | None, int]:
    """Mean speed in bytes a second of those that got through, and the number of errors.

    The speed is None before the first request, and 0 when none got through.
    """
    if not recent:
        return None, 0
    values = _FLOATS[len(recent) // _FLOAT.size].unpack(recent)
    if min(values) >= 0.0:
        return sum(values) / len(values), 0
    speeds = [value for value in values if value >= 0.0]
    return (sum(speeds) / len(speeds) if speeds else 0.0), len(values) - len(speeds)


class Pace:
    """The spread of speeds among a robot's servers, in 8 KB: which ones are the fastest `percent`?

    Each visit counts once. Servers get their visits equally often, so this is a count of servers too, and
    old visits are forgotten by halves.
    """

    #: Steps of the scale; 16 to each doubling of the speed, so a step is 4.4 %.
    STEPS = 1_024
    PER_DOUBLING = 16
    #: Fewer visits say too little about who is fast: until then nobody is.
    ENOUGH = 50
    FORGET_AT = 20_000

    def __init__(self, percent: int) -> None:
        self._percent = percent
        self._counts = [0] * self.STEPS
        self._total = 0
        self._border = self.STEPS
        self._above = 0  # visits at or above the border

    def note(self, speed: float) -> None:
        """One more visit, to a server of this speed in bytes a second."""
        step = self._step(speed)
        self._counts[step] += 1
        self._total += 1
        self._above += step >= self._border
        if self._total >= self.FORGET_AT:
            self._forget()
        self._move_border()

    def is_fast(self, speed: float) -> bool:
        """Does a server of this speed belong to the fastest?"""
        return self._total >= self.ENOUGH and self._step(speed) >= self._border

    def _step(self, speed: float) -> int:
        return min(int(math.log2(speed) * self.PER_DOUBLING), self.STEPS - 1) if speed > 1.0 else 0

    def _move_border(self) -> None:
        """As low as it can be with no more than `percent` of the visits at or above it."""
        allowed = self._total * self._percent // 100
        while self._above > allowed:
            self._above -= self._counts[self._border]
            self._border += 1
        while self._border and self._above + self._counts[self._border - 1] <= allowed:
            self._border -= 1
            self._above += self._counts[self._border]

    def _forget(self) -> None:
        self._counts = [count // 2 for count in self._counts]
        self._total = sum(self._counts)
        self._above = sum(self._counts[self._border :])
