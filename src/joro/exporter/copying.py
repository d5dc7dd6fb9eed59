"""How do selected captures become WARC files of their own?

In:    a chooser, and a directory.
Out:   WARCs with their indexes, complete in themselves: what says "as before" finds what it speaks of.
Never: begins anew what was done: killed at any moment, the next run with the same selection goes on where the
       last flush was, and the files are as if nothing had happened. Goes on over an order: what was copied
       before it was given may be what it withholds.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from joro.archive.names import Position, number_of, open_index, sorted_index, warcs
from joro.archive.payload import digest, header_fields, is_framed, payload_of
from joro.archive.read import readable
from joro.archive.recover import rebuild
from joro.archive.warc import WarcWriter
from joro.clock import Clock
from joro.errors import UsageError
from joro.exporter.selection import Chooser, Chosen, Key, key_of
from joro.model import Known, Outcome, Page, Response, Visit
from joro.store.durable import draft_of, write_whole

#: Hidden, so that readers of whole directories of tables pass over it.
STATE = ".export.json"
PREFIX = "export"
#: Captures between two flushes: what a kill leaves to be done again.
BATCH = 1_000

#: Told how many captures were looked at, and how many handed on.
Progress = Callable[[int, int], None]


class State(msgspec.Struct):
    """How far an export has come."""

    selection: str  # a digest of what is written: which collection's, what of it, in which format
    after: Key | None = None
    position: tuple[str, int] = ("", 0)  # the end of what counts
    looked_at: int = 0
    copied: int = 0
    is_done: bool = False
    newest_order: int = 0  # that this was begun under
    is_anew: bool = False  # something was copied before that order, and is gone
    was_done: bool = False  # by an earlier run
    left_out: dict[str, int] = msgspec.field(default_factory=dict)  # why captures were not handed on


def copy(
    chooser: Chooser, directory: Path, clock: Clock, *, limit_bytes: int, robot: str, progress: Progress
) -> State:
    """Copy everything selected into WARCs in `directory`."""
    state = resumed(directory, chooser, "warc")
    if state.is_done:
        return state
    _cut(directory, Position(*state.position))
    writer = WarcWriter(directory, limit_bytes=limit_bytes, clock=clock, robot=robot, prefix=PREFIX)
    copier = _Copier(chooser, writer)
    page, uncommitted = "", 0
    for capture in chooser.captures(state.after):
        if capture.url != page and uncommitted >= BATCH:  # between pages: no revisit looks back over it
            save(directory, state, writer.flush())
            uncommitted = 0
        page = capture.url
        chosen = chooser.chosen(capture)
        if chosen is not None:
            copier.take(chosen)
            state.copied += 1
        state.looked_at += 1
        state.after = key_of(capture)
        uncommitted += 1
        progress(state.looked_at, state.copied)
    writer.close()
    if chooser.newest_order > state.newest_order:
        return copy(chooser, directory, clock, limit_bytes=limit_bytes, robot=robot, progress=progress)
    state.is_done = True
    save(directory, state, writer.position)
    return state


class _Copier:
    """Writes captures; of the page at hand it knows which payloads are written already."""

    def __init__(self, chooser: Chooser, writer: WarcWriter) -> None:
        self._archive = chooser.collection.archive
        self._writer = writer
        self._page = ""
        self._written: dict[str, float] = {}  # digest → time of the capture that holds the bytes

    def take(self, chosen: Chosen) -> None:
        capture = chosen.capture
        if capture.url != self._page:
            self._page, self._written = capture.url, {}
        known = self._written.get(capture.digest)
        response = chosen.response
        if chosen.original is not capture and known is not None:
            response = self._said_then(chosen)
        visit = Visit(
            Page(capture.url),
            capture.time,
            Outcome.OK,
            self._request(chosen),
            response,
            chosen.record.fields.get("warc-ip-address", ""),
            capture.elapsed_ms / 1e3,
            known=Known(known, capture.digest) if known is not None else None,
        )
        written = self._writer.append(visit)
        self._written.setdefault(written.digest, written.time)

    def _said_then(self, chosen: Chosen) -> Response:
        """The head of this time and the bytes of before: the writer sees that they are the same."""
        head, body, status = chosen.record.head, chosen.response.body, chosen.record.status
        if status != 304 and digest(payload_of(head, body)) != chosen.capture.digest:
            return chosen.response  # the bytes of before were cut into frames, or were not
        return Response(status, head, body, header_fields(head), None, is_framed(head, body))

    def _request(self, chosen: Chosen) -> bytes:
        """The request that belongs to a capture: the record behind it, in archives of ours."""
        record = chosen.record
        behind = next(readable(self._archive / record.warc, record.end), None)
        mine = record.fields.get("warc-record-id")
        if behind is None or behind.type != "request" or behind.fields.get("warc-concurrent-to") != mine:
            return b""
        return behind.block


def resumed(directory: Path, chooser: Chooser, form: str) -> State:
    """Where an earlier run of this export stopped, or its beginning: then what it wrote does not count any
    more, and has to go. Another export's directory is refused.
    """
    directory.mkdir(parents=True, exist_ok=True)
    what = form, str(chooser.collection.path.resolve()), chooser.selection
    name = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
    try:
        state = msgspec.json.decode((directory / STATE).read_bytes(), type=State)
    except FileNotFoundError:
        if set(directory.iterdir()) - {draft_of(directory / STATE)}:
            raise UsageError(
                f"{directory} is not empty", remedy="choose another directory for the export"
            ) from None
        state = State(name, newest_order=chooser.newest_order)
        save(directory, state, Position("", 0))
    if state.selection != name:
        raise UsageError(
            f"{directory} holds an export of another selection, format or collection",
            remedy="choose another directory, or delete it",
        )
    if chooser.newest_order > state.newest_order:
        has_copied = state.is_anew or state.is_done or state.after is not None
        state = State(name, newest_order=chooser.newest_order, is_anew=has_copied)
        chooser.left_out.clear()
        save(directory, state, Position("", 0))
    chooser.left_out.update(state.left_out)
    state.left_out = chooser.left_out
    state.was_done = state.is_done
    return state


def save(directory: Path, state: State, position: Position) -> None:
    state.position = position.name, position.offset
    write_whole(directory / STATE, msgspec.json.encode(state))


def _cut(directory: Path, end: Position) -> None:
    """Take away what was written after the last flush that counts."""
    for name in warcs(directory):
        path = directory / name
        if name == end.name and path.stat().st_size > end.offset:
            os.truncate(path, end.offset)
            open_index(path).unlink(missing_ok=True)
            if sorted_index(path).exists():
                rebuild(path)
        elif number_of(name) > number_of(end.name):
            for each in (path, open_index(path), sorted_index(path)):
                each.unlink(missing_ok=True)
