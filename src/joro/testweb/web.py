"""How does the whole web come to life?

In:    `Settings`.
Out:   a `TestWeb` that listens, resolves and can be asked for the truth.
Never: decides what a host says; this is wiring only.
"""

from __future__ import annotations

import asyncio
import errno
import socket

from joro.clock import FastClock, RealClock
from joro.config import Config, Fetch, Politeness
from joro.errors import PortInUse
from joro.testweb import moods
from joro.testweb import plan as planning
from joro.testweb.answer import Answer
from joro.testweb.dns import Resolver
from joro.testweb.log import AccessLog
from joro.testweb.oracle import Oracle
from joro.testweb.paths import path
from joro.testweb.plan import Host
from joro.testweb.ready import Ready
from joro.testweb.server import Booth, Connection, Desk
from joro.testweb.settings import EPOCH, Settings
from joro.testweb.site import Site
from joro.testweb.timeline import Timeline

FLUSH_EVERY_S = 1.0
BACKLOG = 4_096
_USUAL = Settings()


class TestWeb:
    """A running synthetic internet."""

    __test__ = False  # pytest: the name is ours

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.plan = planning.make(settings)
        self.site = Site(self.plan)
        self.log = AccessLog(settings.log)
        self.timeline = _timeline(settings.speed)
        self.oracle = Oracle(self.site, self.log, self.timeline)
        self._moods = moods.Moods(settings.seed, self.date)
        self.ready = Ready(settings.memory_bytes)
        self._names = [host.name for host in self.plan.hosts]
        self._desk = Desk(
            booths={host.name.encode(): Booth(host) for host in self.plan.hosts},
            answers=self,
            ready=self.ready,
            log=self.log,
            timeline=self.timeline,
            latency_s=settings.latency_s,
            moody=moods.ROLES,
            neighbours=settings.network.partition(".")[0] + ".",
        )
        self._server: asyncio.Server | None = None
        self._dns: asyncio.BaseTransport | None = None
        self._flusher: asyncio.TimerHandle | None = None
        self.port = 0
        self.dns_port = 0

    def answer(self, host: Host, target: bytes, gzip: bool, now: float) -> Answer:
        return self.site.answer(host, target, gzip, now)

    def mood(self, booth: Booth, answer: Answer, now: float) -> Answer:
        return self._moods.mood(booth, answer, now)

    def date(self) -> float:
        """The time servers write into Date fields: today's at natural speed, else the virtual one."""
        return self.timeline.read() if self.settings.speed == 1.0 else self.timeline.now()

    def oracle_answer(self, target: str) -> bytes:
        return self.oracle.http(target)

    async def start(self) -> None:
        """Listen; raises `PortInUse` when the port is taken."""
        if self.settings.warm:
            self.warm()
        loop = asyncio.get_running_loop()
        # A whole network arrives only at a socket bound to all addresses; strangers are dropped at once.
        address = self.settings.address() if self.settings.addresses == "one" else "0.0.0.0"
        listener = bound(socket.SOCK_STREAM, address, self.settings.port)
        self.port = listener.getsockname()[1]
        self._server = await loop.create_server(
            lambda: Connection(self._desk), sock=listener, backlog=BACKLOG
        )
        if self.settings.dns_port >= 0:
            await self._start_dns()
        self._flush()

    async def stop(self) -> None:
        """Hang up on everyone, write the rest of the log."""
        if self._flusher is not None:
            self._flusher.cancel()
        if self._dns is not None:
            self._dns.close()
        if self._server is not None:
            self._server.close()
            for connection in list(self._desk.open):
                connection.abort()
            await self._server.wait_closed()
            await asyncio.sleep(0)  # aborted connections log their last request
        self.log.close(self._names)

    async def _start_dns(self) -> None:
        name_server = bound(socket.SOCK_DGRAM, self.settings.address(), self.settings.dns_port)
        self.dns_port = name_server.getsockname()[1]
        loop = asyncio.get_running_loop()
        self._dns, _ = await loop.create_datagram_endpoint(lambda: Resolver(self.plan), sock=name_server)

    def warm(self) -> None:
        """Make every page now, as far as the memory allowed for it goes."""
        now = self.timeline.now()
        for booth in self._desk.booths.values():
            for place in range(booth.host.pages):
                target = path(booth.host, place).encode()
                gzip = booth.host.transfer == "gzip"
                answer = self.site.answer(booth.host, target, gzip, now)
                answer.target = self.log.target(target.decode())
                self._desk.ready.put((booth.host.number, target, gzip), answer)

    def _flush(self) -> None:
        self.log.flush(self._names)
        self._flusher = asyncio.get_running_loop().call_later(FLUSH_EVERY_S, self._flush)


def config(port: int, dns_port: int, settings: Settings = _USUAL) -> Config:
    """Settings with which a collection sees the web on that port, and nothing else."""
    address = settings.address()
    fetch = Fetch(
        nameservers=(f"{address}:{dns_port}",) if dns_port else (),
        hosts={} if dns_port else {"*": address},
        ports={"80": port},
        allow_addresses=(settings.network,),
    )
    # A thousand hosts on one address would have to stand in line for it.
    return Config(fetch=fetch, politeness=Politeness(per_address=64, address_interval_s=0.0))


def bound(kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    """A socket of ours on that port; `PortInUse` when someone else has it."""
    listener = socket.socket(socket.AF_INET, kind)
    if kind == socket.SOCK_STREAM:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        if kind == socket.SOCK_STREAM:
            listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortInUse(f"port {port} is taken", remedy="give another one, or 0 for any free one") from None
    listener.setblocking(False)
    return listener


def _timeline(speed: float) -> Timeline:
    if speed == 0.0:
        return Timeline.still(EPOCH)
    return Timeline.of(RealClock(), FastClock(epoch=EPOCH, speed=speed), speed)
