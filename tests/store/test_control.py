import random
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joro.clock import FakeClock, RealClock
from joro.errors import ControlError
from joro.store.control import VERSION, Control, open_control
from joro.store.control_postgres import PostgresControl
from joro.store.control_sqlite import SqliteControl
from tests.postgres import Postgres, postgres_server

Opened = Callable[[], Control]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens the same store again and again, each time as another manager would."""
    controls: list[Control] = []
    is_file = request.param == "sqlite"
    database = "" if is_file else request.getfixturevalue("postgres").new_database()

    def one_more() -> Control:
        controls.append(open_control(database, tmp_path, RealClock()))
        return controls[-1]

    yield one_more
    for control in controls:
        control.close()


@pytest.fixture
def control(opened: Opened) -> Control:
    return opened()


def note(control: Control, name: str, value: str) -> None:
    with control.transaction() as transaction:
        transaction.run("INSERT INTO notes (name, value) VALUES (?, ?)", name, value)


def noted(control: Control, name: str) -> list[tuple[str, ...]]:
    with control.reading() as transaction:
        return transaction.rows("SELECT value FROM notes WHERE name = ?", name)


def test_what_is_committed_is_there_for_the_other_manager(opened: Opened) -> None:
    one, other = opened(), opened()
    note(one, "greeting", "50 % of „こんにちは“?")
    assert noted(other, "greeting") == [("50 % of „こんにちは“?",)]


def test_a_block_that_raises_changes_nothing(control: Control) -> None:
    def fail() -> None:
        with control.transaction() as transaction:
            transaction.run("INSERT INTO notes (name, value) VALUES ('half', 'done')")
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        fail()
    assert noted(control, "half") == []


def test_a_reader_sees_one_moment_while_others_write(opened: Opened) -> None:
    one, other = opened(), opened()
    with one.reading() as transaction:
        assert transaction.rows("SELECT count(*) FROM robots") == [(0,)]
        with other.transaction() as writing:
            writing.run("INSERT INTO robots (name) VALUES ('r1')")
        assert transaction.rows("SELECT count(*) FROM robots") == [(0,)]
    assert noted(one, "version") == [(str(VERSION),)]


def test_nobody_adds_to_a_number_that_another_has_read(opened: Opened) -> None:
    controls = [opened(), opened()]
    note(controls[0], "sum", "0")

    def add(control: Control) -> None:
        for _ in range(25):
            with control.transaction() as transaction:
                value = int(transaction.rows("SELECT value FROM notes WHERE name = 'sum'")[0][0])
                transaction.run("UPDATE notes SET value = ? WHERE name = 'sum'", str(value + 1))

    threads = [threading.Thread(target=add, args=(controls[number % 2],)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert noted(controls[0], "sum") == [("100",)]


def test_lists_bytes_and_nothing_come_back_as_they_went(control: Control) -> None:
    with control.transaction() as transaction:
        transaction.insert(
            "letters",
            "robot, number, body, free_at",
            [("r1", 1, b"\x00\\N\n\t", None), ("r2", 2, b"", 1.5), ("r'3", 3, b"x", 0.25)],
        )
        found = transaction.rows(
            "SELECT body, free_at FROM letters WHERE robot = ANY(?) ORDER BY number", ["r1", "r2", "nobody"]
        )
    assert found == [(b"\x00\\N\n\t", None), (b"", 1.5)]


def test_an_empty_list_finds_nothing(control: Control) -> None:
    with control.reading() as transaction:
        assert transaction.rows("SELECT name FROM notes WHERE name = ANY(?)", []) == []


def test_many_rows_are_changed_at_once_and_counted(control: Control) -> None:
    efforts = [("r1", f"http://s{number}/", number) for number in range(100)]
    with control.transaction() as transaction:
        for _ in range(2):
            transaction.run_many(
                "INSERT INTO efforts (robot, server, pages, bytes, ms) VALUES (?, ?, ?, 0, 0) "
                "ON CONFLICT (robot, server) DO UPDATE SET pages = efforts.pages + excluded.pages",
                efforts,
            )
        assert transaction.rows("SELECT sum(pages) FROM efforts")[0][0] == 9_900
        assert transaction.run("DELETE FROM efforts WHERE pages < ?", 20) == 10


def test_each_row_gets_its_own_values(control: Control) -> None:
    with control.transaction() as transaction:
        names = [("a",), ("b",), ("c",)]
        transaction.run_many("INSERT INTO servers (name, since, found_at) VALUES (?, 0, 0)", names)
        transaction.run_many(
            "UPDATE servers SET owner = ?, kb = kb + ?, since = ? WHERE name = ?",
            [("r1", 1, 0.5, "a"), (None, 2.5, 1, "b")],
        )
        transaction.run_many("DELETE FROM servers WHERE name = ? AND kb = ?", [("c", 0), ("b", 9)])
        found = transaction.rows("SELECT name, owner, kb, since FROM servers ORDER BY name")
        transaction.run_many("DELETE FROM servers WHERE name = ?", [])
    assert found == [("a", "r1", 1.0, 0.5), ("b", None, 2.5, 1.0)]


def test_its_size_grows_with_what_it_holds(control: Control) -> None:
    before = control.size_bytes()
    with control.transaction() as transaction:
        rows = [("s", number, 0, random.randbytes(5_000)) for number in range(100)]
        transaction.insert("journal", "server, number, late, body", rows)
    assert control.size_bytes() > before + 300_000


def test_a_store_of_a_newer_joro_is_left_alone(opened: Opened) -> None:
    with opened().transaction() as transaction:
        transaction.run("UPDATE notes SET value = '999' WHERE name = 'version'")
    with pytest.raises(ControlError, match="version 999"):
        opened()


def test_a_store_of_the_first_version_is_brought_up_to_date(opened: Opened) -> None:
    with opened().transaction() as transaction:
        transaction.run("INSERT INTO servers (name, since, found_at) VALUES ('s', 0, 0)")
        transaction.run("INSERT INTO robots (name) VALUES ('r')")
        transaction.run("ALTER TABLE servers DROP COLUMN had_owner")
        transaction.run("ALTER TABLE robots DROP COLUMN clock")
        transaction.run("UPDATE notes SET value = '1' WHERE name = 'version'")
    for control in (opened(), opened()):
        assert noted(control, "version") == [(str(VERSION),)]
        with control.reading() as transaction:
            assert transaction.rows("SELECT had_owner, clock FROM servers, robots") == [(1, 0.0)]


def test_both_managers_have_one_clock(postgres: Postgres) -> None:
    controls = [PostgresControl(postgres.new_database()) for _ in range(2)]
    times = []
    for control in (*controls, *controls):
        with control.transaction() as transaction:
            times.append(transaction.now)
    assert times == sorted(times)
    for control in controls:
        control.close()


def test_time_stands_still_where_a_test_wants_it(postgres: Postgres, tmp_path: Path) -> None:
    clock = FakeClock(1_000.0)
    for control in (
        SqliteControl(tmp_path / "c.db", clock),
        PostgresControl(postgres.new_database(), clock),
    ):
        with control.transaction() as transaction:
            assert transaction.now == 1_000.0
        control.close()


def test_a_lost_connection_is_replaced(postgres: Postgres) -> None:
    control = PostgresControl(postgres.new_database())
    postgres.cut()
    note(control, "after", "the cut")
    assert noted(control, "after") == [("the cut",)]
    control.close()


def test_a_connection_lost_half_way_loses_the_half(postgres: Postgres) -> None:
    control = PostgresControl(postgres.new_database())

    def fail() -> None:
        with control.transaction() as transaction:
            transaction.run("INSERT INTO notes (name, value) VALUES ('half', 'done')")
            postgres.cut()
            transaction.run("INSERT INTO notes (name, value) VALUES ('other half', 'done')")

    with pytest.raises(ControlError, match="did not answer"):
        fail()
    assert noted(control, "half") == []
    control.close()


def test_a_database_that_is_down_is_said_to_be_and_found_again() -> None:
    with postgres_server() as server:
        control = PostgresControl(server.new_database())
        server.stop(signal.SIGQUIT)
        with pytest.raises(ControlError, match=r"did not answer.*until then"):
            note(control, "too", "early")
        server.start()
        note(control, "back", "again")
        control.close()


def test_a_password_is_never_shown() -> None:
    with pytest.raises(ControlError) as caught:
        PostgresControl("postgresql://joro:secret-word@127.0.0.1:9/nothing")
    assert "secret-word" not in str(caught.value)


def test_another_kind_of_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match=re.escape("write postgresql://")):
        open_control("mysql://somewhere/", tmp_path, FakeClock())


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "control.db").write_bytes(b"this is no database, but long enough to look like one" * 100)
    with pytest.raises(ControlError, match=r"control\.db cannot be used"):
        open_control("", tmp_path, FakeClock())


def test_a_store_is_not_held_by_a_transaction_that_failed(opened: Opened) -> None:
    @contextmanager
    def broken(control: Control) -> Iterator[None]:
        with control.transaction() as transaction:
            transaction.run("INSERT INTO no_such_table VALUES (1)")
            yield

    one, other = opened(), opened()
    with pytest.raises(Exception, match="no_such_table"), broken(one):
        pass
    note(other, "not", "held")


def test_a_file_that_cannot_be_had_is_not_to_be_moved_away(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match=r"No such file or directory; make room, or check its permissions"):
        SqliteControl(tmp_path / "nowhere" / "control.db", FakeClock())
