"""Machines on a network of their own, for tests; see `joro.scaling.network`."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from joro.scaling.network import Machine, Network, why_not
from tests.postgres import QUICK, _unprivileged, tool


@cache
def _reason() -> str:
    return why_not()


@pytest.fixture
def network() -> Iterator[Network]:
    """A network without machines yet; the test is skipped where none can be made."""
    if _reason():
        pytest.skip(_reason())
    with Network() as made:
        yield made


@dataclass
class Postgres:
    """A server on a machine of a network; watched from outside through a socket in a directory."""

    room: Path
    url: str  # as managers on other machines write it

    @property
    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(f"host={self.room} user=postgres dbname=postgres", autocommit=True)

    def terminate(self) -> int:
        """End every connection but our own; how many there were."""
        with self._connection as connection:
            return len(
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                ).fetchall()
            )

    def rows(self, question: LiteralString) -> list[tuple[Any, ...]]:
        """The answer to a question in SQL."""
        with self._connection as connection:
            return connection.execute(question).fetchall()


@contextmanager
def postgres_on(machine: Machine) -> Iterator[Postgres]:
    """A server that the machines of a network reach, until the block ends."""
    room = Path(tempfile.mkdtemp(prefix="joro-postgres-"))
    try:
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(room, user.pw_uid, user.pw_gid)
        cluster = room / "cluster"
        make = [tool("initdb"), "-D", str(cluster), "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run([*_unprivileged(), *make, "--locale=C"], check=True, stdout=subprocess.DEVNULL)
        with (cluster / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.99.0.0/16 trust\n")
        options = (f"listen_addresses={machine.address}", f"unix_socket_directories={room}", *QUICK)
        words = [word for option in options for word in ("-c", option)]
        with (room / "log").open("wb") as log:
            command = [*_unprivileged(), tool("postgres"), "-D", str(cluster), *words]
            process = machine.run(command, stdout=log, stderr=log)
        server = Postgres(room, f"postgresql://postgres@{machine.address}:5432/postgres")
        _wait_for(server, process)
        yield server
        process.send_signal(signal.SIGQUIT)
        process.wait()
    finally:
        shutil.rmtree(room)


def _wait_for(server: Postgres, process: subprocess.Popen[Any]) -> None:
    while True:
        try:
            server.rows("SELECT 1")
        except psycopg.OperationalError:
            assert process.poll() is None, (server.room / "log").read_text()
            time.sleep(0.05)
        else:
            return
