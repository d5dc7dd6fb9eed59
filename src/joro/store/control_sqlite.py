"""How is the control store kept in one file?

In:    the SQL of `control`.
Out:   its rows.
Never: commits without the disk: a robot forgets what its manager calls safe. Waits for a reader.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from joro.clock import Clock
from joro.errors import ControlError
from joro.store.control import Row, Transaction, prepare

#: How long a transaction waits for that of another process.
BUSY_S = 30.0


class SqliteControl:
    """The control store in a file; several processes may share it, on one machine."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._idle: list[sqlite3.Connection] = []
        self._alone = threading.Lock()  # fairer than SQLite's polling, and cheaper
        try:
            path.touch(mode=0o600)  # there are hashes of tokens in it, and what logins are signed with
            with self.transaction() as transaction:
                is_new = not transaction.rows("SELECT 1 FROM sqlite_schema WHERE name = 'notes'")
                prepare(transaction, is_new=is_new, blob="BLOB")
        except ControlError:
            self.close()
            raise
        except OSError as error:
            raise ControlError(
                f"{path} cannot be used as control store: {error.strerror}",
                remedy="make room, or check its permissions",
            ) from None
        except sqlite3.Error as error:
            raise ControlError(
                f"{path} cannot be used as control store: {error}", remedy="mend it or move it away"
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._alone, self._begun("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._begun("BEGIN") as transaction:
            yield transaction

    def size_bytes(self) -> int:
        beside = self._path.with_name(f"{self._path.name}-wal")
        return sum(file.stat().st_size for file in (self._path, beside) if file.exists())

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Transaction]:
        connection = self._idle.pop() if self._idle else self._connected()
        try:
            connection.execute(begin)
            try:
                yield _SqliteTransaction(connection, self._clock.now())
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # it may have been rolled back by SQLite already
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            connection.close()
            raise ControlError(
                f"{self._path}: {error}", remedy="see whether another program holds it, and the disk has room"
            ) from error
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:  # it may be no database at all
            connection.close()
            raise
        return connection


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection, now: float) -> None:
        self._connection = connection
        self.now = now

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(_dialect(sql), _listed(values)).fetchall()

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(_dialect(sql), _listed(values)).rowcount

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(_dialect(sql), rows)

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        marks = ", ".join("?" * (columns.count(",") + 1))
        self._connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)


@cache
def _dialect(sql: str) -> str:
    return sql.replace("= ANY(?)", "IN (SELECT value FROM json_each(?))")


def _listed(values: Sequence[object]) -> list[object]:
    return [json.dumps(value) if isinstance(value, list) else value for value in values]
