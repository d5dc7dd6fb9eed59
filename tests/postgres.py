"""A real PostgreSQL of the tests' own, on loopback; as root it runs as the user that its package made."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

#: A killed server must keep what was committed; a power cut is no part of a test.
QUICK = ("fsync=off", "full_page_writes=off")


@dataclass
class Postgres:
    """One server; it can be stopped, killed and started again."""

    directory: Path
    address: str
    port: int
    settings: tuple[str, ...] = QUICK
    process: subprocess.Popen[bytes] | None = None
    _count: Iterator[int] = field(default_factory=lambda: count(1))

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@{self.address}:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of a fresh, empty database."""
        name = f"test_{os.getpid()}_{next(self._count)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def start(self) -> None:
        options = (
            f"listen_addresses={self.address}",
            f"port={self.port}",
            "unix_socket_directories=",
            *self.settings,
        )
        command = [tool("postgres"), "-D", str(self.directory)]
        for option in options:
            command += ["-c", option]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen([*_unprivileged(), *command], stdout=log, stderr=log)
        for _ in range(600):
            if self._answers():
                return
            assert self.process.poll() is None, (self.directory / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.directory / "log").read_text())

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT in order, SIGQUIT as in a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def cut(self) -> None:
        """End every connection but our own."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )


@contextmanager
def postgres_server(address: str = "127.0.0.1", settings: tuple[str, ...] = QUICK) -> Iterator[Postgres]:
    """Run a server on a free port; all it has is gone at the end."""
    room = Path(tempfile.mkdtemp(prefix="joro-postgres-"))
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(room, user.pw_uid, user.pw_gid)
    server = Postgres(room / "cluster", address, _free_port(address), settings)
    command = [tool("initdb"), "-D", str(server.directory), "-U", "postgres", "-A", "trust", "-N"]
    try:
        subprocess.run(
            [*_unprivileged(), *command, "-E", "UTF8", "--locale=C"], check=True, stdout=subprocess.DEVNULL
        )
        server.start()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(room)


def _unprivileged() -> list[str]:
    """PostgreSQL refuses to run as root. It ends with us, however we end."""
    command = ["setpriv", "--pdeathsig", "QUIT"]
    if os.getuid() == 0:
        command += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return command


def tool(name: str) -> str:
    """Debian keeps them out of the way of PATH, by version."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(kept[-1]) if kept else shutil.which(name)
    if not found:
        raise FileNotFoundError(
            f"{name} is missing: scripts/system-packages.sh installs it, or apt-get install postgresql"
        )
    return found


def _free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
