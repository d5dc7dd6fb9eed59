"""A request that was given up while the line was cut is not heard when the line is whole again."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from joro.scaling.network import Network
from tests.namespaces import network as network

SERVER = """
import socket, threading
def serve(connection):
    try:
        while received := connection.recv(65536):
            print(received.split()[1].decode(), flush=True)
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
    except OSError:
        pass
server = socket.create_server(("0.0.0.0", 80))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=server.accept()[:1]).start()
"""
CLIENT = """
import asyncio, os, sys
from joro.fetch import http
from joro.model import Outcome
http.UNRECEIVED_S = 1.0
address, lean, is_killed = sys.argv[1], sys.argv[2] == "lean", sys.argv[3] == "killed"

async def story():
    limits = http.Limits(timeout_s=0.5, connect_timeout_s=0.5, body_bytes=1000, head_bytes=2000)
    client = http.Client(user_agent="joro/test", limits=limits, connections=10, lean=lean)
    first = await client.get("http://a.example/first", address=address, port=80)
    assert first.response is not None, first
    print("cut", flush=True)
    sys.stdin.readline()
    late = asyncio.create_task(client.get("http://a.example/late", address=address, port=80))
    await asyncio.sleep(0.2)
    if is_killed:
        os.kill(os.getpid(), 9)
    assert (await late).outcome is Outcome.TIMEOUT
    print("given up", flush=True)
    sys.stdin.readline()

asyncio.run(story())
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["lean", "libcurl"])
@pytest.mark.parametrize("end", ["given up", "killed"])
def test_a_request_lost_on_the_way_is_never_heard_later(network: Network, how: str, end: str) -> None:
    home, away = network.machine("server"), network.machine("client")
    server = home.run([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    client = away.run(
        [sys.executable, "-c", CLIENT, home.address, how, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    assert client.stdin is not None
    assert client.stdout.readline() == "cut\n"
    away.cut()
    client.stdin.write("go\n")
    client.stdin.flush()
    assert client.stdout.readline() == ("given up\n" if end == "given up" else "")
    time.sleep(1.5)
    away.heal()
    time.sleep(4.0)  # the kernel would try again by then
    server.kill()
    assert server.stdout.read() == "/first\n"
