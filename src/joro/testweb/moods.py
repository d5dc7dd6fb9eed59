"""How does a moody host treat this very request?

In:    the answer it would give, and how often and how lately it was asked.
Out:   that answer, or a slow, broken or refusing one.
Never: throws dice of its own: what happens to the n-th request of a host is planned.

Delays are real time (they test time-outs); the pause a throttling host insists on is virtual time, as
politeness is.
"""

from __future__ import annotations

from collections.abc import Callable

from joro.testweb.answer import Answer, Body, Play, Stop, compose, http_date
from joro.testweb.chance import Stream, uniform
from joro.testweb.plan import Host
from joro.testweb.server import Booth

ROLES = frozenset({"slow", "flaky", "dead", "throttling"})

#: Share of a flaky host's requests that go wrong.
FLAKY_SHARE = 0.3
DRIBBLE_PIECES, DRIBBLE_GAP_S = 20, 0.05
DELAYS_S = (0.2, 0.5, 1.0, 2.0)
PAUSES_S = (1.0, 2.0, 5.0)


def delay_s(host: Host) -> float:
    """How long a slow host thinks before it answers."""
    return DELAYS_S[host.number % len(DELAYS_S)]


def pause_s(host: Host) -> float:
    """The pause between requests a throttling host insists on, in virtual time."""
    return PAUSES_S[host.number % len(PAUSES_S)]


class Moods:
    """The tempers of all moody hosts."""

    def __init__(self, seed: int, date: Callable[[], float]) -> None:
        self._seed = seed
        self._date = date  # the time such a server would write into a Date field

    def mood(self, booth: Booth, answer: Answer, now: float) -> Answer:
        """The answer as the host gives it this time."""
        match booth.host.role:
            case "slow":
                return played(answer, _slowly(booth.host, answer.wire))
            case "flaky":
                return self._flaky(booth, answer)
            case "dead":
                return played(answer, iter([Stop.HANG if booth.host.kind == "silent" else Stop.RESET]))
            case _:
                return self._throttled(booth, answer, now)

    def _flaky(self, booth: Booth, answer: Answer) -> Answer:
        host = booth.host
        if uniform(self._seed, Stream.FLAKY, host.number, booth.asked) >= FLAKY_SHARE:
            return answer
        if host.kind == "reset":
            return played(answer, iter([Stop.RESET]))
        if host.kind == "cut":
            half = answer.wire[: (answer.head_bytes + len(answer.wire)) // 2]
            return played(answer, iter([half]), close=True)
        return compose(host, 500, Body(b"<h1>Something went wrong</h1>\n"), page=answer.page)

    def _throttled(self, booth: Booth, answer: Answer, now: float) -> Answer:
        host = booth.host
        wait_s = pause_s(host)
        if now - booth.last >= wait_s:
            booth.last = now
            return answer
        status = int(host.kind[:3])
        date = self._date()
        fields = [("Date", http_date(date))]
        if host.kind.endswith("seconds"):
            fields.append(("Retry-After", f"{wait_s:.0f}"))
        elif host.kind.endswith("date"):
            fields.append(("Retry-After", http_date(date + wait_s + 1)))  # dates have whole seconds
        return compose(host, status, Body(b"<h1>Too fast</h1>\n"), tuple(fields), page=answer.page)


def played(answer: Answer, play: Play, *, close: bool = False) -> Answer:
    """The same answer, sent in another manner."""
    return Answer(
        wire=answer.wire,
        head_bytes=answer.head_bytes,
        status=answer.status,
        page=answer.page,
        close=close or answer.close,
        play=play,
    )


def _slowly(host: Host, wire: bytes) -> Play:
    if host.kind == "delay":
        yield delay_s(host)
        yield wire
    elif host.kind == "dribble":
        size = len(wire) // DRIBBLE_PIECES + 1
        for start in range(0, len(wire), size):
            if start:
                yield DRIBBLE_GAP_S  # between pieces only: with the last one the answer is complete
            yield wire[start : start + size]
    else:
        yield wire[: len(wire) // 2]
        yield Stop.HANG
