import os
import signal
import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse

from joro.errors import PortInUse, UsageError
from joro.serving.listen import PATIENCE_MS, address_of, listening_place, serve


def test_a_port_in_use_is_refused_before_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortInUse, match=f"127.0.0.1:{port} is in use; .*--port"):
            listening_place("127.0.0.1", port)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may have any port")
def test_a_port_for_root_is_refused() -> None:
    with pytest.raises(PortInUse, match="reserved for root"):
        listening_place("127.0.0.1", 80)


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "not an address", "", "\udcff"])
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
    assert address_of("127.0.0.1", 8443, is_secure=True) == "https://127.0.0.1:8443/"


def while_serving(asking: Callable[[tuple[str, int]], None], patience_ms: int = PATIENCE_MS) -> None:
    """Serve as long as somebody asks."""
    place = listening_place("127.0.0.1", 0)

    def ask() -> None:
        try:
            asking(place)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=ask)
    serve(PlainTextResponse("here"), *place, thread.start, patience_ms=patience_ms)
    thread.join()


def test_a_thousand_who_connect_and_say_nothing_keep_nobody_out() -> None:
    said: list[bytes] = []

    def ask(place: tuple[str, int]) -> None:
        with ExitStack() as silent:
            for _ in range(1_000):
                silent.enter_context(socket.create_connection(place, timeout=10))
            with urllib.request.urlopen(address_of(*place), timeout=10) as answer:
                said.append(answer.read())

    while_serving(ask)
    assert said == [b"here"]


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_who_says_nothing_more_is_hung_up_on(begun: bytes) -> None:
    ends: list[bytes] = []

    def ask(place: tuple[str, int]) -> None:
        with socket.create_connection(place, timeout=10) as line:
            line.sendall(begun)
            while line.recv(4096):
                pass
            ends.append(begun)

    while_serving(ask, patience_ms=100)
    assert ends == [begun]


def test_what_is_no_certificate_is_told_before_the_start(tmp_path: Path) -> None:
    for name in ("chain.pem", "key.pem"):
        (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\nno\n")
    pair = tmp_path / "chain.pem", tmp_path / "key.pem"
    with pytest.raises(UsageError, match=r"chain\.pem and .*key\.pem are no certificate and its key"):
        serve(PlainTextResponse("here"), *listening_place("127.0.0.1", 0), lambda: None, pair)
