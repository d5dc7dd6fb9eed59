"""At which address does a name live?

In:    DNS questions over UDP, from this machine.
Out:   A records of the plan; NXDOMAIN for strangers; SERVFAIL where a host's name server is dead.
Never: asks anyone else.

A rebinding host answers with its true address first and with a private one ever after: a crawler that
checks the address only once is caught.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any, cast

from joro.testweb.plan import Host, Plan

TTL_S = 300
ORACLE = "oracle.testweb"
PRIVATE_ADDRESS = "10.0.0.1"
NOERROR, FORMERR, SERVFAIL, NXDOMAIN = 0, 1, 2, 3
TYPE_A, CLASS_IN = 1, 1


class Resolver(asyncio.DatagramProtocol):
    """The name server of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._rebound: set[str] = set()
        self.questions = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.questions += 1
        reply = self.reply(data)
        if reply:
            self._transport.sendto(reply, addr)

    def reply(self, query: bytes) -> bytes:
        """The whole reply to one query; nothing for what is no query."""
        if len(query) < 12 or query[2] & 0x80:
            return b""
        try:
            name, end = read_name(query, 12)
            kind, family = struct.unpack_from("!HH", query, end)
        except (struct.error, IndexError, UnicodeDecodeError):
            return _message(query, b"", FORMERR, b"")
        question = query[12 : end + 4]
        code, address, ttl_s = self.look_up(name)
        if not address or kind != TYPE_A or family != CLASS_IN:
            return _message(query, question, code, b"")
        record = struct.pack("!HHHIH", 0xC00C, TYPE_A, CLASS_IN, ttl_s, 4) + socket.inet_aton(address)
        return _message(query, question, NOERROR, record)

    def look_up(self, name: str) -> tuple[int, str, int]:
        """Code, address and lifetime for one name."""
        if name == ORACLE:
            return NOERROR, "127.0.0.1", TTL_S
        host = self._plan.by_name.get(name)
        if host is None or host.kind == "nxdomain":
            return NXDOMAIN, "", 0
        if host.kind == "servfail":
            return SERVFAIL, "", 0
        return NOERROR, *self._address(host)

    def _address(self, host: Host) -> tuple[str, int]:
        if host.kind != "rebinding":
            return host.address, TTL_S
        if host.name in self._rebound:
            return PRIVATE_ADDRESS, 0
        self._rebound.add(host.name)
        return host.address, 0


def read_name(message: bytes, at: int) -> tuple[str, int]:
    """The name that begins at `at`, lower case, and where it ends."""
    labels = []
    while message[at]:
        size = message[at]
        if size > 63:
            raise IndexError("a compressed name in a question")
        labels.append(message[at + 1 : at + 1 + size].decode("ascii"))
        at += size + 1
    return ".".join(labels).lower(), at + 1


def _message(query: bytes, question: bytes, code: int, record: bytes) -> bytes:
    flags = 0x8400 | (query[2] & 0x01) << 8 | code  # a reply, with authority; "recursion desired" as asked
    counts = struct.pack("!HHHH", 1 if question else 0, 1 if record else 0, 0, 0)
    return query[:2] + struct.pack("!H", flags) + counts + question + record
