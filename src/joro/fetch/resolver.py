"""At which address does a server live?

In:    a host name.
Out:   addresses, remembered for as long as their TTL says; failures are remembered for a while too.
Never: blocks the event loop: c-ares works in a thread of its own and reports back.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

import pycares

from joro.clock import Clock

#: A name is looked up at most this often, whatever its TTL says …
LEAST_TTL_S = 30.0
#: … and at least this often.
MOST_TTL_S = 86_400.0
#: How long a failed look-up is believed.
FAILURE_TTL_S = 300.0
#: Names remembered; beyond it the oldest leave.
CACHE_LIMIT = 200_000


class Resolver:
    """Names to addresses, with the operator's fixed ones (`hosts`) first."""

    def __init__(
        self, clock: Clock, *, nameservers: Sequence[str] = (), hosts: Mapping[str, str] | None = None
    ):
        self._clock = clock
        self._hosts = dict(hosts or {})
        self._nameservers = list(nameservers)
        self._known: dict[str, tuple[float, list[str]]] = {}
        self._asking: dict[str, asyncio.Future[list[str]]] = {}
        self._channel: pycares.Channel | None = None

    async def addresses(self, host: str) -> list[str]:
        """All addresses of `host`, best first; empty when it has none."""
        fixed = self._fixed(host)
        if fixed is not None:
            return fixed
        known = self._known.get(host)
        if known is not None and known[0] > self._clock.now():
            return known[1]
        asking = self._asking.get(host)
        if asking is None:
            asking = self._asking[host] = asyncio.ensure_future(self._ask(host))
            asking.add_done_callback(lambda _: self._asking.pop(host, None))
        return await asyncio.shield(asking)

    def close(self) -> None:
        """Give the c-ares thread back."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _fixed(self, host: str) -> list[str] | None:
        if host.startswith("["):
            return [host[1:-1]]
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            return self._from_hosts(host)
        return [host]

    def _from_hosts(self, host: str) -> list[str] | None:
        if not self._hosts:
            return None
        name = host
        if name in self._hosts:
            return [self._hosts[name]]
        while "." in name:
            name = name.partition(".")[2]
            if f"*.{name}" in self._hosts:
                return [self._hosts[f"*.{name}"]]
        return [self._hosts["*"]] if "*" in self._hosts else None

    async def _ask(self, host: str) -> list[str]:
        nodes = await self._query(host)
        addresses = [
            node.addr[0].decode() if isinstance(node.addr[0], bytes) else node.addr[0] for node in nodes
        ]
        ttl = min((node.ttl for node in nodes), default=FAILURE_TTL_S)
        if len(self._known) >= CACHE_LIMIT:
            for oldest in list(self._known)[: CACHE_LIMIT // 10]:
                del self._known[oldest]
        self._known[host] = (self._clock.now() + min(max(ttl, LEAST_TTL_S), MOST_TTL_S), addresses)
        return addresses

    async def _query(self, host: str) -> list[Any]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()

        def settle(nodes: list[Any]) -> None:
            if not answer.done():
                answer.set_result(nodes)

        def report(result: Any, error: int | None) -> None:  # in c-ares' thread
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, [] if error or result is None else list(result.nodes))

        if self._channel is None:
            self._channel = pycares.Channel(servers=self._nameservers or None, timeout=3.0, tries=3)
        self._channel.getaddrinfo(host, None, callback=report)
        return await answer
