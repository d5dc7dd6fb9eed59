import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import pytest

from joro.store.collection import Collection


@contextmanager
def serving(collection: Collection, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A portal in a process of its own, and its address as it printed it."""
    command = [sys.executable, "-m", "joro", "portal", "-C", str(collection.path), "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            yield process, found[0]
        finally:
            process.kill()


def test_the_portal_serves_at_the_address_it_prints(collection: Collection) -> None:
    with serving(collection) as (_, address), urlopen(f"{address}search?q=%E6%A4%9C%E7%B4%A2") as answer:
        assert "<mark>検索</mark>" in answer.read().decode()


def test_a_capture_keeps_its_url_through_a_real_server(collection: Collection) -> None:
    with serving(collection) as (_, address):
        url = f"{address}replay/20261116055500/http://a.jp/p?x=1&y=%E3%81%82"
        with urlopen(url) as answer:
            assert answer.headers["content-security-policy"].startswith("sandbox allow-forms")
            assert b"With a query" in answer.read()


@pytest.mark.parametrize("polite", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_ends_it_cleanly_even_with_a_browser_connected(
    collection: Collection, polite: signal.Signals
) -> None:
    with serving(collection) as (process, address):
        port = int(address.rstrip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" in browser.recv(1000)
            process.send_signal(polite)
            assert process.wait(10) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""
