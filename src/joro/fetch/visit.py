"""What became of one page?

In:    a page.
Out:   a `Visit`; the web's failures are outcomes, never exceptions.
Never: decides whether a visit is allowed now: that is `politeness`' and `robotstxt`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from joro.clock import Clock
from joro.config import Fetch, Identity
from joro.errors import ConfigError
from joro.fetch.guard import Guard
from joro.fetch.http import Client, Limits
from joro.fetch.resolver import Resolver
from joro.model import Outcome, Page, Visit
from joro.url import host_of


def user_agent(identity: Identity, version: str) -> str:
    """How we introduce ourselves: `joro/0.1 (+https://…)`."""
    contact = f" (+{identity.contact})" if identity.contact else ""
    return f"{identity.name}/{version}{contact}"


class Visitor:
    """Resolve, check the address, ask, judge."""

    def __init__(self, settings: Fetch, *, user_agent: str, clock: Clock) -> None:
        self._clock = clock
        self._ports = _ports(settings.ports)
        self._guard = Guard(settings.allow_addresses)
        self._resolver = Resolver(clock, nameservers=settings.nameservers, hosts=settings.hosts)
        limits = Limits(
            timeout_s=settings.timeout_s,
            connect_timeout_s=settings.connect_timeout_s,
            body_bytes=settings.body_limit_bytes,
            head_bytes=settings.head_limit_bytes,
        )
        self._client = Client(user_agent=user_agent, limits=limits, connections=settings.sockets)

    @property
    def open_sockets(self) -> int:
        """Requests under way."""
        return self._client.open_transfers

    async def visit(self, page: Page, fields: Sequence[str] = ()) -> Visit:
        """Ask for one page and report what happened.

        A dead server is an observation, just as a 404 is: the schedule learns from both.
        """
        addresses = await self._resolver.addresses(host_of(page.url))
        if not addresses:
            return Visit(page, self._clock.now(), Outcome.NO_ADDRESS)
        address = addresses[0]
        refusal = self._guard.refusal(address)
        if refusal is not None:
            return Visit(page, self._clock.now(), Outcome.FORBIDDEN_ADDRESS, address=address, detail=refusal)
        start = self._clock.now()
        exchange = await self._client.get(page.url, address=address, port=self._port(page.url), fields=fields)
        outcome = exchange.outcome
        if outcome is None:
            assert exchange.response is not None
            outcome = outcome_of(exchange.response.status, exchange.response.headers)
        elapsed = self._clock.now() - start
        return Visit(
            page, start, outcome, exchange.request, exchange.response, address, elapsed, exchange.detail
        )

    async def close(self) -> None:
        """End what is under way."""
        await self._client.close()
        self._resolver.close()

    def _port(self, url: str) -> int:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return self._ports.get(port, port)


def _ports(wanted: dict[str, int]) -> dict[int, int]:
    for key, port in wanted.items():
        if not (key.isascii() and key.isdigit() and 0 < port < 65_536):
            raise ConfigError(
                f'fetch.ports: "{key}" = {port} are not two port numbers', remedy='write it like "80" = 8080'
            )
    return {int(key): port for key, port in wanted.items()}


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
