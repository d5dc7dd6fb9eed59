"""`joro export`: hand a part of the collection on."""

from __future__ import annotations

import hashlib
import math
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from joro import __version__
from joro.cli.options import collection_option, quiet_option
from joro.cli.period import period, period_options
from joro.cli.progress import bar
from joro.clock import RealClock
from joro.errors import UsageError
from joro.store.collection import Collection

if TYPE_CHECKING:
    from joro.exporter.copying import Progress, State
    from joro.exporter.selection import Selection

FORMATS = ("wacz", "warc", "s1", "parquet")
PURPOSES = ("export", "search", "analysis", "training")


@click.command()
@collection_option
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    help="The file (wacz) or directory to write.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="wacz", show_default=True, help="What to write."
)
@click.option("--host", default="", metavar="REGEX", help=r"Only hosts like this, e.g. '\.example\.org$'.")
@period_options
@click.option(
    "--language", "languages", multiple=True, metavar="TAG", help="Only pages in it. May be repeated."
)
@click.option("--query", metavar="QUERY", help="Only pages that answer this search.")
@click.option(
    "--purpose",
    type=click.Choice(PURPOSES),
    default="export",
    show_default=True,
    help="What it is for: owners may reserve it.",
)
@quiet_option
def export(
    collection: Collection,
    target: Path,
    form: str,
    host: str,
    since: str | None,
    until: str | None,
    languages: tuple[str, ...],
    query: str | None,
    purpose: str,
    quiet: bool,
) -> None:
    """Write a part of the collection for others: WACZ, WARC, Parquet, or the directories of S1.

    What an order withholds, or its owner reserves, is left out. May be interrupted: the same command goes on
    where it stopped.

    \b
    joro export -C my-web --to all.wacz
    joro export -C my-web --to warcs --format warc --host '\\.example\\.org$' --since 2026-01-01
    joro export -C my-web --to ja.wacz --language ja --purpose analysis
    joro export -C my-web --to found.wacz --query '"full text" site:example.org'
    joro export -C my-web --to robots --format s1
    joro export -C my-web --to table --format parquet --until 2027
    """
    from joro.exporter.selection import Selection
    from joro.parse.rights import Purpose

    _check_target(form, target)
    first, end = period(since, until)
    selection = Selection(
        host,
        -math.inf if first is None else first,
        math.inf if end is None else end,
        tuple(sorted({tag.lower() for tag in languages})),
        _found(collection, query) if query is not None else None,
        Purpose(purpose),
    )
    with _progress(quiet) as progress:
        told = _WRITERS[form](collection, selection, target, progress)
    if not quiet:
        click.echo(told)


def _check_target(form: str, target: Path) -> None:
    """An export may take the place of an older one, never of anything else that somebody keeps there."""
    if form != "wacz":
        if target.exists() and not target.is_dir():
            raise UsageError(f"{target} is a file", remedy="name a directory, or one that is to be made")
    elif target.is_dir():
        raise UsageError(f"{target} is a directory", remedy="name a file: --to all.wacz")
    elif target.exists() and not _is_wacz(target):
        raise UsageError(f"{target} holds something else", remedy="name another file: --to all.wacz")


def _is_wacz(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "datapackage.json" in file.namelist()


def _found(collection: Collection, query: str) -> tuple[str, ...]:
    from joro.index.folding import DEPTH_LIMIT
    from joro.index.query import search
    from joro.index.segment import Reader, place
    from joro.store.orders import OrderBook

    reader = Reader(place(collection.index))
    if reader.searcher() is None:
        raise UsageError("--query needs an index", remedy=f"run: joro index -C {collection.path}")
    hidden = OrderBook(collection.orders, RealClock().now).hides()
    found = search(reader, query, limit=DEPTH_LIMIT, hidden=hidden, every=True)
    if found.total > DEPTH_LIMIT:
        raise UsageError(
            f"--query {query!r} finds {found.total:,} pages, more than {DEPTH_LIMIT:,}",
            remedy="ask more precisely, or choose by --host and dates",
        )
    return tuple(sorted(hit.url for hit in found.hits))


def _warc(collection: Collection, selection: Selection, target: Path, progress: Progress) -> str:
    state, left_out = _copied(collection, selection, target, progress)
    return _told("captures", state, left_out, target)


def _copied(
    collection: Collection, selection: Selection, target: Path, progress: Progress
) -> tuple[State, Counter[str]]:
    from joro.exporter.copying import copy
    from joro.exporter.selection import Chooser

    clock = RealClock()
    chooser = Chooser(collection, selection, clock)
    state = copy(
        chooser,
        target,
        clock,
        limit_bytes=collection.config.archive.warc_limit_bytes,
        robot=f"{collection.config.identity.name}/{__version__}",
        progress=progress,
    )
    _write_digests(target)
    return state, chooser.left_out


def _wacz(collection: Collection, selection: Selection, target: Path, progress: Progress) -> str:
    from joro.exporter.wacz import pack

    parts = target.with_name(target.name + ".parts")
    state, left_out = _copied(collection, selection, parts, progress)
    pack(parts, target, title=collection.path.resolve().name, now=RealClock().now())
    shutil.rmtree(parts)
    state.was_done = False  # of its parts; the file was not there
    return f"{_told('captures', state, left_out, target)}, {target.stat().st_size:,} bytes"


def _s1(collection: Collection, selection: Selection, target: Path, progress: Progress) -> str:
    from joro.exporter.directories import lay_out
    from joro.exporter.selection import Chooser

    chooser = Chooser(collection, selection, RealClock())
    state = lay_out(chooser, target, progress)
    return _told("pages", state, chooser.left_out, target)


def _parquet(collection: Collection, selection: Selection, target: Path, progress: Progress) -> str:
    from joro.exporter.rows import write_rows
    from joro.exporter.selection import Chooser

    chooser = Chooser(collection, selection, RealClock())
    state = write_rows(chooser, target, progress)
    _write_digests(target)
    return _told("rows", state, chooser.left_out, target)


_WRITERS = {"warc": _warc, "wacz": _wacz, "s1": _s1, "parquet": _parquet}


def _told(noun: str, state: State, left_out: Counter[str], target: Path) -> str:
    counted = f"{noun}: {state.copied:,} of {state.looked_at:,}"
    if state.was_done:
        return f"{target} was finished before and stays as it is ({counted}); delete it to have it made anew"
    reasons = "".join(f", {reason}: {count:,}" for reason, count in sorted(left_out.items()))
    anew = "begun anew: what was copied before is older than an order\n" if state.is_anew else ""
    return f"{anew}{counted}{reasons}; {target}"


def _write_digests(directory: Path) -> None:
    """`sha256sum -c _SHA256SUMS` proves what was received; readers of tables pass over such names."""
    lines = []
    for path in sorted(directory.glob("*")):
        if path.suffix in (".gz", ".cdxj", ".parquet"):
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (directory / "_SHA256SUMS").write_text("".join(lines))


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    from rich.progress import SpinnerColumn, TextColumn

    with bar(SpinnerColumn(), TextColumn("{task.description}"), quiet=quiet) as shown:
        line = shown.add_task("")
        yield lambda looked_at, copied: shown.update(
            line, description=f"{copied:,} of {looked_at:,} captures"
        )
