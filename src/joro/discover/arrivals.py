"""When should a source be read again?

In:    how many entries came since the last reading, and how long that was; what the source asks for.
Out:   how many come in the mean, and the next moment to read it.
Never: polls more often than the operator or the source allows, or more rarely than the operator wants;
       reads a clock.

The rate is the number of arrivals over the time they took, both fading. Most is forgotten at once when much
more comes than expected, and no rate is believed that a long silence speaks against. Four things would bend
the estimate:
  - how much fades depends on the rate believed before, not on what just came: otherwise lively days would
    erase quiet ones, and the estimate would be too high;
  - at the first reading the dates of the entries tell the rate, but the oldest one only marks where the
    list begins: k entries are k - 1 arrivals in the time since the oldest;
  - a list that is new from top to bottom has lost entries; twice as many are counted as were seen;
  - a source where nothing came is not dead: half an arrival is assumed beforehand, so that readings in vain
    double the pause, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from joro.model import DAY_S, PollHints

HOUR_S = 3_600.0
#: What is remembered: about so many arrivals, but not what is older than so.
MEMORY_ARRIVALS, MEMORY_S = 32.0, 14 * DAY_S
#: The dates of a first reading are believed so far back, and not for less than an hour: some feeds date every
#: entry with the moment they were made.
HORIZON_S, LEAST_SPAN_S = 30 * DAY_S, HOUR_S
#: Assumed of a source nothing is known of; fades like anything else.
PRIOR_ARRIVALS, PRIOR_S = 0.5, DAY_S / 50
LEAST_ARRIVALS = 0.01  # what never brought anything may still
#: So many standard deviations more than expected are a surprise, and this is left of the memory then.
SURPRISE, LEFT = 3.0, 0.2
#: Silence in which so many should have come is believed: by chance it happens once in 150 times.
SILENCE = 5.0
#: Nobody can skip more hours than a week has.
_WEEK_HOURS = 168
_THURSDAY = 3  # 1970-01-01


@dataclass(frozen=True, slots=True)
class Polling:
    """How eagerly sources are read."""

    least_s: float = 300.0  # never sooner
    most_s: float = DAY_S  # never later: "new articles daily" (S4)
    arrivals: float = 0.5  # wished for each reading; three in five are then in vain, and cost a 304
    arrivals_per_entry: float = 0.002  # and more from long lists, which are dearer to read


class Arrivals(msgspec.Struct, array_like=True, frozen=True):
    """How often something new came lately."""

    count: float = PRIOR_ARRIVALS
    time_s: float = PRIOR_S
    silent_s: float = 0.0  # since the last arrival

    @property
    def rate_per_s(self) -> float:
        """Arrivals a second; never 0."""
        rate = max(self.count, LEAST_ARRIVALS) / max(self.time_s, PRIOR_S)
        return min(rate, SILENCE / self.silent_s) if self.silent_s else rate

    def after(self, elapsed_s: float, count: int, *, overflow: bool = False) -> Arrivals:
        """What is known after `count` more came in `elapsed_s`."""
        elapsed_s = max(0.0, elapsed_s)
        expected = elapsed_s * self.rate_per_s
        fade = math.exp(-max(elapsed_s / MEMORY_S, expected / MEMORY_ARRIVALS))
        if count - expected > SURPRISE * math.sqrt(expected) + 2.0:
            fade *= LEFT
        return Arrivals(
            count=self.count * fade + count * (2 if overflow else 1),
            time_s=self.time_s * fade + elapsed_s,
            silent_s=self.silent_s + elapsed_s if count == 0 else 0.0,
        )


def first_arrivals(times: Iterable[float], now: float) -> Arrivals:
    """What the dates of a first reading tell."""
    past = [time for time in times if time <= now]
    recent = [time for time in past if time > now - HORIZON_S]
    if not past:
        return Arrivals()
    if len(recent) < len(past):
        count, span_s = len(recent), HORIZON_S
    else:
        count, span_s = len(recent) - 1, max(LEAST_SPAN_S, now - min(recent))
    kept = min(1.0, MEMORY_S / span_s, MEMORY_ARRIVALS / max(1, count))
    return Arrivals(count * kept, span_s * kept)


def interval_s(arrivals: Arrivals, entries: int, hints: PollHints, polling: Polling) -> float:
    """How long a source of so many entries is left alone."""
    wished_s = (polling.arrivals + polling.arrivals_per_entry * entries) / arrivals.rate_per_s
    least_s = max(polling.least_s, min(hints.least_s, polling.most_s))
    return min(max(wished_s, least_s), max(polling.most_s, least_s))


def next_poll(due_at: float, hints: PollHints) -> float:
    """The first moment from `due_at` on that lies in no hour or day to be skipped."""
    if not hints.skip_hours and not hints.skip_days:
        return due_at
    moment = due_at
    for _ in range(_WEEK_HOURS):
        hour = math.floor(moment / HOUR_S)
        if hour % 24 not in hints.skip_hours and (hour // 24 + _THURSDAY) % 7 not in hints.skip_days:
            return moment
        moment = (hour + 1) * HOUR_S
    return due_at  # it asks never to be read: it cannot mean that
