"""Which virtual moment belongs to a real one?

In:    the two clocks of a running web.
Out:   virtual time as a function of real time, exact: the log, the version served and the oracle's verdicts
       all speak of one moment, however busy the machine is.
Never: reads two clocks for one event; between the two readings a busy machine may lose a virtual hour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from joro.clock import Clock

#: The clocks are compared so often; the comparison least disturbed counts.
COMPARISONS = 20


@dataclass(frozen=True)
class Timeline:
    """Both times run evenly, so one pair of readings and the speed say it all."""

    read: Callable[[], float]  # the real clock
    real: float
    virtual: float
    speed: float
    let_pass: Callable[[float], None] | None = None  # where time passes only by being told to

    @classmethod
    def of(cls, real: Clock, virtual: Clock, speed: float) -> Timeline:
        """The relation of two clocks, of which the second runs `speed` times as fast."""
        readings = [(real.now(), virtual.now(), real.now()) for _ in range(COMPARISONS)]
        before, there, after = min(readings, key=lambda reading: reading[2] - reading[0])
        return cls(real.now, (before + after) / 2, there, speed)

    @classmethod
    def still(cls, start: float) -> Timeline:
        """A time that passes only when it is told to: nothing is late, however slow the machine."""
        moment = [start]

        def let_pass(seconds: float) -> None:
            moment[0] += seconds

        return cls(lambda: moment[0], start, start, 1.0, let_pass)

    def now(self) -> float:
        """Virtual time now."""
        return self.at(self.read())

    def at(self, real: float) -> float:
        """The virtual moment of a real one."""
        return self.virtual + (real - self.real) * self.speed
