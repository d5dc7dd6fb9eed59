"""How does a test get a web of its own?

In:    `Settings`.
Out:   `with running(settings) as web:` a web in a thread of this process, or in a process of its own.
Never: outlives the `with` block.
"""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec
import uvloop

from joro.config import Config
from joro.testweb.settings import Settings
from joro.testweb.web import TestWeb


class OracleClient:
    """Asks a running web's oracle over HTTP."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, question: str, **arguments: Any) -> Any:
        """The answer to e.g. `get("/page", url="http://…")`; a bad question raises ValueError."""
        target = f"{question}?{urlencode(arguments)}" if arguments else question
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("GET", target, headers={"Host": "oracle.testweb"})
            response = connection.getresponse()
            answer = msgspec.json.decode(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(answer["error"])
        return answer


@dataclass(frozen=True)
class Running:
    """A web that is up."""

    port: int
    dns_port: int
    config: Config  # what a collection needs to see it
    oracle: OracleClient
    seeds: list[str]


@contextmanager
def running(settings: Settings) -> Iterator[Running]:
    """A web in a thread of this process: up in milliseconds, shares the interpreter with the caller."""
    web = TestWeb(settings)
    up = threading.Event()
    failure: list[BaseException] = []
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def live() -> None:
        try:
            await web.start()
        except BaseException as error:
            failure.append(error)
            up.set()
            return
        done = asyncio.Event()
        stop.append((asyncio.get_running_loop(), done))
        up.set()
        await done.wait()
        await web.stop()

    thread = threading.Thread(target=lambda: uvloop.run(live()), name="testweb", daemon=True)
    thread.start()
    up.wait()
    if failure:
        raise failure[0]
    try:
        yield Running(web.port, web.dns_port, web.config(), OracleClient(web.port), web.plan.seeds())
    finally:
        loop, done = stop[0]
        loop.call_soon_threadsafe(done.set)
        thread.join()
