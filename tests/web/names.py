"""A name server that says what it is told to."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from joro.testweb.dns import NOERROR, NXDOMAIN, SERVFAIL, read_name

A, AAAA = 1, 28

#: Addresses, a code such as SERVFAIL, or None for silence.
Reply = Sequence[str] | int | None
Zone = Mapping[str, Reply] | Callable[[str], Reply]

__all__ = ["AAAA", "NXDOMAIN", "SERVFAIL", "A", "Names", "names", "naming"]

#: A further record that lives for no time: c-ares, which tells time by a real clock, then remembers nothing.
_FLEETING = b"\0" + struct.pack("!HHIH", 16, 1, 0, 2) + b"\x01x"


@dataclass
class Names:
    """What was asked (names, once per look-up), and where to ask."""

    zone: Zone
    ttl_s: int = 300
    port: int = 0
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def nameservers(self) -> tuple[str, ...]:
        return (f"127.0.0.1:{self.port}",)


class _Server(asyncio.DatagramProtocol):
    def __init__(self, state: Names) -> None:
        self._state = state

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        name, end = read_name(data, 12)
        (kind,) = struct.unpack_from("!H", data, end)
        if kind == A:
            self._state.asked[name] += 1
        zone = self._state.zone
        reply = zone(name) if callable(zone) else zone.get(name, NXDOMAIN)
        if reply is not None:
            self._transport.sendto(_message(data, end, kind, reply, self._state.ttl_s), addr)


def _message(query: bytes, end: int, kind: int, reply: Sequence[str] | int, ttl_s: int) -> bytes:
    code = reply if isinstance(reply, int) else NOERROR
    addresses = [] if isinstance(reply, int) else [ipaddress.ip_address(each) for each in reply]
    version = {A: 4, AAAA: 6}.get(kind)
    records = [
        struct.pack("!HHHIH", 0xC00C, kind, 1, ttl_s, len(each.packed)) + each.packed
        for each in addresses
        if each.version == version
    ]
    header = query[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(records), 0, 1)
    return header + query[12 : end + 4] + b"".join(records) + _FLEETING


@asynccontextmanager
async def names(zone: Zone, *, ttl_s: int = 300) -> AsyncIterator[Names]:
    """Answer questions about `zone`; names that are not in it do not exist."""
    state = Names(zone, ttl_s)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Server(state), local_addr=("127.0.0.1", 0)
    )
    state.port = transport.get_extra_info("sockname")[1]
    try:
        yield state
    finally:
        transport.close()


@contextmanager
def naming(zone: Zone) -> Iterator[Names]:
    """The same for a story that has no event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = names(zone)
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
