"""How does a test get a web of its own?

In:    `Settings`.
Out:   `with running(settings) as web:` a web in a thread of this process; `separate` the same in a
       process of its own, for measurements and for crawlers that need the whole interpreter.
Never: outlives the `with` block.
"""

from __future__ import annotations

import asyncio
import http.client
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import uvloop

from joro.config import Config
from joro.testweb.settings import Settings
from joro.testweb.web import TestWeb, config


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
    pid: int = 0  # of its process, when it has one of its own


def _facade(port: int, dns_port: int) -> Running:
    oracle = OracleClient(port)
    return Running(port, dns_port, config(port, dns_port), oracle, oracle.get("/summary")["seeds"])


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
        yield _facade(web.port, web.dns_port)
    finally:
        loop, done = stop[0]
        loop.call_soon_threadsafe(done.set)
        thread.join()


@contextmanager
def separate(settings: Settings) -> Iterator[Running]:
    """A web in a process of its own, by the command a user would type."""
    with tempfile.TemporaryDirectory() as directory:
        ready = Path(directory) / "ready"
        command = [sys.executable, "-m", "joro", "testweb", "--ready-file", str(ready), *_options(settings)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if child.poll() is not None:
                    raise ChildProcessError(f"the test web ended with code {child.returncode}")
                time.sleep(0.02)
            port, dns_port = map(int, ready.read_text(encoding="utf-8").split())
            yield replace(_facade(port, dns_port), pid=child.pid)
        finally:
            child.terminate()
            child.wait()


def _options(settings: Settings) -> Iterator[str]:
    for name in ("seed", "hosts", "pages", "addresses", "profile", "sizes", "speed", "port", "dns_port"):
        yield f"--{name.replace('_', '-')}={getattr(settings, name)}"
    yield f"--roles={','.join(settings.roles)}"
    yield f"--latency={settings.latency_s * 1_000}"
    yield f"--memory={settings.memory_bytes // 1_000_000}"
    if settings.warm:
        yield "--warm"
    if settings.log is not None:
        yield f"--log={settings.log}"
