"""How do selected captures become a table for analyses elsewhere?

In:    a chooser, and a directory.
Out:   Parquet files: a row for each capture, with its title, text and language.
Never: begins anew what was done: a file is there whole, and then counts, or not at all.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joro.archive.names import Position
from joro.errors import UsageError
from joro.exporter.copying import Progress, State, resumed, save
from joro.exporter.selection import Chooser, Chosen, key_of
from joro.parse.page import document_of
from joro.url import host_of

#: Rows in one file; they are in memory until it is written.
ROWS = 5_000
COLUMNS = {
    "url": "string",
    "host": "string",
    "time": "timestamp",
    "status": "int16",
    "mime": "string",
    "charset": "string",
    "language": "string",
    "title": "string",
    "text": "string",
    "rights": "string",
    "digest": "string",
}


def write_rows(chooser: Chooser, directory: Path, progress: Progress) -> State:
    """Write rows of all captures selected."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: F401
    except ModuleNotFoundError:
        raise UsageError("--format parquet needs pyarrow", remedy="run: pip install 'joro[tables]'") from None
    state = resumed(directory, chooser, "parquet")
    if state.is_done:
        return state
    rows: list[dict[str, Any]] = []
    number = state.position[1]
    for path in set(directory.glob("part-*")) - {directory / _name(each) for each in range(number + 1)}:
        path.unlink()
    for capture in chooser.captures(state.after):
        chosen = chooser.chosen(capture)
        if chosen is not None:
            rows.append(_row(chooser, chosen))
            state.copied += 1
        state.looked_at += 1
        state.after = key_of(capture)
        progress(state.looked_at, state.copied)
        if len(rows) == ROWS:
            number += 1
            _write(directory / _name(number), rows)
            save(directory, state, Position("", number))
            rows = []
    if rows:
        number += 1
        _write(directory / _name(number), rows)
    if chooser.newest_order > state.newest_order:
        return write_rows(chooser, directory, progress)
    state.is_done = True
    save(directory, state, Position("", number))
    return state


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _row(chooser: Chooser, chosen: Chosen) -> dict[str, Any]:
    capture, response = chosen.capture, chosen.response
    document = document_of(capture.url, response, chooser.collection.config.identity.name)
    return {
        "url": capture.url,
        "host": host_of(capture.url),
        "time": datetime.fromtimestamp(capture.time, UTC),
        "status": capture.status,
        "mime": chosen.original.mime,
        "charset": document.charset,
        "language": document.language,
        "title": document.title,
        "text": document.text,
        "rights": str(chooser.rights(capture.url, response)),
        "digest": capture.digest,
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    kinds = {"timestamp": pa.timestamp("us", "UTC"), "int16": pa.int16(), "string": pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    draft = path.with_suffix(".new")
    pq.write_table(pa.Table.from_pylist(rows, schema), draft, compression="zstd")
    draft.replace(path)
