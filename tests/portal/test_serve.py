import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import pytest

from joro.errors import PortInUse, UsageError
from joro.portal.serve import address_of, listening_place
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


def test_a_port_in_use_is_refused_before_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortInUse, match=f"127.0.0.1:{port} is in use; .*--port"):
            listening_place("127.0.0.1", port)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may have any port")
def test_a_port_for_root_is_refused() -> None:
    with pytest.raises(PortInUse, match="reserved for root"):
        listening_place("127.0.0.1", 80)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "not an address", ""])
def test_an_address_that_is_not_ours_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not an address of this machine"):
        listening_place(address, 8765)


def test_names_and_any_port_become_numbers() -> None:
    address, port = listening_place("localhost", 0)
    assert address == "127.0.0.1"
    assert port > 1023


def test_the_address_to_open_is_one_a_browser_can_reach() -> None:
    assert address_of("127.0.0.1", 8765) == "http://127.0.0.1:8765/"
    assert address_of("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert address_of("::1", 80) == address_of("::", 80) == "http://[::1]:80/"
