"""What do the tables say to a question in SQL?

In:    the tables of a collection, its orders, one SELECT.
Out:   column names, and rows as they come.
Never: writes anything; opens a file but the tables, or the network; shows a row that an order withholds.

DuckDB runs in this process, without extensions. A question may name the views `captures`, `links` and
`near_copies` and use every function that reads no file: its own way to the tables' files would lead past the
orders.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joro.errors import UsageError
from joro.store.orders import EXCLUSION, TAKEDOWN, Order, Orders
from joro.tables import copies
from joro.tables.columns import COLUMNS, TABLES, moment

if TYPE_CHECKING:
    import duckdb

#: Rows fetched at a time.
BATCH_ROWS = 1_000
#: Table functions that make rows out of nothing, or of what stands in the question.
_HARMLESS = frozenset({"range", "generate_series", "unnest", "generate_subscripts", "json_each", "json_tree"})
#: Tables in which DuckDB tells of tables, and the one with our orders.
_CATALOGUE = ("duckdb_", "pg_", "pragma_", "sqlite_", "withheld")
_SHOWS_ALL = ("__show_tables_expanded", '"schemas"')
_HINT = "the tables are captures, links and near_copies; see: joro sql --help"

#: The columns that orders speak of, URL and host: a link that leads to a page names it, and often tells its
#: title.
_TARGETS = {"captures": [("url", "host")], "links": [("source", "source_host"), ("target", "target_host")]}


class Answer:
    """The result of a question: names of its columns, and rows, once."""

    def __init__(self, result: duckdb.DuckDBPyConnection) -> None:
        self._result = result
        self.names = [column[0] for column in result.description or ()]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Row after row; few are in memory."""
        import duckdb

        try:
            while batch := self._result.fetchmany(BATCH_ROWS):
                yield from batch
        except duckdb.Error as error:
            raise _mistake(error) from None


def ask(tables: Path, question: str, orders: Orders | None = None, now: float = 0.0) -> Answer:
    """Answer one SELECT; a mistake in it is a `UsageError` of one line."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise UsageError("joro sql needs duckdb", remedy="run: pip install 'joro[tables]'") from None
    try:
        connection = _opened(tables, orders or Orders(), now)
        _refuse_all_but_reading(connection, question)
        return Answer(connection.execute(question))
    except duckdb.Error as error:
        raise _mistake(error) from None


def _opened(tables: Path, orders: Orders, now: float) -> duckdb.DuckDBPyConnection:
    """A database with three views, and no way out of them."""
    import duckdb

    switched_off = (
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "python_enable_replacements",  # a table's name would be looked up among our variables
    )
    connection = duckdb.connect(config=dict.fromkeys(switched_off, "false"))
    kinds = _withholding(connection, orders, now)
    for table in TABLES:
        connection.execute(_view(tables, table, kinds))
    try:
        connection.execute(copies.VIEW)
    except duckdb.BinderException:
        remedy = f"make them anew: joro tables -C {tables.parent}"
        raise UsageError(f"the tables in {tables} are of an older version", remedy=remedy) from None
    folder = str(tables.resolve()).replace("'", "''")
    connection.execute(f"set allowed_directories = ['{folder}/']")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _view(tables: Path, table: str, kinds: list[str]) -> str:
    conditions = "".join(
        f" and not exists ({_match(kind, url, host)})" for url, host in _TARGETS[table] for kind in kinds
    )
    if not any((tables / table).glob("*/*/*.parquet")):
        names = ", ".join(f"null::{_sql_type(kind)} as {name}" for name, (kind, _) in COLUMNS[table].items())
        return f"create view {table} as select {names}, null::date as day, null::bigint as part where false"
    files = str(tables.resolve() / table / "*" / "*" / "*.parquet").replace("'", "''")
    hive = "hive_partitioning = true, hive_types = {'day': date, 'part': bigint}"
    return f"create view {table} as select * from read_parquet('{files}', {hive}) t where true{conditions}"


def _sql_type(kind: str) -> str:
    return {"string": "varchar", "int16": "smallint", "int32": "integer", "int64": "bigint"}.get(kind, kind)


def _withholding(connection: duckdb.DuckDBPyConnection, orders: Orders, now: float) -> list[str]:
    """Put the orders that withhold something into a table; which kinds of targets there are."""
    rows = [row for order in orders.all if (row := _span(order, now)) is not None]
    connection.execute("create schema orders")  # where `show tables` does not look
    connection.execute(
        "create table orders.withheld (kind varchar, value varchar, since timestamp, until timestamp)"
    )
    if rows:  # as columns: row by row, two thousand orders take eight seconds
        columns = [list(column) for column in zip(*rows, strict=True)]
        texts = "unnest(?::varchar[]), unnest(?::varchar[])"
        times = "unnest(?::varchar[])::timestamp, unnest(?::varchar[])::timestamp"
        connection.execute(f"insert into orders.withheld select {texts}, {times}", columns)
    return sorted({row[0] for row in rows})


def _span(order: Order, now: float) -> tuple[str, str, str, str] | None:
    """Which captures of its target an order withholds now: from one moment to another."""
    since, until = (
        order.since if order.since is not None else -math.inf,
        order.until if order.until is not None else math.inf,
    )
    if order.act == EXCLUSION:
        return None
    if order.act != TAKEDOWN:
        if order.opens is not None and now >= order.opens:
            return None
        if order.opens is None and order.after_s:
            since = max(since, math.nextafter(now - order.after_s, math.inf))
    kind, value = order.target, order.value
    if kind == "host" and value.startswith("*."):
        kind, value = "domain", value[2:]
    elif kind in ("url", "prefix"):
        value = value.partition("://")[2]
    return kind, value, _limit(since), _limit(until)


def _limit(time: float) -> str:
    try:
        return str(moment(time))
    except OverflowError:  # endless, or before and after all captures: an embargo of a million days
        return "infinity" if time > 0 else "-infinity"


def _match(kind: str, url: str, host: str) -> str:
    """The orders of one kind that a row `t` is under; SQL makes joins of it."""
    bare = f"substr(t.{url}, strpos(t.{url}, '://') + 3)"
    same = {
        "url": f"w.value = {bare}",
        "prefix": f"starts_with({bare}, w.value)",
        "host": f"w.value = t.{host}",
        "domain": f"(w.value = t.{host} or ends_with(t.{host}, '.' || w.value))",
        "digest": "w.value = t.digest",
        "all": "true",
    }[kind]
    return (
        f"select 1 from orders.withheld w where w.kind = '{kind}' and {same}"
        " and w.since <= t.time and t.time < w.until"
    )


def _refuse_all_but_reading(connection: duckdb.DuckDBPyConnection, question: str) -> None:
    """One SELECT, which reads the views and nothing else."""
    import duckdb

    statements = connection.extract_statements(question)
    if len(statements) != 1:
        raise UsageError(f"{len(statements)} questions at once", remedy="ask one: joro sql 'select …'")
    kind = statements[0].type
    if kind is not duckdb.StatementType.SELECT:
        raise UsageError(f"{kind.name} is no question", remedy="joro sql only reads: ask a SELECT")
    row = connection.execute("select json_serialize_sql(?::varchar)", [question]).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        raise UsageError("joro sql cannot see what this reads", remedy="ask a plain SELECT")
    for node in _nodes(tree):
        _refuse_all_but_views(node)


def _refuse_all_but_views(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if kind == "TABLE_FUNCTION":
        name = str(node.get("function", {}).get("function_name", "")).lower()
        if name not in _HARMLESS:
            raise UsageError(f"{name}() is not for joro sql", remedy=_HINT)
    if kind == "BASE_TABLE":
        name, schema = str(node.get("table_name", "")), str(node.get("schema_name", ""))
        is_ours = schema.lower() in ("", "main") and not name.lower().startswith(_CATALOGUE)
        if not is_ours or any(sign in name for sign in "./\\:*"):
            raise UsageError(f"{f'{schema}.{name}'.lstrip('.')!r} is no table", remedy=_HINT)
    if kind == "SHOW_REF" and (node.get("schema_name") or node.get("table_name") in _SHOWS_ALL):
        raise UsageError("not everything is shown", remedy=_HINT)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)


def _mistake(error: Exception) -> UsageError:
    """DuckDB's first line says what is wrong; the others draw where."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else type(error).__name__
    candidates = next((line for line in lines[1:] if "andidate" in line or "Did you mean" in line), "")
    return UsageError(f"{said} {candidates}".strip().rstrip("."), remedy=_HINT)
