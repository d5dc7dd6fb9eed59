import os
import socket

import pytest

from joro.errors import PortInUse, UsageError
from joro.serving.listen import address_of, listening_place


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
    assert address_of("127.0.0.1", 8443, is_secure=True) == "https://127.0.0.1:8443/"
