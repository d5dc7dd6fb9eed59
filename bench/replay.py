"""How fast is a capture replayed, and are two compared?

A page of 14 KB with 100 links and 50 images, archived 20 times a little changed, asked from the portal's
application in this process, without a network: look-up, reading, unpacking, rewriting, reading again,
headers. Then the page around it, its calendar, and the comparison of two versions. Medians of CPU time.
"""

from __future__ import annotations

import asyncio
import functools
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from joro.archive.warc import WarcWriter
from joro.clock import FakeClock
from joro.config import Config
from joro.model import Outcome, Page, Response, Visit
from joro.portal.web import application
from joro.store.collection import Collection

URL = "http://www.example.jp/news/"
START, DAY = 1_794_808_500.0, 86_400.0
STAMP = "20261116055500"
VERSIONS = 20
ROUNDS = 40


def figures() -> dict[str, tuple[float, str]]:
    """Milliseconds of CPU time each."""
    with tempfile.TemporaryDirectory() as folder:
        app = application(_collection(Path(folder)))
        asked = {
            "replay.page_ms": f"/replay/{STAMP}/{URL}",
            "replay.banner_ms": f"/archive/{STAMP}/{URL}",
            "replay.raw_ms": f"/raw/{STAMP}/{URL}",
            "replay.calendar_ms": f"/archive/*/{URL}",
            "replay.compare_ms": f"/compare?{_comparison(app)}",
        }
        return {name: (_median_ms(app, target), "ms CPU") for name, target in asked.items()}


def _collection(folder: Path) -> Collection:
    collection = Collection.create(folder / "replayed", Config())
    writer = WarcWriter(collection.archive, limit_bytes=10**9, clock=FakeClock(START), robot="joro")
    for number in range(VERSIONS):
        body = _source(number).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        time_s = START + number * DAY
        writer.append(Visit(Page(URL), time_s, Outcome.OK, response=Response(200, head, body)))
    writer.close()
    return collection


def _source(number: int) -> str:
    """Ten of its hundred paragraphs are others in each version."""
    parts = []
    for place in range(100):
        told = number if place % 10 == 0 else 0
        link = f"<a href='/news/{place}.html'>続き</a>"
        parts.append(f"<p>第{place}報：市の中央広場で催しが開かれ、{told}人が集まりました。{link}</p>")
    images = "".join(f"<img src='/images/{place}.png' alt=''>" for place in range(50))
    return f"<!doctype html><meta charset=utf-8><title>町</title><main>{''.join(parts)}</main>{images}"


def _comparison(app: Any) -> str:
    answer = _ask(app, f"/compare?url={URL}&from={STAMP}&to=2030")
    location = dict(answer["headers"])[b"location"].decode()
    return str(location.partition("?")[2])


def _median_ms(app: Any, target: str) -> float:
    assert _ask(app, target)["status"] == 200, target
    taken = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        _ask(app, target)
        taken.append(1_000 * (time.process_time() - begin))
    return statistics.median(taken)


def _ask(app: Any, target: str) -> dict[str, Any]:
    """The start of the answer to one request."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    _loop().run_until_complete(app(scope, receive, send))
    return sent[0]


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """One for all requests, as a portal has."""
    return asyncio.new_event_loop()
