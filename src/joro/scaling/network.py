"""How do programs get machines of their own, far from each other, on one machine?

In:    machines: a name, how far away, how thick the line.
Out:   each with an address, on a network of theirs alone; programs that run on one, and can be cut off.
Never: touches the network of this machine; leaves a process behind, even when whoever uses it is killed.

    with Network() as network:
        robot = network.machine("robot", delay_s=0.02)
        with robot.run([...]) as process: ...
        robot.cut(), robot.heal()

Packets between machines are carried by `wire`, in a process of its own.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from joro.errors import UsageError
from joro.scaling.wire import aside

#: All machines are in here, nobody else is.
ADDRESSES = "10.99.0."
#: `prctl`: let the kernel send a signal when whoever started a program is gone.
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNET = 0x4000_0000
_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    """Machines that reach each other and nothing else; ends, with all that runs on it, with the block."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "joro.scaling.wire"]
        self._wire = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.machines: dict[str, Machine] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def machine(self, name: str, *, delay_s: float = 0.0, mbit_per_s: float = 0.0, also: str = "") -> Machine:
        """A new one; `also` is a network, e.g. 10.98.0.0/16, all of whose addresses are its own, too."""
        address = f"{ADDRESSES}{len(self.machines) + 1}"
        networks = [f"{address}/32", *([also] if also else [])]
        answer = self.tell("add", name, networks=networks)
        machine = self.machines[name] = Machine(self, name, address, Path(answer["namespace"]), [])
        machine.shape(delay_s=delay_s, mbit_per_s=mbit_per_s)
        return machine

    def tell(self, verb: str, name: str, **shape: Any) -> dict[str, Any]:
        """Have the wire do something."""
        assert self._wire.stdin is not None
        assert self._wire.stdout is not None
        with self._lock:
            self._wire.stdin.write(msgspec.json.encode({"verb": verb, "name": name, **shape}) + b"\n")
            self._wire.stdin.flush()
            answer: dict[str, Any] = msgspec.json.decode(
                self._wire.stdout.readline() or b'{"error": "ended"}'
            )
        if "error" in answer:
            raise UsageError(
                f"no network of our own: {answer['error']}", remedy="be root, on Linux with /dev/net/tun"
            )
        return answer

    def close(self) -> None:
        """Kill what still runs on it, and let it go."""
        for machine in self.machines.values():
            machine.close()
        if self._wire.stdin is not None:
            self._wire.stdin.close()
        self._wire.wait()
        if self._wire.stdout is not None:
            self._wire.stdout.close()


@dataclass
class Machine:
    """One of them."""

    _network: Network
    name: str
    address: str
    namespace: Path
    _processes: list[subprocess.Popen[Any]]

    def run(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
        """Start a program here; it is killed when the thread that calls this ends, if not before."""
        words = ["nsenter", f"--net={self.namespace}", *map(str, command)]
        process = subprocess.Popen(words, preexec_fn=_die_with_parent, **options)
        self._processes.append(process)
        return process

    def shape(self, *, delay_s: float = 0.0, mbit_per_s: float = 0.0) -> None:
        """How far it is from the middle, one way, and how much its line carries; 0: all there is."""
        self._network.tell("shape", self.name, delay_s=delay_s, bytes_per_s=mbit_per_s * 1e6 / 8)

    def cut(self, *others: Machine) -> None:
        """Lose every packet from and to it, silently; or only those from and to some others."""
        self._network.tell("cut", self.name, others=[each.name for each in others])

    def heal(self) -> None:
        """Carry its packets again."""
        self._network.tell("heal", self.name)

    def dial(self, port: int, address: str = "", timeout_s: float = 60.0) -> socket.socket:
        """A connection to this machine, made on it: for whoever watches from outside."""
        return self._inside(lambda: socket.create_connection((address or self.address, port), timeout_s))

    def _inside(self, make: Callable[[], socket.socket]) -> socket.socket:
        """A socket stays in the network in which it was made, wherever it is used."""

        def visit() -> socket.socket:
            with self.namespace.open() as namespace:
                if _libc.setns(namespace.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "cannot enter the network")
            return make()

        return aside(visit)

    def close(self) -> None:
        """Kill what still runs here."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # it went before we could ask
        os._exit(1)


def why_not() -> str:
    """Why no such network can be made here; empty if it can."""
    try:
        with Network() as network:
            network.machine("one")
    except UsageError as error:
        return str(error)
    return ""
