"""How does a test get a web of its own?

In:    `Settings`.
Out:   `with running(settings) as web:` a web in a thread of this process; `separate` the same in a
       process of its own, for measurements and for crawlers that need the whole interpreter, and, if
       wanted, on another machine of a network of ours.
Never: outlives the `with` block.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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

#: How a program is started, and how its port is reached.
Start = Callable[..., subprocess.Popen[Any]]
Dial = Callable[[int], socket.socket]


def _dial(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


class OracleClient:
    """Asks a running web's oracle over HTTP."""

    def __init__(self, port: int, dial: Dial = _dial) -> None:
        self._port = port
        self._dial = dial

    def get(self, question: str, **arguments: Any) -> Any:
        """The answer to e.g. `get("/page", url="http://…")`; a bad question raises ValueError."""
        target = f"{question}?{urlencode(arguments)}" if arguments else question
        connection = http.client.HTTPConnection("oracle.testweb")
        connection.sock = self._dial(self._port)
        try:
            connection.request("GET", target)
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


def _facade(settings: Settings, port: int, dns_port: int, dial: Dial = _dial) -> Running:
    oracle = OracleClient(port, dial)
    seen_by = config(port, dns_port, settings)
    return Running(port, dns_port, seen_by, oracle, oracle.get("/summary")["seeds"])


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
        yield _facade(settings, web.port, web.dns_port)
    finally:
        loop, done = stop[0]
        loop.call_soon_threadsafe(done.set)
        thread.join()


def _popen(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen(command, **options)


@contextmanager
def separate(settings: Settings, start: Start = _popen, dial: Dial = _dial) -> Iterator[Running]:
    """A web in a process of its own, by the command a user would type.

    On another machine of a network of ours it is started and asked by that machine's `run` and `dial`.
    """
    with tempfile.TemporaryDirectory() as directory:
        ready = Path(directory) / "ready"
        command = [sys.executable, "-m", "joro", "testweb", "--ready-file", str(ready), *_options(settings)]
        child = start(command, stdout=subprocess.DEVNULL)
        try:
            while not ready.exists():
                if child.poll() is not None:
                    raise ChildProcessError(f"the test web ended with code {child.returncode}")
                time.sleep(0.02)
            port, dns_port = map(int, ready.read_text(encoding="utf-8").split())
            yield replace(_facade(settings, port, dns_port, dial), pid=child.pid)
        finally:
            child.terminate()
            child.wait()


def _options(settings: Settings) -> Iterator[str]:
    for name in (
        "seed",
        "hosts",
        "pages",
        "addresses",
        "network",
        "profile",
        "sizes",
        "speed",
        "port",
        "dns_port",
    ):
        yield f"--{name.replace('_', '-')}={getattr(settings, name)}"
    yield f"--roles={','.join(settings.roles)}"
    yield f"--latency={settings.latency_s * 1_000}"
    yield f"--memory={settings.memory_bytes // 1_000_000}"
    if settings.warm:
        yield "--warm"
    if settings.log is not None:
        yield f"--log={settings.log}"
