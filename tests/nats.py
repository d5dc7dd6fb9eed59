"""A real NATS server with JetStream of the tests' own."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MONITOR_PORT = 8222


@dataclass
class Nats:
    """One server; it can be killed and started again, with what it kept."""

    room: Path
    address: str
    run: Callable[..., subprocess.Popen[Any]]
    dial: Callable[[int], socket.socket] | None = None  # how its monitor is reached, if anyone wants to
    port: int = -1
    process: subprocess.Popen[Any] | None = None

    @property
    def url(self) -> str:
        """What `cooperate.exchange` is set to."""
        return f"nats://{self.address}:{self.port}"

    def start(self) -> None:
        """Begin to serve, from the second time on where it did before."""
        ports = self.room / "ports"
        shutil.rmtree(ports, ignore_errors=True)
        ports.mkdir()
        command = [nats_binary(), "-js", "-sd", self.room / "store", "-a", self.address, "-p", self.port]
        command += ["-m", MONITOR_PORT] if self.dial else []
        words = [str(word) for word in [*command, "--ports_file_dir", ports, "-l", self.room / "log"]]
        self.process = self.run(words)
        while not (found := list(ports.glob("*.ports"))) or "nats://" not in found[0].read_text():
            assert self.process.poll() is None, (self.room / "log").read_text()
            time.sleep(0.02)
        self.port = int(found[0].read_text().split("nats://")[1].split(":")[1].split('"')[0])

    def carried(self) -> int:
        """Messages it ever took."""
        assert self.dial is not None
        connection = http.client.HTTPConnection(self.address)
        connection.sock = self.dial(MONITOR_PORT)
        connection.request("GET", "/jsz?streams=true")
        answer = json.loads(connection.getresponse().read())
        connection.close()
        streams = [each for account in answer["account_details"] for each in account["stream_detail"]]
        return sum(int(stream["state"]["last_seq"]) for stream in streams)

    def kill(self) -> None:
        """As a power cut would, but for the disk."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def nats_server(
    address: str = "127.0.0.1",
    run: Callable[..., subprocess.Popen[Any]] = subprocess.Popen,
    dial: Callable[[int], socket.socket] | None = None,
) -> Iterator[Nats]:
    """Serve until the block ends; skips the test where there is none."""
    if sys.platform != "linux" or not nats_binary():
        pytest.skip("nats-server is missing: scripts/system-packages.sh installs it")
    with tempfile.TemporaryDirectory(prefix="joro-nats-") as room:
        server = Nats(Path(room), address, run, dial)
        try:
            server.start()
            yield server
        finally:
            server.kill()


def nats_binary() -> str:
    """Where it is; empty: nowhere."""
    return shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin") or ""
