import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from joro.clock import FakeClock
from joro.errors import ControlAway, ControlError
from joro.manager.starting import AGAIN_S, awaited
from joro.store.control import Control
from joro.store.control_postgres import PostgresControl
from joro.store.control_sqlite import SqliteControl
from tests.manager.desk import collection_at
from tests.postgres import postgres_server


def unused() -> str:
    """The address of a database that nobody runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"postgresql://postgres@127.0.0.1:{probe.getsockname()[1]}/none"


def test_a_store_that_is_away_is_waited_for_and_that_is_said_once(tmp_path: Path) -> None:
    problems = [ControlAway(said, remedy="wait") for said in ("gone", "gone", "start\ning")]
    said: list[str] = []
    slept: list[float] = []

    def opened() -> Control:
        if problems:
            raise problems.pop(0)
        return SqliteControl(tmp_path / "control.db", FakeClock(0.0))

    awaited(opened, said.append, slept.append).close()
    assert said == ["waiting: gone", "waiting: start ing"]
    assert slept == [AGAIN_S] * 3


def test_nobody_listening_is_away() -> None:
    with pytest.raises(ControlAway, match="did not answer"):
        PostgresControl(unused())


def test_an_address_that_is_none_is_a_mistake() -> None:
    with pytest.raises(ControlError) as raised:
        PostgresControl("postgresql://[nonsense")
    assert not isinstance(raised.value, ControlAway)


@pytest.mark.slow
def test_a_database_that_is_not_there_is_a_mistake_and_one_that_stopped_is_away() -> None:
    with postgres_server() as server:
        with pytest.raises(ControlError, match="does not exist") as raised:
            PostgresControl(server.url("nowhere"))
        assert not isinstance(raised.value, ControlAway)
        database = server.new_database()
        server.stop()
        with pytest.raises(ControlAway):
            PostgresControl(database)
        server.start()
        PostgresControl(database).close()


def test_ctrl_c_ends_a_manager_that_waits(tmp_path: Path) -> None:
    hub = collection_at(tmp_path / "hub", database=unused())
    command = [sys.executable, "-m", "joro", "manager", "serve", "-C", str(hub.path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("waiting: the control store in PostgreSQL")
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()
