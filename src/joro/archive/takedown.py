"""How does the archive forget what an order takes down?

In:    the directory of WARCs, and the orders.
Out:   WARCs without the captures that are meant, nor the requests and notes that belong to them; indexes
       without their lines; how much that was, and what has to wait for a robot to close its file.
Never: takes anything else with it: where a later capture only said "as before", the bytes it spoke of are
       written once more, under its time, into a WARC of their own. Does half of it for good: killed at any
       point, it is finished by the next run.

First what must survive is written down, then lines leave the merged index, then records their WARCs, then
lines the indexes of these; as long as a line stands, the next run finds what is left to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from joro.archive.cdx import REVISIT, capture_of, index_of, whole_lines, write_sorted
from joro.archive.erase import Span, erase, member
from joro.archive.far import note_of
from joro.archive.index import CaptureIndex, Limits
from joro.archive.members import members
from joro.archive.merge import changing
from joro.archive.names import sorted_index, warcs
from joro.archive.read import CAPTURES, Record, read_at, readable, response_at
from joro.archive.recover import mend
from joro.archive.storing import bring_back, upload
from joro.archive.times import warc_date
from joro.archive.warc import WarcWriter
from joro.clock import Clock
from joro.errors import ArchiveError
from joro.model import Capture, Outcome, Page, Visit
from joro.store.orders import TAKEDOWN, Order, Orders

#: The stream of captures that had to be written anew.
KEPT = "kept"
_SCHEMES = ("http://", "https://")

Found = dict[str, set[int]]  # offsets of captures, by WARC


@dataclass
class Done:
    """What a run did."""

    captures: int = 0
    erased_bytes: int = 0
    warcs: list[str] = field(default_factory=list)
    kept: int = 0  # captures written anew because what they spoke of is gone
    waiting: list[str] = field(default_factory=list)  # WARCs that a robot has open


def meant(index: CaptureIndex, order: Order) -> Iterator[Capture]:
    """Every capture that one order erases."""
    limits = Limits(
        since=order.since if order.since is not None else -float("inf"),
        until=order.until if order.until is not None else float("inf"),
    )
    if order.target == "all":
        yield from index.all(limits)
    elif order.target == "digest":
        yield from index.of_digest(order.value, limits)
    elif order.target == "host":
        below = order.value.startswith("*.")
        yield from index.of_host(order.value.removeprefix("*."), subdomains=below, limits=limits)
    else:
        find = index.versions if order.target == "url" else index.under
        for scheme in _SCHEMES:
            yield from find(scheme + order.value.partition("://")[2], limits)


def carry_out(
    directory: Path,
    orders: Orders,
    *,
    clock: Clock,
    robot: str,
    progress: Callable[[str, int], None] = lambda _warc, _left: None,
) -> Done:
    """Erase all that the take-downs among the orders mean, in every closed WARC."""
    mend(directory, prefix=KEPT)  # a run may have been killed while it wrote there
    index = CaptureIndex(directory)
    done = Done()
    found: Found = defaultdict(set)
    pages: set[tuple[str, str]] = (
        set()
    )  # and payloads of theirs that go, though other captures of them may stay
    for order in orders.all:
        for capture in meant(index, order) if order.act == TAKEDOWN else ():
            found[capture.warc].add(capture.offset)
            if capture.mime != REVISIT and (order.since is not None or order.until is not None):
                pages.add((capture.url, capture.digest))
    changed = _rescue(directory, index, pages, found, clock, robot, done)
    done.waiting = sorted(name for name in found if not sorted_index(directory / name).exists())
    for name in done.waiting:
        del found[name]
    touched = sorted({*found, *changed})
    with changing(directory, touched) if touched else nullcontext():
        for left, name in zip(range(len(touched), 0, -1), touched, strict=True):
            progress(name, left)
            _carry_out_in(
                directory / name, found.get(name, set()), changed.get(name, {}), orders, clock, done
            )
    for place in {note.url for name in warcs(directory) if (note := note_of(directory / name)) is not None}:
        upload(directory, place)  # in the place of copies that know too much, also those of a run cut off
    return done


def _rescue(
    directory: Path,
    index: CaptureIndex,
    pages: Iterable[tuple[str, str]],
    found: Found,
    clock: Clock,
    robot: str,
    done: Done,
) -> dict[str, dict[int, bytes]]:
    """Write captures anew whose bytes will be gone; the records of others that have to point elsewhere."""
    changed: dict[str, dict[int, bytes]] = defaultdict(dict)
    writer: WarcWriter | None = None
    for url, digest in sorted(pages):
        whole: Capture | None = None  # the last one to stay that holds the bytes
        versions = index.versions(url, Limits(digest=digest))
        for version in sorted(versions, key=lambda each: (each.time, each.mime == REVISIT)):
            if version.offset in found.get(version.warc, ()):
                continue
            if version.mime != REVISIT:
                whole = version
                continue
            if whole is None:
                writer = writer or _keeping(directory, clock, robot)
                whole = _written_anew(directory, version, writer)
                done.kept += 1
            if (record := _pointing_to(directory, version, whole)) is not None:
                changed[version.warc][version.offset] = record
    if writer is not None:
        writer.close()
    return changed


def _keeping(directory: Path, clock: Clock, robot: str) -> WarcWriter:
    return WarcWriter(directory, limit_bytes=1_000_000_000, clock=clock, robot=robot, prefix=KEPT)


def _written_anew(directory: Path, capture: Capture, writer: WarcWriter) -> Capture:
    """The capture as a response of its own, as its replay showed it."""
    response = response_at(directory, capture)
    elapsed_s = capture.elapsed_ms / 1e3
    return writer.append(
        Visit(Page(capture.url), capture.time, Outcome.OK, response=response, elapsed_s=elapsed_s)
    )


def _pointing_to(directory: Path, revisit: Capture, whole: Capture) -> bytes | None:
    """A revisit's record, as long as before, that names another original; None where that needs no change.

    We find originals by URL and digest, so a record without room for it is left as it is.
    """
    warc = directory / revisit.warc
    if not sorted_index(warc).exists():
        return None
    record = read_at(warc, revisit.offset, revisit.length)
    said, date = record.fields.get("warc-refers-to-date", ""), warc_date(whole.time)
    if said in ("", date):
        return None
    name = "WARC-Refers-To-Date: "
    content = _content_at(warc, revisit).replace((name + said).encode(), (name + date).encode(), 1)
    try:
        return member(content, revisit.length)
    except ArchiveError:
        return None


def _content_at(warc: Path, capture: Capture) -> bytes:
    return next(members(warc, capture.offset)).content


def _carry_out_in(
    warc: Path, offsets: set[int], changed: dict[int, bytes], orders: Orders, clock: Clock, done: Done
) -> None:
    bring_back(warc)  # if its bytes are elsewhere
    spans = _spans(warc, offsets, orders)
    if spans or changed:
        done.erased_bytes += erase(warc, spans, clock.now(), changed)
        done.warcs.append(warc.name)
    lines = whole_lines(index_of(warc))
    left = [line for line in lines if capture_of(line).offset not in offsets]
    done.captures += len(lines) - len(left)
    if len(left) < len(lines):
        write_sorted(warc, left)


def _spans(warc: Path, offsets: set[int], orders: Orders) -> list[Span]:
    """Where the captures lie, and everything that belongs to them; what is erased already is left out."""
    spans: list[Span] = []
    ids: set[str] = set()
    others: list[tuple[Span, Record]] = []
    place = 0
    for record in readable(warc):
        spans += _unread(warc, offsets, place, record.offset)
        place = record.end
        span = record.offset, record.length
        if record.offset in offsets and record.type in CAPTURES:
            spans.append(span)
            ids.add(record.fields.get("warc-record-id", "?"))
        elif record.type not in CAPTURES and record.type != "warcinfo" and record.url:
            record.block = b""
            others.append((span, record))
    spans += _unread(warc, offsets, place, warc.stat().st_size)
    spans += [span for span, record in others if _belongs(record, ids, orders)]
    return spans


def _belongs(record: Record, ids: set[str], orders: Orders) -> bool:
    """Is the record about a capture that goes: its request, or what was noted about it?"""
    named = {record.fields.get("warc-concurrent-to"), record.fields.get("warc-refers-to")}
    return not ids.isdisjoint(named - {None}) or orders.erases(record.url, record.time, "") is not None


def _unread(warc: Path, offsets: set[int], start: int, end: int) -> list[Span]:
    """Captures in a damaged stretch, of which only the index knows where they lay."""
    if start == end:
        return []
    missing = {offset for offset in offsets if start <= offset < end}
    lines = whole_lines(index_of(warc)) if missing else []
    known = {capture.offset: capture.length for capture in map(capture_of, lines)}
    return [(offset, min(known[offset], end - offset)) for offset in missing if offset in known]
