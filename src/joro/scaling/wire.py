"""How do packets travel between machines of a network that exists only here?

In:    commands as JSON lines on standard input: `add` a machine, `shape` its link, `cut` it, `heal` it.
Out:   a network namespace for each machine, with one interface; packets carried between them, each after the
       delay and at the rate of both links; an answer to each command, a JSON line.
Never: touches the network of whoever started it; leaves anything behind: namespaces have no names, so they
       end with this process and those inside them.

A machine's interface is a TUN device whose other end is held here. That needs root and /dev/net/tun, but of
the kernel neither netem nor a bridge, which not all have.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

MTU_BYTES = 9_000
#: A link that is asked for more than it can carry drops what would wait longer than this, as routers do.
LONGEST_QUEUE_S = 0.5
#: Packets read from one machine before the others have their turn.
BURST = 64

_CLONE_NEWNET = 0x4000_0000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK, _SIOCSIFMTU = 0x8914, 0x8916, 0x891C, 0x8922
_IFF_UP_RUNNING = 0x0041


@dataclass
class Link:
    """One machine's connection to all others."""

    name: str
    networks: list[IPv4Network]
    namespace: int  # file descriptors
    device: int
    delay_s: float = 0.0  # one way
    bytes_per_s: float = 0.0  # 0: without limit
    is_cut: bool = False
    cut_from: frozenset[str] = frozenset()  # names of others
    up_until: float = 0.0  # its two directions are busy until then
    down_until: float = 0.0


@dataclass(order=True)
class _Packet:
    due: float
    number: int
    link: Link = field(compare=False)
    content: bytes = field(compare=False)


class Wire:
    """Carries packets between links."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._links: dict[str, Link] = {}
        self._homes: dict[bytes, Link | None] = {}  # by destination address, as they come up
        self._under_way: list[_Packet] = []
        self._carried = 0
        self._poll = select.epoll()
        self._poll.register(0, select.EPOLLIN)

    def run(self) -> None:
        """Until standard input ends."""
        commands = b""
        while True:
            for number, _ in self._poll.poll(self._wait_s()):
                if number == 0:
                    received = os.read(0, 65_536)
                    if not received:
                        return
                    *lines, commands = (commands + received).split(b"\n")
                    for line in lines:
                        self._obey(msgspec.json.decode(line))
                else:
                    self._carry(next(link for link in self._links.values() if link.device == number))
            self._deliver()

    def _wait_s(self) -> float:
        return max(0.0, self._under_way[0].due - self._now()) if self._under_way else -1.0

    def _obey(self, command: dict[str, Any]) -> None:
        try:
            answer = self._answer(**command)
        except OSError as error:
            answer = {"error": str(error)}
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()

    def _answer(self, verb: str, name: str, **shape: Any) -> dict[str, Any]:
        if verb == "add":
            link = self._links[name] = opened(name, shape.pop("networks"))
            self._homes.clear()
            self._poll.register(link.device, select.EPOLLIN)
        link = self._links[name]
        if verb in ("cut", "heal"):
            others = frozenset(shape.pop("others", ()))
            link.is_cut, link.cut_from = verb == "cut" and not others, others
        for what, value in shape.items():
            setattr(link, what, value)
        return {"namespace": f"/proc/{os.getpid()}/fd/{link.namespace}"}

    def _carry(self, link: Link) -> None:
        """Take a machine's packets in."""
        for _ in range(BURST):
            try:
                content = os.read(link.device, 65_536)
            except BlockingIOError:
                return
            target = self._home(content[16:20]) if content[0] >> 4 == 4 else None
            if target is not None and not _is_cut(link, target):
                self._send(link, target, content)

    def _home(self, address: bytes) -> Link | None:
        if address not in self._homes:
            number = int.from_bytes(address, "big")
            self._homes[address] = next(
                (
                    link
                    for link in self._links.values()
                    for network in link.networks
                    if number >> (32 - network.prefixlen)
                    == int(network.network_address) >> (32 - network.prefixlen)
                ),
                None,
            )
        return self._homes[address]

    def _send(self, source: Link, target: Link, content: bytes) -> None:
        due = now = self._now()
        if source.bytes_per_s:
            due = source.up_until = max(due, source.up_until) + len(content) / source.bytes_per_s
        due += source.delay_s + target.delay_s
        if target.bytes_per_s:
            due = target.down_until = max(due, target.down_until) + len(content) / target.bytes_per_s
        if due - now > source.delay_s + target.delay_s + LONGEST_QUEUE_S:
            return
        self._carried += 1
        heapq.heappush(self._under_way, _Packet(due, self._carried, target, content))

    def _deliver(self) -> None:
        now = self._now()
        while self._under_way and self._under_way[0].due <= now:
            packet = heapq.heappop(self._under_way)
            if packet.link.is_cut:
                continue
            with contextlib.suppress(OSError):  # its machine does not read as fast as it should
                os.write(packet.link.device, packet.content)


def _is_cut(one: Link, other: Link) -> bool:
    return one.is_cut or other.is_cut or other.name in one.cut_from or one.name in other.cut_from


def opened(name: str, networks: list[str]) -> Link:
    """A new machine: its namespace, with a loopback and an interface that has these addresses."""
    return aside(lambda: _made_here(name, [IPv4Network(each) for each in networks]))


def aside(make: Callable[[], T]) -> T:
    """What is made in a thread: one has a network of its own as soon as it asks for it, until it ends."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def _made_here(name: str, networks: list[IPv4Network]) -> Link:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, f"no network namespace can be made: {os.strerror(code)}")
    namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"joro0", _IFF_TUN | _IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _configure(control, "lo")
        _configure(control, "joro0", str(networks[0].network_address), "255.0.0.0")
        for number, network in enumerate(networks[1:]):
            # On the loopback every address of a network is the machine's own, as all of 127/8 are.
            _configure(control, f"lo:{number + 1}", str(network.network_address + 1), str(network.netmask))
    return Link(name, networks, namespace, device)


def _configure(control: socket.socket, interface: str, address: str = "", mask: str = "") -> None:
    def set_up(what: int, value: bytes) -> None:
        fcntl.ioctl(control, what, struct.pack("16s24s", interface.encode(), value))

    def inet(text: str) -> bytes:
        return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(text))

    if address:
        set_up(_SIOCSIFADDR, inet(address))
        set_up(_SIOCSIFNETMASK, inet(mask))
    if interface == "joro0":
        set_up(_SIOCSIFMTU, struct.pack("=i", MTU_BYTES))
    set_up(_SIOCSIFFLAGS, struct.pack("=H", _IFF_UP_RUNNING))


if __name__ == "__main__":
    Wire(time.monotonic).run()
