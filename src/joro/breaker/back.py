"""How do we reach a server, and may a connection be used again?

In:    a server and the place to connect to.
Out:   a `Back`, one connection to a server: a used one that is still good, or a new one.
Never: connects where the operator forbade it; shares a connection between two servers, even on one address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol, cast

from joro.breaker.between import Stream
from joro.breaker.request import Place, plain_address
from joro.errors import ConfigError

CONNECT_TIMEOUT_S = 15.0
#: Unused connections kept open, and for how long: most servers hang up sooner.
SPARE_CONNECTIONS = 1_000
SPARE_S = 30.0


class Talk(Protocol):
    """Whoever a connection to a server works for."""

    def server_said(self, piece: bytes) -> None: ...

    def server_gone(self, error: Exception | None) -> None: ...

    def hold(self, *, client: bool) -> None:
        """The other side is slow: read no more from the client (or else from the server) for now."""

    def go_on(self, *, client: bool) -> None: ...


class Back(Stream):
    """One connection to a server."""

    __slots__ = ("_room", "owner", "since", "used", "way")

    def __init__(self, room: Backroom, way: Way) -> None:
        self._room = room
        self.way = way
        self.owner: Talk | None = None
        self.used = False  # has carried a request before
        self.since = 0.0  # unused since then, by the loop's time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._room.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.open.discard(self)
        self._room.drop(self)
        owner, self.owner = self.owner, None
        if owner is not None:
            owner.server_gone(exc)

    def data_received(self, data: bytes) -> None:
        if self.owner is not None:
            self.owner.server_said(data)
        else:
            self._transport.abort()  # nobody asked

    def pause_writing(self) -> None:
        if self.owner is not None:
            self.owner.hold(client=True)

    def resume_writing(self) -> None:
        if self.owner is not None:
            self.owner.go_on(client=True)

    def write(self, piece: bytes) -> None:
        """Send."""
        self._transport.write(piece)

    def is_closing(self) -> bool:
        """True when it is of no use any more."""
        return self._transport.is_closing()

    def close(self) -> None:
        """End it after what is unsent."""
        self._transport.close()


Way = tuple[str, str, int]  # server key, address, port
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: How a machine without IPv4 reaches the old web (RFC 6052).
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: The lower half of an ISATAP address (RFC 5214) is one of these, then an IPv4 address.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


class Backroom:
    """All connections to servers."""

    def __init__(self, forbidden: Iterable[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._forbidden = [_network(text) for text in forbidden]
        self._spare: OrderedDict[Back, None] = OrderedDict()
        self._by_way: dict[Way, list[Back]] = {}
        self.open: set[Back] = set()

    async def address(self, place: Place) -> str:
        """Where `place` is; raises OSError for a name without an address."""
        address: str | None = place.host
        if place.is_name:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                found = await self._loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            address = plain_address(str(found[0][4][0]))
        assert address is not None
        return address

    def forbidden(self, address: str) -> str | None:
        """Why the operator does not want us there, or None."""
        if not self._forbidden:
            return None
        read_as = _readings(ipaddress.ip_address(address))
        hits = (network for network in self._forbidden if any(number in network for number in read_as))
        return next((f"{address} is in {network}" for network in hits), None)

    def take(self, way: Way) -> Back | None:
        """A used connection that is still good."""
        spare = self._by_way.get(way)
        while spare:
            back = spare[-1]
            self.drop(back)
            if not back.is_closing():
                return back
        return None

    async def connect(self, way: Way) -> Back:
        """A new connection; raises OSError or TimeoutError."""
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, back = await self._loop.create_connection(lambda: Back(self, way), way[1], way[2])
        return back

    def put(self, back: Back) -> None:
        """It may be used again."""
        back.used = True
        back.since = self._loop.time()
        self._spare[back] = None
        self._by_way.setdefault(back.way, []).append(back)
        if len(self._spare) > SPARE_CONNECTIONS:
            self._end(next(iter(self._spare)))

    def drop(self, back: Back) -> None:
        """It is no longer spare."""
        if back in self._spare:
            del self._spare[back]
            same = self._by_way[back.way]
            same.remove(back)
            if not same:
                del self._by_way[back.way]

    def tidy(self) -> None:
        """Close what nobody has used for a while."""
        oldest = self._loop.time() - SPARE_S
        while self._spare and (back := next(iter(self._spare))).since < oldest:
            self._end(back)

    def _end(self, back: Back) -> None:
        self.drop(back)
        back.close()


def reset(transport: asyncio.Transport) -> None:
    """Close so that the other end sees a reset after the last byte, as the server gave us one."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.close()


def _readings(address: Address) -> list[Address]:
    """All that an address may lead to: an IPv6 one may be on its way to an IPv4 one that it carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFF_FFFF)
    if address in _NAT64 or 1 < number < 1 << 32 or number >> 32 & 0xFFFF_FFFF in _ISATAP:
        return [address, last]
    return [address, address.sixtofour] if address.sixtofour is not None else [address]


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ConfigError(
            f"breaker.forbid_addresses: {text!r} is not a network ({error})",
            remedy="write it like 10.0.0.0/8",
        ) from None
