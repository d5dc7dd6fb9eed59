"""A channel, a web server that hands it out, and a robot that looks there."""

import base64
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from joro.clock import FakeClock
from joro.config import Config, Cooperate, Update
from joro.store.collection import Collection
from joro.updater.channel import Channel
from joro.updater.journal import Journal
from joro.updater.keeper import Keeper
from joro.updater.release import Manifest, new_key
from joro.updater.shelf import Shelf
from joro.updater.source import Source

NOON = 1_794_000_000.0
INSTALLED = "0.1.0"
ID, PASSWORD = "access_id", "passwd"


@dataclass
class Shop:
    """A channel with its key, and how it is served."""

    folder: Path
    knows_ranges: bool = True
    wants_password: bool = False
    spoil: Callable[[str, bytes], bytes] = lambda _path, body: body
    asked: list[tuple[str, str]] = field(default_factory=list)  # path, Range
    url: str = ""
    released: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key = self.folder / "release.key"
        self.public = new_key(self.key)
        self.channel = Channel(self.folder / "stable")
        self.channel.directory.mkdir()

    def release(self, wheel: Path) -> Manifest:
        self.released += 1
        return self.channel.add(wheel, self.key, NOON + self.released)


class _Counter(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None: ...  # whoever has enough hangs up


@contextmanager
def open_shop(folder: Path) -> Iterator[Shop]:
    """Served on loopback, as a plain web server would."""
    shop = Shop(folder)
    server = _Counter(("127.0.0.1", 0), _clerk(shop))
    shop.url = f"http://127.0.0.1:{server.server_address[1]}/stable"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield shop
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _clerk(shop: Shop) -> type[BaseHTTPRequestHandler]:
    wanted = "Basic " + base64.b64encode(f"{ID}:{PASSWORD}".encode()).decode()

    class Clerk(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shop.asked.append((self.path, self.headers.get("Range", "")))
            path = shop.folder / self.path.lstrip("/")
            if shop.wants_password and self.headers.get("Authorization") != wanted:
                self.send_error(401)
            elif not path.is_file():
                self.send_error(404)
            else:
                self.give(path.read_bytes())

        def give(self, body: bytes) -> None:
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(asked[1]) if asked and shop.knows_ranges else 0
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            self.wfile.write(shop.spoil(self.path, body)[start:])

        def log_message(self, *_: object) -> None: ...

    return Clerk


def settings(shop: Shop, **other: object) -> Update:
    return replace(Update(source=shop.url, public_keys=(shop.public,)), **other)  # type: ignore[arg-type]


def collection_at(path: Path, shop: Shop, **other: object) -> Collection:
    """A new collection whose robot looks in the shop."""
    return Collection.create(path, Config(update=settings(shop, **other)))


@dataclass
class Robot:
    """What keeps a robot of version 0.1.0 up to date, short of starting it."""

    keeper: Keeper
    shelf: Shelf
    clock: FakeClock
    path: Path

    @property
    def log(self) -> str:
        return (self.path / "logs" / "update.log").read_text()

    def place(self, version: str) -> None:
        """Switch to a release that pip has not installed: for those who do not start it."""
        (self.shelf.directory / version / "joro").mkdir(parents=True)
        self.keeper.adopt(version)

    def update(self) -> str | None:
        version = self.keeper.bring()
        if version is not None:
            self.keeper.adopt(version)
        return version


def robot_at(path: Path, shop: Shop, installed: str = INSTALLED, **other: object) -> Robot:
    """The same robot as before, if there was one at that path."""
    chosen = settings(shop, **other)
    (path / "logs").mkdir(parents=True, exist_ok=True)
    clock = FakeClock(NOON)
    shelf = Shelf(path / "releases", installed)
    journal = Journal(path / "logs", clock.now)
    source = Source(chosen, Cooperate(), path, silence_s=10)
    return Robot(Keeper(shelf, chosen, source, journal, clock, path), shelf, clock, path)
