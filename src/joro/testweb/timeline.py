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

    @classmethod
    def of(cls, real: Clock, virtual: Clock, speed: float) -> Timeline:
        """The relation of two clocks, of which the second runs `speed` times as fast."""
        readings = [(real.now(), virtual.now(), real.now()) for _ in range(COMPARISONS)]
        before, there, after = min(readings, key=lambda reading: reading[2] - reading[0])
        return cls(real.now, (before + after) / 2, there, speed)

    def now(self) -> float:
        """Virtual time now."""
        return self.at(self.read())

    def at(self, real: float) -> float:
        """The virtual moment of a real one."""
        return self.virtual + (real - self.real) * self.speed
