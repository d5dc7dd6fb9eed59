"""What became of one page?

In:    a page.
Out:   a `Visit`; the web's failures are outcomes, never exceptions.
Never: decides whether a visit is allowed now: that is `politeness`' and `robotstxt`'s business.
"""

from __future__ import annotations

import functools
import logging
import math
import re
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from joro.clock import Clock
from joro.config import Fetch, Identity
from joro.errors import ConfigError
from joro.fetch.address import LOCK_FILES, AddressLimits, Hold
from joro.fetch.guard import Guard
from joro.fetch.guests import Guests
from joro.fetch.http import REFUSED, Client, Exchange, Limits
from joro.fetch.resolver import Resolver
from joro.fetch.robotstxt import SIZE_LIMIT_BYTES
from joro.fetch.route import family_of, proxy_resolves, route_of
from joro.model import Outcome, Page, Visit
from joro.url import host_of, is_address, server_of

log = logging.getLogger(__name__)

#: Of a robots.txt so much is taken whatever `fetch.body_limit_bytes` says: what is read of one (RFC 9309,
#: 2.5), and what chunks and encodings may add.
RULES_BYTES = SIZE_LIMIT_BYTES + SIZE_LIMIT_BYTES // 8 + 10_000
#: Of a host's addresses so many are tried in one visit.
ADDRESSES_TRIED = 3


def user_agent(identity: Identity, version: str) -> str:
    """How we introduce ourselves: `joro/0.1 (+https://…)`."""
    contact = f" (+{identity.contact})" if identity.contact else ""
    return f"{identity.name}/{version}{contact}"


@dataclass(frozen=True, slots=True)
class Later:
    """The server was not asked: too many are at its address, its hours are over, or the breaker forbids it or
    is not there; come again then. Where an address is named, others may be before it there: it is to wait in
    line. `hung_up`: it was in a run, and has closed the connection."""

    at: float
    line: str = ""
    hung_up: bool = False


class Lines(Protocol):
    """Who waits at which address, as `schedule.turns` knows it; nobody does where it is not crowded."""

    @property
    def crowded(self) -> Mapping[str, object]: ...
    def may_pass(self, server: str, line: str) -> bool: ...
    def passed(self, server: str, line: str, free_at: float) -> None: ...
    def freed(self, line: str, free_at: float) -> None: ...


class Visitor:
    """Resolve, check the address, ask, judge."""

    def __init__(
        self, settings: Fetch, *, user_agent: str, clock: Clock, limits: AddressLimits | None = None
    ) -> None:
        self._clock = clock
        self._limits = limits
        #: From when on nobody may be asked. Looked at when a request leaves: we may have been stopped before.
        self.closes_at: Callable[[], float] = lambda: math.inf
        #: When from a moment on a server may be asked, by its hours: they may have ended by now.
        self.opens_at: Callable[[str, float], float] = lambda server, now: now
        #: Who waits for which address: nobody goes there before them.
        self.lines: Lines | None = None
        #: At which servers other processes are, where there are any.
        self.guests: Guests | None = None
        self._ports = _ports(settings.ports)
        self._proxy_resolves = proxy_resolves(settings)
        self._family = family_of(settings.bind_address)
        self._guard = Guard(settings.allow_addresses)
        route = route_of(settings)
        self._between = route.between
        self._held_off = ("", 0.0)  # why, and until when, if nobody was let through since
        self._has_told_refusal = False
        self._resolver = Resolver(clock, nameservers=settings.nameservers, hosts=settings.hosts)
        self._client = Client(
            user_agent=user_agent,
            limits=_limits(settings),
            connections=settings.sockets,
            route=route,
            idle=_idle(settings.sockets),
        )

    @property
    def open_sockets(self) -> int:
        """Requests under way."""
        return self._client.open_transfers

    @property
    def word(self) -> str:
        """For people: what keeps us from asking; nothing, when the last request was let through."""
        reason, until = self._held_off
        return f"held off by {self._between} ({reason})" if self._clock.now() < until else ""

    async def visit(
        self,
        page: Page,
        fields: Sequence[str] = (),
        *,
        pause_s: float = 0.0,
        once: bool = True,
        in_run: bool = False,
    ) -> Visit | Later:
        """Ask for one page and report what happened; `fields` are further header lines (see `validators`).

        A dead server is an observation, just as a 404 is: the schedule learns from both. `pause_s` is how
        long its address must have been left alone before. `once`: the server gets no second request
        without a pause, even if it cut the connection at the first. `in_run`: it was asked just now and is
        asked on, whoever waits for its address; with `once` only on the connection it left open.
        """
        host = _host_of(page.server or server_of(page.url))
        ask = self._ask if self.guests is None else self._ask_beside_guests
        if self._proxy_resolves and not is_address(host):
            return await ask(page, [""], fields, pause_s, once, in_run)
        addresses = self._resolver.known(host)
        if addresses is None:
            addresses = await self._resolver.addresses(host)
        if not addresses:
            return Visit(page, self._clock.now(), Outcome.NO_ADDRESS)
        allowed = [each for each in addresses if self._guard.refusal(each) is None]
        if not allowed:
            refusal = self._guard.refusal(addresses[0]) or ""
            now = self._clock.now()
            return Visit(page, now, Outcome.FORBIDDEN_ADDRESS, address=addresses[0], detail=refusal)
        allowed = self._reachable(allowed)[:ADDRESSES_TRIED]
        visit = await ask(page, allowed, fields, pause_s, once, in_run)
        if isinstance(visit, Visit) and visit.address != addresses[0] and visit.response is not None:
            self._resolver.prefer(host, visit.address)
        return visit

    async def close(self) -> None:
        """End what is under way."""
        if self._limits is not None:
            self._limits.close()
        if self.guests is not None:
            self.guests.close()
        await self._client.close()
        self._resolver.close()

    def _reachable(self, addresses: list[str]) -> list[str]:
        """From an address of ours only those of its own kind can be reached; without one, all."""
        if self._family is None:
            return addresses
        ours = [each for each in addresses if (":" in each) == (self._family == socket.AF_INET6)]
        return ours or addresses[:1]

    async def _ask_beside_guests(
        self,
        page: Page,
        addresses: list[str],
        fields: Sequence[str],
        pause_s: float,
        once: bool,
        in_run: bool,
    ) -> Visit | Later:
        """The same as `_ask`, while no other process is at that server."""
        assert self.guests is not None
        server = page.server or server_of(page.url)
        start = self._clock.now()
        free_at = self.guests.enter(server, start, in_run=in_run)
        if free_at > start:
            return Later(free_at)
        found: Visit | Later | None = None
        try:
            found = await self._ask(page, addresses, fields, pause_s, once, in_run)
            return found
        finally:
            if isinstance(found, Later):
                self.guests.step_back(server)
            else:
                self.guests.leave(server, self._clock.now())

    async def _ask(
        self,
        page: Page,
        addresses: list[str],
        fields: Sequence[str],
        pause_s: float,
        once: bool,
        in_run: bool,
    ) -> Visit | Later:
        """Ask at the first address where someone is, and at none where too many of us are."""
        server = page.server or server_of(page.url)
        port = _port_of(server)
        port = self._ports.get(port, port)
        limits = self._limits if addresses[0] else None  # which address a proxy finds, we are not told
        for address in addresses:
            start = self._clock.now()
            if start >= self.closes_at():
                return Later(start)
            opens_at = self.opens_at(server, start)
            if opens_at > start:
                return Later(opens_at)
            held = self._hold(limits, server, address, start, pause_s, in_run) if limits is not None else None
            if limits is not None and held is None:
                if address != addresses[0]:
                    self._resolver.prefer(_host_of(server), address)  # no use in asking the dead ones again
                return Later(limits.free_at(address, start, pause_s), "" if in_run else address)
            try:
                exchange = await self._client.get(
                    page.url, address=address, port=port, fields=fields, once=once, kept=in_run and once
                )
            finally:
                if held is not None:
                    self._release(held, address, pause_s)
            if exchange.connected:
                break
        if exchange.hung_up:
            return Later(start, hung_up=True)
        if exchange.held_off_s:
            return Later(self._hold_off(exchange))
        self._held_off = ("", 0.0)
        return self._report(page, start, exchange, address)

    def _hold_off(self, exchange: Exchange) -> float:
        """Until when: the breaker or proxy let nothing through."""
        until = self._clock.now() + exchange.held_off_s
        refused = exchange.detail.startswith(REFUSED)
        self._held_off = (exchange.detail.removeprefix(REFUSED), until)
        if refused and not self._has_told_refusal:  # that it is not there, `http` tells
            self._has_told_refusal = True
            log.warning(
                "%s refuses requests, which wait (%s; more are not told here);"
                " a longer politeness.interval_s asks for less, higher limits in [breaker] allow more",
                self._between, self._held_off[0],
            )  # fmt: skip
        return until

    def _hold(
        self, limits: AddressLimits, server: str, address: str, now: float, pause_s: float, in_run: bool
    ) -> Hold | None:
        """Leave to be at an address, if it can be had and nobody was there to ask for it before."""
        lines = self.lines
        if lines is None or address not in lines.crowded:
            return limits.try_hold(address, now, pause_s)
        if not in_run and not lines.may_pass(server, address):
            return None
        held = limits.try_hold(address, now, pause_s)
        if held is not None:
            lines.passed(server, address, now + pause_s)
        return held

    def _release(self, held: Hold, address: str, pause_s: float) -> None:
        now = self._clock.now()
        held.release(now)
        if self.lines is not None and address in self.lines.crowded:
            self.lines.freed(address, now + pause_s)

    def _report(self, page: Page, start: float, exchange: Exchange, address: str) -> Visit:
        response = exchange.response
        outcome = exchange.outcome
        if outcome is None:
            assert response is not None
            outcome = outcome_of(response.status, response.headers)
        return Visit(
            page,
            start,
            outcome,
            exchange.request,
            response,
            address,
            self._clock.now() - start,
            exchange.detail,
            exchange.kept_alive,
            exchange.certificate,
        )


@functools.lru_cache(maxsize=8_192)
def _host_of(server: str) -> str:
    return host_of(server + "/")


@functools.lru_cache(maxsize=8_192)
def _port_of(server: str) -> int:
    _, _, port = server.rpartition(":")
    if port.isdigit():
        return int(port)
    return 443 if server.startswith("https:") else 80


def _ports(wanted: dict[str, int]) -> dict[int, int]:
    for key, port in wanted.items():
        number = int(key) if re.fullmatch("[0-9]{1,5}", key) else 0  # of thousands of digits int() makes none
        if not (0 < number < 65_536 and 0 < port < 65_536):
            raise ConfigError(
                f'fetch.ports: "{key}" = {port} are not two port numbers', remedy='write it like "80" = 8080'
            )
    return {int(key): port for key, port in wanted.items()}


def longest_s(settings: Fetch) -> float:
    """No visit takes longer, whoever does not answer."""
    return settings.timeout_s + ADDRESSES_TRIED * settings.connect_timeout_s


def _limits(settings: Fetch) -> Limits:
    return Limits(
        timeout_s=settings.timeout_s,
        connect_timeout_s=settings.connect_timeout_s,
        body_bytes=settings.body_limit_bytes,
        head_bytes=settings.head_limit_bytes,
        stall_s=settings.stall_s,
        stall_bytes_per_s=settings.stall_bytes_per_s,
        memory_bytes=settings.memory_limit_bytes,
        rules_bytes=RULES_BYTES,
    )


def _idle(sockets: int) -> int:
    """Connections to keep open between visits: three for each in use, if we may have so many files."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(0, min(3 * sockets, files // 2 - LOCK_FILES - sockets))


#: A longer validator is more trouble than a second download.
_VALIDATOR_LIMIT_CHARS = 1_000


def validators(headers: Mapping[str, str]) -> list[str]:
    """Header lines that ask for a page only if it has changed since the response with these headers."""
    lines = []
    for ours, theirs in (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")):
        value = headers.get(theirs, "")
        if value and value.isascii() and value.isprintable() and len(value) <= _VALIDATOR_LIMIT_CHARS:
            lines.append(f"{ours}: {value}")
    return lines


def outcome_of(status: int, headers: dict[str, str]) -> Outcome:
    """What a status code means to us."""
    if 200 <= status < 300:
        return Outcome.OK
    if status == 304:
        return Outcome.NOT_MODIFIED
    if 300 <= status < 400:
        return Outcome.REDIRECT if "location" in headers else Outcome.CLIENT_ERROR
    if status in (404, 410):
        return Outcome.GONE
    if status in (429, 503):
        return Outcome.THROTTLED
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    return Outcome.SERVER_ERROR if 500 <= status < 600 else Outcome.MALFORMED
