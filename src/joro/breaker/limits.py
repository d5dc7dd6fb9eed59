"""Has this server, or this address, been asked enough?

In:    the server and the address of each request that wants to leave, and when its answer is over.
Out:   an `Access`, or a `Refusal` with the reason and how long to stay away.
Never: sees a byte, waits, or knows why anyone asks; keeps an account of those nobody asked for a while.
Paper: S4, the access-limiting proxy (S4-08).

An access counts from the grant until 60 seconds after its *end*. So the server, too, sees no more than the
limit in any 60 seconds of its own log, however long a request is under way or waits in the server's queue.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from joro.clock import Clock
from joro.config import Breaker

WINDOW_S = 60.0
GLOBAL_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request may not leave."""

    who: str  # server key or address; "everyone" for the global limit
    why: str  # "too many requests", "too many at once"
    limit: int
    retry_s: float
    is_news: bool  # worth an alert: the first of its quarantine


class Access:
    """The right to one request; `end` it when the server is no longer busy with it."""

    __slots__ = ("_limiter", "address", "server")

    def __init__(self, limiter: Limiter, server: str, address: str) -> None:
        self._limiter: Limiter | None = limiter
        self.server = server
        self.address = address

    @property
    def is_over(self) -> bool:
        """True once it has ended."""
        return self._limiter is None

    def end(self) -> None:
        """The answer is over, or will never come; again is harmless."""
        limiter, self._limiter = self._limiter, None
        if limiter is not None:
            limiter.leave(self)


@dataclass(slots=True)
class Account:
    """What one server or address was asked."""

    active: int = 0
    ended: deque[float] = field(default_factory=deque)
    quarantined_until: float = 0.0
    why: str = ""
    quiet_until: float = 0.0  # no second alert before

    def is_idle(self, now: float) -> bool:
        """True when forgetting it changes nothing."""
        over = max(self.quarantined_until, self.quiet_until) <= now
        return over and not self.active and (not self.ended or now - self.ended[-1] >= WINDOW_S)


class Ledger:
    """The accounts of one kind: servers, or addresses."""

    def __init__(self, *, per_minute: int, concurrent: int, quarantine_s: float) -> None:
        self._per_minute = per_minute
        self._concurrent = concurrent
        self._quarantine_s = quarantine_s
        self.accounts: OrderedDict[str, Account] = OrderedDict()

    def refusal(self, who: str, now: float) -> Refusal | None:
        """Why `who` may not be asked now; an overstepped limit begins a quarantine."""
        account = self.accounts.get(who)
        if account is None:
            return None
        if account.quarantined_until > now:
            wait_s = account.quarantined_until - now
            return Refusal(who, account.why, self._limit(account.why), wait_s, is_news=False)
        ended = account.ended
        while ended and now - ended[0] >= WINDOW_S:
            ended.popleft()
        if account.active >= self._concurrent:
            return self._quarantine(who, account, "too many at once", 1.0, now)
        if account.active + len(ended) >= self._per_minute:
            wait_s = ended[0] + WINDOW_S - now if ended else 1.0
            return self._quarantine(who, account, "too many requests", wait_s, now)
        return None

    def _limit(self, why: str) -> int:
        return self._concurrent if why == "too many at once" else self._per_minute

    def _quarantine(self, who: str, account: Account, why: str, wait_s: float, now: float) -> Refusal:
        account.quarantined_until = now + self._quarantine_s
        account.why = why
        is_news = account.quiet_until <= now
        if is_news:
            account.quiet_until = now + max(self._quarantine_s, WINDOW_S)
        return Refusal(who, why, self._limit(why), max(wait_s, self._quarantine_s), is_news)

    def enter(self, who: str, now: float) -> None:
        """Someone asks `who`."""
        account = self.accounts.get(who)
        if account is not None:
            account.active += 1
            return
        self.accounts[who] = Account(active=1)
        self._forget(now)

    def leave(self, who: str, now: float) -> None:
        """Someone has been answered by `who`."""
        account = self.accounts[who]
        account.active -= 1
        account.ended.append(now)

    def _forget(self, now: float) -> None:
        """Look at the two longest unseen accounts, like the hand of a clock: faster than new ones come."""
        for _ in range(2):
            who = next(iter(self.accounts))
            if self.accounts[who].is_idle(now):
                del self.accounts[who]
            else:
                self.accounts.move_to_end(who)

    def quarantined(self, now: float) -> Iterator[tuple[str, str, float]]:
        """Who is not asked now, why, and until when."""
        for who, account in self.accounts.items():
            if account.quarantined_until > now:
                yield who, account.why, account.quarantined_until


class Limiter:
    """All limits together."""

    def __init__(self, settings: Breaker, clock: Clock) -> None:
        self._clock = clock
        self._per_second = settings.global_per_second
        self._granted: deque[float] = deque()
        self._quiet_until = 0.0
        self.servers = Ledger(
            per_minute=settings.per_server_per_minute,
            concurrent=settings.concurrent_per_server,
            quarantine_s=settings.quarantine_s,
        )
        self.addresses = Ledger(
            per_minute=settings.per_address_per_minute,
            concurrent=settings.concurrent_per_address,
            quarantine_s=settings.quarantine_s,
        )
        self.granted = 0
        self.refused: Counter[str] = Counter()

    def ask(self, server: str, address: str) -> Access | Refusal:
        """May one request go to `server` at `address` now?"""
        now = self._clock.now()
        refusal = (
            self.servers.refusal(server, now) or self.addresses.refusal(address, now) or self._crowd(now)
        )
        if refusal is not None:
            self.refused[refusal.why] += 1
            return refusal
        self._granted.append(now)
        self.granted += 1
        self.servers.enter(server, now)
        self.addresses.enter(address, now)
        return Access(self, server, address)

    def leave(self, access: Access) -> None:
        """Called by `Access.end`, once."""
        now = self._clock.now()
        self.servers.leave(access.server, now)
        self.addresses.leave(access.address, now)

    def _crowd(self, now: float) -> Refusal | None:
        """The global limit quarantines nobody: no single server is to blame."""
        granted = self._granted
        while granted and now - granted[0] >= GLOBAL_WINDOW_S:
            granted.popleft()
        if len(granted) < self._per_second:
            return None
        is_news = self._quiet_until <= now
        if is_news:
            self._quiet_until = now + WINDOW_S
        wait_s = granted[0] + GLOBAL_WINDOW_S - now
        return Refusal("everyone", "too many requests overall", self._per_second, wait_s, is_news)
