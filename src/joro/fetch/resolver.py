"""At which address does a server live?

In:    a host name.
Out:   addresses, remembered for as long as their TTL says; failures are remembered for a while too.
Never: blocks the event loop: c-ares works in a thread of its own and reports back.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pycares

from joro.clock import Clock
from joro.config.servers import spelled
from joro.errors import ConfigError
from joro.url import is_address

#: A name is looked up at most this often, whatever its TTL says …
LEAST_TTL_S = 30.0
#: … and at least this often.
MOST_TTL_S = 86_400.0
#: How long we believe that a name does not exist, or that its name servers are out of order: less than the
#: wait before a failure is tried again (`politeness.retry_wait_s`), or no such try would ask anybody.
FAILURE_TTL_S = 50.0
#: Names remembered; beyond it the oldest leave.
CACHE_LIMIT = 200_000
#: Look-ups under way at a time, each two packets: at 300 a name server nearby begins to lose some.
LOOKUPS = 200
#: The longest a look-up may take. c-ares waits as long as its name server usually takes, 0.25 s at least, and
#: twice as long each time it asks again: three tries of a server that is quick but busy end in two seconds.
LOOKUP_LIMIT_S = 15.0
_WAIT_S, _TRIES = 2.0, 6
#: No search domains: a dead `www.example` must not become `www.example.our-own-network`.
_FLAGS = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS

Answer = tuple[list[str], float]  # addresses, and for how many seconds


class Resolver:
    """Names to addresses, with the operator's fixed ones (`hosts`) first."""

    def __init__(
        self, clock: Clock, *, nameservers: Sequence[str] = (), hosts: Mapping[str, str] | None = None
    ):
        self._clock = clock
        self._hosts = {_name(name): [_checked(name, address)] for name, address in (hosts or {}).items()}
        self._nameservers = list(nameservers)
        self._known: dict[str, tuple[float, list[str]]] = {}
        self._asking: dict[str, asyncio.Future[list[str]]] = {}
        self._turn = asyncio.Semaphore(LOOKUPS)
        self._channel = _channel(self._nameservers)

    def known(self, host: str) -> list[str] | None:
        """All addresses of `host` if they need not be asked for."""
        known = self._known.get(host)
        return known[1] if known is not None and known[0] > self._clock.now() else None

    async def addresses(self, host: str) -> list[str]:
        """All addresses of `host`, best first; empty when it has none."""
        known = self.known(host)
        if known is not None:
            return known
        fixed = self._fixed(host)
        if fixed is not None:
            self._remember(host, fixed, math.inf)
            return fixed
        asking = self._asking.get(host)
        if asking is None:
            asking = self._asking[host] = asyncio.ensure_future(self._ask(host))
            asking.add_done_callback(lambda _: self._asking.pop(host, None))
        return await asyncio.shield(asking)

    def prefer(self, host: str, address: str) -> None:
        """`address` did answer: from now on it is the best of its host."""
        known = self._known.get(host)
        if known is not None and address in known[1]:
            self._known[host] = known[0], [address, *(each for each in known[1] if each != address)]

    def close(self) -> None:
        """Give the c-ares thread back."""
        for asking in list(self._asking.values()):
            asking.cancel()
        self._channel.close()

    def _fixed(self, host: str) -> list[str] | None:
        if host.startswith("["):
            return [host[1:-1]]
        if is_address(host):
            return [host] if _is_ipv4(host) else []  # `1.2.3` is no name, and no address in our spelling
        return self._from_hosts(host) if self._hosts else None

    def _from_hosts(self, host: str) -> list[str] | None:
        name = host
        if name in self._hosts:
            return self._hosts[name]
        while "." in name:
            name = name.partition(".")[2]
            if f"*.{name}" in self._hosts:
                return self._hosts[f"*.{name}"]
        return self._hosts.get("*")

    async def _ask(self, host: str) -> list[str]:
        async with self._turn:
            addresses, ttl_s = await self._look_up(host)
        self._remember(host, addresses, self._clock.now() + min(max(ttl_s, LEAST_TTL_S), MOST_TTL_S))
        return addresses

    def _remember(self, host: str, addresses: list[str], until: float) -> None:
        if len(self._known) >= CACHE_LIMIT:
            for oldest in list(self._known)[: CACHE_LIMIT // 10]:
                del self._known[oldest]
        self._known.pop(host, None)  # so that it becomes the youngest
        self._known[host] = (until, addresses)

    async def _look_up(self, host: str) -> Answer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()

        def settle(result: Any, error: int | None) -> None:
            if not answer.done():
                answer.set_result(_answer(result, error))

        def report(result: Any, error: int | None) -> None:  # in c-ares' thread
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        self._channel.getaddrinfo(host, None, callback=report)
        try:
            async with asyncio.timeout(LOOKUP_LIMIT_S):
                return await answer
        except TimeoutError:
            return [], FAILURE_TTL_S


def _answer(result: Any, error: int | None) -> Answer:
    if error or result is None or not result.nodes:
        return [], FAILURE_TTL_S
    addresses = [node.addr[0] for node in result.nodes]
    plain = [each.decode() if isinstance(each, bytes) else each for each in addresses]
    return list(dict.fromkeys(plain)), float(min(node.ttl for node in result.nodes))


def _channel(nameservers: list[str]) -> pycares.Channel:
    try:
        return pycares.Channel(servers=nameservers or None, flags=_FLAGS, timeout=_WAIT_S, tries=_TRIES)
    except (pycares.AresError, ValueError) as error:
        raise ConfigError(
            f"fetch.nameservers: {', '.join(nameservers)} cannot be used ({error.args[-1]})",
            remedy='write each as "address" or "address:port"',
        ) from None


def _is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _name(name: str) -> str:
    """A name as URLs have it; `*` stands for whole parts at its beginning."""
    if name != "*" and "*" in name.removeprefix("*."):
        raise ConfigError(f"fetch.hosts: {name!r} is like no name", remedy='write "name", "*.suffix" or "*"')
    return spelled(name, "fetch.hosts")


def _checked(name: str, address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        raise ConfigError(
            f"fetch.hosts: {name} = {address!r} is not an address", remedy='write it like "192.0.2.1"'
        ) from None
