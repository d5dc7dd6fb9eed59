"""How is the control store kept in PostgreSQL, where two managers share it?

In:    the SQL of `control`.
Out:   its rows.
Never: goes on with a connection that broke: the next transaction has a new one. Shows a password. Leaves
       others waiting for a manager that is gone: the database ends what it left behind.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from joro.clock import Clock
from joro.errors import ControlAway, ControlError
from joro.store.control import Row, Transaction, prepare

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Row]

#: The advisory lock of whoever writes; any number will do that nobody else uses in this database.
LOCK = 0x4A6F726F
#: Seconds until the database ends a transaction whose manager says nothing more, or that waits for another.
SILENT_S = 30
LOCK_S = 15
STATEMENT_S = 60
#: What a connection is opened with. A manager that is slow is waited for, since a robot with much to tell
#: would come again with the same; one that is gone must be noticed before leases end: keepalives do in 3 s.
_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "idle_in_transaction_session_timeout": f"{SILENT_S}s",
        "lock_timeout": f"{LOCK_S}s",
        "statement_timeout": f"{STATEMENT_S}s",
        "client_connection_check_interval": "1s",
        "tcp_keepalives_idle": 1,
        "tcp_keepalives_interval": 1,
        "tcp_keepalives_count": 2,
        "tcp_user_timeout": "3s",
    }.items()
)
#: How a transaction begins, in one message; the time is looked at when the lock is ours.
_ALONE = (
    f"BEGIN; WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock({LOCK})) "
    "SELECT extract(epoch FROM clock_timestamp())::float8 FROM lock"
)
_LOOK = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT extract(epoch FROM clock_timestamp())::float8"
)
#: A database that says this will say so again; one that is starting, full or unheard will not.
_REFUSED = re.compile(r"FATAL: .*(authentication|password|pg_hba|permission|does not exist)", re.DOTALL)
#: Statements that can be done for many rows at once.
_UPDATE = re.compile(r"(UPDATE \w+ SET .+) WHERE (.+)", re.DOTALL)
_INSERT = re.compile(r"(INSERT INTO \w+ \([^()]+\)) VALUES \(([^()]+)\)(.*)", re.DOTALL)
_TYPES = {int: "bigint", float: "float8", str: "text", bytes: "bytea"}


class PostgresControl:
    """The control store in a database. `clock` replaces the database's own, in tests."""

    def __init__(self, database: str, clock: Clock | None = None) -> None:
        self._psycopg = _psycopg()
        self._database = database
        self._clock = clock
        self._idle: list[Connection] = []
        self._alone = threading.Lock()  # threads of one manager take turns without holding connections
        try:
            with self.transaction() as transaction:
                is_new = transaction.rows("SELECT to_regclass('notes') IS NULL")[0][0]
                prepare(transaction, is_new=is_new, blob="BYTEA")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._alone, self._begun(_ALONE) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._begun(_LOOK) as transaction:
            yield transaction

    def size_bytes(self) -> int:
        with self.reading() as transaction:
            return int(transaction.rows("SELECT pg_database_size(current_database())")[0][0])

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Transaction]:
        connection, now = self._first(begin)
        try:
            yield _PostgresTransaction(connection, self._clock.now() if self._clock else now)
            connection.execute("COMMIT")
        except BaseException as error:
            with suppress(self._psycopg.Error):
                connection.execute("ROLLBACK")
            is_lost = bool(connection.closed) or isinstance(error, self._psycopg.OperationalError)
            self._keep(connection)
            if is_lost and isinstance(error, self._psycopg.Error):
                raise self._lost(error) from None
            raise
        self._keep(connection)

    def _first(self, begin: str) -> tuple[Connection, float]:
        """A connection in a transaction, and the time; where a kept one is broken, a new one is opened."""
        while True:
            is_kept = bool(self._idle)
            connection = self._idle.pop() if is_kept else self._connected()
            try:
                answers = connection.execute(begin, prepare=False)
                answers.nextset()
                found = answers.fetchone()
                return connection, float(found[0]) if found else 0.0
            except self._psycopg.OperationalError as error:
                is_broken = bool(connection.closed)
                connection.close()
                if not (is_kept and is_broken):
                    raise self._lost(error) from None

    def _connected(self) -> Connection:
        try:
            connection: Connection = self._psycopg.connect(
                self._database,
                autocommit=True,
                connect_timeout=3,
                options=_OPTIONS,
                application_name="joro manager",
                keepalives_idle=1,
                keepalives_interval=1,
                keepalives_count=2,
                tcp_user_timeout=3_000,
            )
        except self._psycopg.Error as error:
            raise self._lost(error) from None
        return connection

    def _keep(self, connection: Connection) -> None:
        if not connection.closed:
            self._idle.append(connection)

    def _lost(self, error: Exception) -> ControlError:
        said = str(error).strip() or type(error).__name__
        is_away = isinstance(error, self._psycopg.OperationalError) and not _REFUSED.search(said)
        return (ControlAway if is_away else ControlError)(
            f"the control store in PostgreSQL did not answer: {said}",
            remedy="see that manager.database is right and runs; until then robots are not answered",
        )


class _PostgresTransaction:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self.now = now

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(_dialect(sql), values).fetchall()

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(_dialect(sql), values).rowcount

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """One statement for all rows, an array for each value: nine times as fast as a statement each."""
        columns = [_column(values) for values in zip(*rows, strict=True)]
        if columns:
            types = tuple(kind for kind, _ in columns)
            self._connection.execute(_at_once(sql, types), [values for kind, values in columns if kind])

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        command = f"COPY {table} ({columns}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(command) as copy:
            for row in rows:
                copy.write_row(row)


@cache
def _dialect(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


@cache
def _at_once(sql: str, types: tuple[str, ...]) -> str:
    """The statement with columns of an unnested table for its values; those without a type are all NULL."""
    fields = [(f"value_{number}", kind) for number, kind in enumerate(types)]
    names = iter([f"row_.{name}" if kind else "NULL" for name, kind in fields])
    named = re.sub(r"\?", lambda _: next(names), sql)
    arrays = ", ".join(f"%s::{kind}[]" for _, kind in fields if kind)
    table = f"unnest({arrays}) AS row_ ({', '.join(name for name, kind in fields if kind)})"
    if found := _UPDATE.fullmatch(named):
        return f"{found[1]} FROM {table} WHERE {found[2]}"
    if found := _INSERT.fullmatch(named):
        return f"{found[1]} SELECT {found[2]} FROM {table}{found[3]}"
    return named.replace(" WHERE ", f" USING {table} WHERE ", 1)


def _column(values: Sequence[object]) -> tuple[str, list[object]]:
    """The type of an array, and what is in it; numbers are all of one kind."""
    kinds = {_TYPES[type(value)] for value in values if value is not None}
    if kinds == {"bigint", "float8"}:
        return "float8", [None if value is None else float(str(value)) for value in values]
    return (kinds or {""}).pop(), list(values)


def _psycopg() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError:
        raise ControlError(
            "manager.database names PostgreSQL, and its driver is missing",
            remedy="pip install 'joro[cluster]'",
        ) from None
    return psycopg
