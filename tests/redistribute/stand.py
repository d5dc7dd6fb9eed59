"""Two collections, a service between them, and a line that is cut."""

import asyncio
import contextlib
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from granian.constants import Interfaces
from granian.server.embed import Server
from starlette.types import ASGIApp

from joro.archive.index import CaptureIndex
from joro.archive.names import warcs
from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.config import Config
from joro.model import Capture
from joro.redistribute.caller import Caller
from joro.redistribute.package import NO_LIMITS, Limits
from joro.redistribute.parties import Party, PartyBook
from joro.redistribute.service import application
from joro.redistribute.sources import Source
from joro.store.collection import Collection
from tests.archive.examples import HEAD, NOON, visit

DAY_S = 86_400.0
HOSTS = ("www.a.ac.jp", "b.ac.jp", "c.example.org", "d.example.org:8080")


def collection_at(path: Path) -> Collection:
    return Collection.create(path, Config())


def fill(
    collection: Collection,
    pages: int,
    *,
    body_bytes: int = 300,
    limit_bytes: int = 1_000_000,
    first: int = 0,
    head: bytes = HEAD,
) -> None:
    """Captures of pages on four hosts, an hour apart; their bodies cannot be compressed much."""
    chance = random.Random(first)
    robot = WarcWriter(
        collection.archive,
        limit_bytes=limit_bytes,
        clock=FakeClock(NOON),
        robot="joro/0 (+http://x.example/)",
    )
    for number in range(first, first + pages):
        url = f"http://{HOSTS[number % 4]}/{number}"
        body = b"<p>%d " % number + chance.randbytes(body_bytes // 2).hex().encode()
        robot.append(visit(url, body, head=head, time=NOON + number * 3600))
    robot.close()


def register(collection: Collection, name: str = "tokyo", **terms: object) -> str:
    """A token for a party."""
    book = PartyBook(collection.part("redistribution"))
    return book.add(Party(name, "", NOON, **terms))  # type: ignore[arg-type]


def captures_of(collection: Collection) -> set[tuple[str, float, str]]:
    """What can be found in a collection."""
    return {spelled(each) for each in CaptureIndex(collection.archive).all()}


def spelled(capture: Capture) -> tuple[str, float, str]:
    return capture.url, capture.time, capture.digest


def received_warcs(collection: Collection) -> list[Path]:
    return [collection.archive / name for name in warcs(collection.archive)]


def source(url: str = "", **other: str) -> Source:
    return Source(**{"name": "tokyo", "schedule": "30 3 * * *", "url": url, "token_file": "x"} | other)


def caller(url: str, token: str) -> Caller:
    return Caller(url, token, silence_s=10)


@contextmanager
def serving(
    collection: Collection, clock: FakeClock | None = None, limits: Limits = NO_LIMITS, **tls: Path
) -> Iterator[str]:
    """The service of a collection on loopback; its address."""
    clock = clock or FakeClock(NOON + 400 * DAY_S)
    with running(lambda: application(collection, clock, limits), **tls) as address:
        yield address


@contextmanager
def running(application: Callable[[], ASGIApp], **tls: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started: list[Server] = []
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        server = Server(
            application(),
            "127.0.0.1",
            port,
            interface=Interfaces.ASGINL,
            websockets=False,
            log_enabled=False,
            **tls,  # type: ignore[arg-type]
        )
        started.append(server)
        await server.serve()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        _wait_for(port)
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(started[0].stop)
        thread.join(10)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except ConnectionRefusedError:
            threading.Event().wait(0.01)


class CuttingLine:
    """A line to a service that breaks after so many bytes of answers (or questions), so many times."""

    def __init__(
        self, url: str, every_bytes: int, cuts: int, *, upwards: bool = False, then_dead: bool = False
    ) -> None:
        host, _, port = url.rpartition("/")[2].partition(":")
        self._goal = host, int(port)
        self._every_bytes = every_bytes
        self._upwards = upwards
        self._then_dead = then_dead
        self.left = cuts
        self.passed = 0  # bytes, in the direction that is cut
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _deafen(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def close(self) -> None:
        self._deafen()
        for thread in self._threads:
            thread.join(10)

    def __enter__(self) -> "CuttingLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.create_connection(self._goal)
            for source, target, is_cut in ((near, far, self._upwards), (far, near, not self._upwards)):
                thread = threading.Thread(target=self._carry, args=(source, target, is_cut))
                self._threads.append(thread)
                thread.start()

    def _carry(self, source: socket.socket, target: socket.socket, is_cut: bool) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while content := source.recv(65_536):
                target.sendall(content)
                carried += len(content)
                self.passed += len(content) if is_cut else 0
                if is_cut and self.left and carried >= self._every_bytes:
                    self.left -= 1
                    if not self.left and self._then_dead:
                        self._deafen()
                    break
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
