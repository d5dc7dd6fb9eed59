"""A few servers that say exactly what a story needs, and write down who asked what and when.

For what no host of the test web does: X-Robots-Tag, connections closed without a word, robots.txt files that
change or lie elsewhere. Its log has the columns of the test web's that `laws` looks at.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from joro import config
from joro.clock import RealClock
from tests.scenarios.laws import LATENCY_S, Row
from tests.scenarios.stage import done


@dataclass(frozen=True)
class Reply:
    """What a server says; `hangs_up`: and closes the connection without a word about it, or, if it announced
    so many bytes more (`announces`), before it has said all."""

    body: str | bytes = ""
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()
    hangs_up: bool = False
    announces: int = 0


def linking(*targets: str, head: str = "", **more: Any) -> Reply:
    """A page with links."""
    links = "".join(f'<a href="{target}">{target}</a> ' for target in targets)
    return Reply(f"<html><head>{head}<title>page</title></head><body>{links}</body></html>", **more)


def rules(*lines: str) -> Reply:
    """A robots.txt for everyone."""
    return Reply("\n".join(("User-agent: *", *lines, "")), fields=(("Content-Type", "text/plain"),))


CLOCK = RealClock()

#: By path; a function gets the number of the request to that path. What is not there is a 404.
Site = Mapping[str, Reply | Callable[[int], Reply]]


@dataclass
class Village:
    """Servers by name, and their log."""

    sites: Mapping[str, Site]
    port: int = 0
    rows: list[Row] = field(default_factory=list)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    def paths(self, host: str) -> list[str]:
        """What was asked for, in order, robots.txt left out."""
        return [row["path"] for row in self.log(host) if row["path"] != "/robots.txt"]

    def log(self, host: str) -> list[Row]:
        """The requests to one host, in the order they began."""
        return sorted((row for row in self.rows if row["host"] == host), key=lambda row: row["start"])

    def collection(self, path: Path, **sections: dict[str, Any]) -> Path:
        """A new collection that sees this village only."""
        done("init", path)
        return self.settle(path, **sections)

    def settle(self, path: Path, **sections: dict[str, Any]) -> Path:
        """Give a collection other settings."""
        fetch = {
            "hosts": {"*": "127.0.0.1"},
            "ports": {"80": self.port},
            "allow_addresses": ["127.0.0.0/8"],
        }
        tables = {**sections, "fetch": fetch | sections.get("fetch", {})}
        tables["politeness"] = {"per_address": 64, "address_interval_s": 0.0} | sections.get("politeness", {})
        (path / config.FILE_NAME).write_text(config.render(config.from_tables(tables)))
        return path


@contextmanager
def village(sites: Mapping[str, Site]) -> Iterator[Village]:
    """Serve until the block ends."""
    place = Village(sites)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _clerk(place))
    server.daemon_threads = True
    place.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield place
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _clerk(place: Village) -> type[BaseHTTPRequestHandler]:
    numbers = itertools.count()

    class Clerk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer leaves in one piece

        def setup(self) -> None:
            super().setup()
            self.number = next(numbers)

        def do_GET(self) -> None:
            start = CLOCK.now()
            host = self.headers["Host"]
            place.asked[host, self.path] += 1
            reply = place.sites[host].get(self.path, Reply("<html></html>", 404))
            if not isinstance(reply, Reply):
                reply = reply(place.asked[host, self.path])
            row = {"start": start, "host": host, "path": self.path, "url": f"http://{host}{self.path}"}
            row |= {"connection": self.number, "status": reply.status, "end": float("inf")}
            place.rows.append(row)
            time.sleep(LATENCY_S)
            row["end"] = CLOCK.now()
            self.say(reply)
            self.close_connection = reply.hangs_up

        def say(self, reply: Reply) -> None:
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            self.send_response_only(reply.status)
            if "Content-Type" not in dict(reply.fields):
                self.send_header("Content-Type", "text/html")
            for name, value in (*reply.fields, ("Content-Length", str(len(body) + reply.announces))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, *_: object) -> None: ...

    return Clerk
