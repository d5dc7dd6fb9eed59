"""Where does a manager keep who its robots are, who owns which server, and what each must still be told?

In:    SQL in one dialect: `?` for a value, `= ANY(?)` for a list of texts.
Out:   rows; all of one transaction or nothing of it.
Never: lets two transactions write at once, in either engine: a manager's rules are then the rules of one
       who is alone, whoever else answers robots. Reads a clock of its own where there is a common one.

SQLite serves one machine, PostgreSQL a pair of managers. Both have the tables below; one suite tests both.
A transaction is short (a beat takes milliseconds), so one at a time is enough for many robots, and there is
neither deadlock nor anomaly to think of. Whoever only looks uses `reading`, and stands in nobody's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from joro.clock import Clock
from joro.errors import ControlError

FILE_NAME = "control.db"
#: Raised with every change of the tables; older stores are brought up to it by `MIGRATIONS`.
VERSION = 3

#: `{blob}` is the engine's word for bytes. Times are seconds since 1970, by `Transaction.now`.
TABLES = (
    """CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)""",
    """CREATE TABLE robots (
        name TEXT PRIMARY KEY,
        token_hash TEXT NOT NULL DEFAULT '',
        kind TEXT NOT NULL DEFAULT 'joro',
        identity TEXT NOT NULL DEFAULT '',
        state TEXT NOT NULL DEFAULT 'new',
        lease_until DOUBLE PRECISION NOT NULL DEFAULT 0,
        beat_at DOUBLE PRECISION NOT NULL DEFAULT 0,
        clock DOUBLE PRECISION NOT NULL DEFAULT 0,
        up_since DOUBLE PRECISION NOT NULL DEFAULT 0,
        post_number BIGINT NOT NULL DEFAULT 0,
        letter_number BIGINT NOT NULL DEFAULT 0,
        letter_read BIGINT NOT NULL DEFAULT 0,
        lost_letter BIGINT NOT NULL DEFAULT 0,
        settled SMALLINT NOT NULL DEFAULT 1,
        held BIGINT NOT NULL DEFAULT 0,
        sockets BIGINT NOT NULL DEFAULT 0,
        waiting BIGINT NOT NULL DEFAULT 0,
        visited BIGINT NOT NULL DEFAULT 0,
        idle SMALLINT NOT NULL DEFAULT 0,
        version TEXT NOT NULL DEFAULT '',
        subscribed_at DOUBLE PRECISION,
        list_at DOUBLE PRECISION,
        asked_at DOUBLE PRECISION,
        restart_wanted SMALLINT NOT NULL DEFAULT 0,
        restarted_at DOUBLE PRECISION)""",
    """CREATE TABLE servers (
        name TEXT PRIMARY KEY,
        owner TEXT,
        heir TEXT,
        had_owner SMALLINT NOT NULL DEFAULT 0,
        journal_number BIGINT NOT NULL DEFAULT 0,
        given_number BIGINT NOT NULL DEFAULT 0,
        folded_number BIGINT NOT NULL DEFAULT 0,
        read_at DOUBLE PRECISION,
        most_pages BIGINT,
        since DOUBLE PRECISION NOT NULL,
        found_at DOUBLE PRECISION NOT NULL,
        kb DOUBLE PRECISION NOT NULL DEFAULT 0)""",
    """CREATE INDEX servers_by_owner ON servers (owner)""",
    """CREATE INDEX servers_by_heir ON servers (heir) WHERE heir IS NOT NULL""",
    """CREATE TABLE journal (
        server TEXT NOT NULL, number BIGINT NOT NULL, late SMALLINT NOT NULL, body {blob} NOT NULL,
        PRIMARY KEY (server, number))""",
    """CREATE TABLE letters (
        robot TEXT NOT NULL, number BIGINT NOT NULL, body {blob} NOT NULL, free_at DOUBLE PRECISION,
        PRIMARY KEY (robot, number))""",
    """CREATE TABLE efforts (
        robot TEXT NOT NULL, server TEXT NOT NULL, pages BIGINT NOT NULL, bytes BIGINT NOT NULL,
        ms BIGINT NOT NULL, PRIMARY KEY (robot, server))""",
    """CREATE INDEX efforts_by_server ON efforts (server)""",
    """CREATE TABLE logs (
        robot TEXT NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL, lines BIGINT NOT NULL,
        received_at DOUBLE PRECISION NOT NULL, PRIMARY KEY (robot, stamp))""",
)

#: What leads from a version to the next one.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE servers ADD COLUMN had_owner SMALLINT NOT NULL DEFAULT 0",
        "UPDATE servers SET had_owner = 1",  # nobody knows: a pause too many does no harm
    ),
    2: ("ALTER TABLE robots ADD COLUMN clock DOUBLE PRECISION NOT NULL DEFAULT 0",),
}

Row = tuple[Any, ...]


class Transaction(Protocol):
    """One look at the store, or one change of it."""

    #: Seconds since 1970 when it began, by the clock that all managers of this store share.
    now: float

    def rows(self, sql: str, *values: object) -> list[Row]:
        """What a query finds."""

    def run(self, sql: str, *values: object) -> int:
        """Change something; how many rows it was."""

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Do the same with each of these values; no two may be about the same row."""

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        """Add rows; `columns` are separated by commas. The quickest way for many."""


class Control(Protocol):
    """The control store of a manager, or of two. Threads may share it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Alone with the store: committed at the end of the block, undone when it raises."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """The store as it is now, while others write."""

    def size_bytes(self) -> int:
        """How much room it takes."""

    def close(self) -> None:
        """Let go of it; no transaction may be under way."""


def open_control(database: str, directory: Path, clock: Clock) -> Control:
    """The store that `manager.database` names: postgresql://…, or a file in the collection's directory."""
    if not database:
        from joro.store.control_sqlite import SqliteControl

        return SqliteControl(directory / FILE_NAME, clock)
    if database.startswith(("postgresql://", "postgres://")):
        from joro.store.control_postgres import PostgresControl

        return PostgresControl(database)
    raise ControlError(
        f"manager.database is {database!r}", remedy="write postgresql://USER@HOST/NAME, or leave it empty"
    )


def prepare(transaction: Transaction, *, is_new: bool, blob: str) -> None:
    """Make the tables, or bring those of an older Joro up to date."""
    if is_new:
        for statement in TABLES:
            transaction.run(statement.format(blob=blob))
        transaction.run("INSERT INTO notes (name, value) VALUES ('version', ?)", str(VERSION))
        return
    version = int(transaction.rows("SELECT value FROM notes WHERE name = 'version'")[0][0])
    if version > VERSION:
        raise ControlError(
            f"the control store has version {version}, this Joro knows {VERSION}",
            remedy="install a newer Joro",
        )
    for step in range(version, VERSION):
        for statement in MIGRATIONS[step]:
            transaction.run(statement.format(blob=blob))
    transaction.run("UPDATE notes SET value = ? WHERE name = 'version'", str(VERSION))
