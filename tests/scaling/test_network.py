"""Machines on a network of their own, on one machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from joro.scaling.network import Machine, Network
from tests.namespaces import network as network  # skips where none can be made

ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    connection, peer = server.accept()
    size = int(connection.recv(9) or 0)
    connection.sendall((connection.getsockname()[0] + " " + peer[0]).encode() + b" " * size)
    connection.close()
"""
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[3])) as connection:
    connection.sendall(sys.argv[2].encode())
    while received := connection.recv(65536):
        print(received.decode().strip())
"""


@pytest.fixture
def server(network: Network) -> Machine:
    machine = network.machine("server", also="10.98.0.0/16")
    process = machine.run([sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return machine


def ask(machine: Machine, address: str, size: int = 0, timeout_s: float = 20.0) -> list[str]:
    """The two addresses by which server and client know each other; nothing when nobody answers."""
    command = [sys.executable, "-c", ASK, address, str(size), str(timeout_s)]
    process = machine.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told: bytes = process.communicate()[0]
    return told.decode().split()


def test_each_machine_has_an_address_of_its_own_by_which_others_know_it(
    network: Network, server: Machine
) -> None:
    client = network.machine("client")
    assert ask(client, server.address) == [server.address, client.address]


def test_a_machine_can_have_a_whole_network_of_addresses(network: Network, server: Machine) -> None:
    assert ask(network.machine("client"), "10.98.7.9")[0] == "10.98.7.9"


def test_who_is_cut_off_hears_nothing_until_healed(network: Network, server: Machine) -> None:
    client = network.machine("client")
    client.cut()
    assert ask(client, server.address, timeout_s=0.3) == []
    client.heal()
    assert len(ask(client, server.address)) == 2


def test_one_can_be_cut_off_from_some_and_still_reach_others(network: Network, server: Machine) -> None:
    client, other = network.machine("client"), network.machine("other")
    client.cut(server)
    assert ask(client, server.address, timeout_s=0.3) == []
    assert len(ask(other, server.address)) == 2
    client.cut(other)
    assert len(ask(client, server.address)) == 2


def test_delay_and_rate_of_a_link_are_kept(network: Network, server: Machine) -> None:
    client = network.machine("client", delay_s=0.1)
    with_delay = _seconds(lambda: client.dial(7000, server.address).close())
    assert with_delay >= 0.2  # one way there, one way back
    client.shape(mbit_per_s=8.0)
    assert _seconds(lambda: ask(client, server.address, 1_000_000)) >= 0.9


def test_the_host_itself_is_on_none_of_these_networks(network: Network, server: Machine) -> None:
    assert server.address not in {each.address for all in psutil.net_if_addrs().values() for each in all}
    with server.dial(7000) as connection:
        assert connection.getpeername()[0] == server.address


def test_programs_and_networks_end_with_whoever_started_them() -> None:
    script = (
        "import os, signal\n"
        "from joro.scaling.network import Network\n"
        "network = Network()\n"
        "process = network.machine('one').run(['sleep', '600'])\n"
        "print(process.pid, network._wire.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stdout
    for pid in map(int, told.split()):
        _gone(pid)


def _gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"{pid} outlived its network"
        time.sleep(0.01)


def _seconds(action: Callable[[], object]) -> float:
    before = time.monotonic()
    action()
    return time.monotonic() - before
