"""How is everything erased that orders take down?

In:    a collection and its orders.
Out:   archive, indexes, search index, tables and frontier without it; a record of what was done, which names
       no page.
Never: waits for robots or the indexer: what they hold is told, and done by the next run, or by the indexer
       itself. Leaves half a change: each part is old or new, and a run that was killed is simply run again.
Paper: S4, deletion requests: the list of URLs to be deleted is applied when garbage is collected.

The order acts from the moment it is given, because everyone who shows anything asks `store.orders`; this here
is only the broom.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from joro import __version__
from joro.archive import recover
from joro.archive import takedown as archive_takedown
from joro.archive.index import CaptureIndex
from joro.archive.names import sorted_index, warcs
from joro.archive.takedown import Done, carry_out
from joro.clock import Clock
from joro.errors import CollectionError
from joro.model import Capture
from joro.schedule import change, late, prior
from joro.schedule.plan import unwish
from joro.store.collection import Collection
from joro.store.durable import appending, write_whole
from joro.store.forget import forget
from joro.store.layout import share_count, shares
from joro.store.orders import COLLECTED, TAKEDOWN, Order, OrderBook, Orders
from joro.store.records import ServerRecord, Upkeep

AUDIT = "audit.jsonl"
#: Robots of a set that was stopped end by themselves, within this time.
PATIENCE_S = 40.0

#: Erases from one kind of copy (search index, tables) what the archive has lost; how much that was.
Follow = Callable[[Collection], int]


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the audit."""

    time: float
    collection: int  # the running number of this one
    event: str  # "began" or "ended"
    orders: tuple[int, ...] = ()  # take-downs in force
    captures: int = 0
    erased_bytes: int = 0
    warcs: int = 0
    kept: int = 0
    pages: int = 0  # forgotten by the frontier
    copies: dict[str, int] = {}  # erased from each kind of copy
    waiting: tuple[str, ...] = ()  # WARCs, and parts of the collection, that others work in


@dataclass
class Swept:
    """What a run did."""

    archive: Done = field(default_factory=Done)
    pages: int = 0
    copies: dict[str, int] = field(default_factory=dict)
    busy: list[str] = field(default_factory=list)  # parts of the collection that others work in

    @property
    def waiting(self) -> tuple[str, ...]:
        return (*self.busy, *self.archive.waiting)


def sweep(
    collection: Collection,
    clock: Clock,
    copies: Mapping[str, Follow],
    progress: Callable[[str, int], None] = lambda _warc, _left: None,
) -> Swept:
    """Erase what the take-downs in force mean; the copies follow the archive."""
    swept = Swept()
    with collection.lock("takedown"):
        orders = OrderBook(collection.orders, clock.now).latest()
        number = _next_number(collection.orders)
        takedowns = tuple(order.number for order in orders.all if order.act == TAKEDOWN)
        _note(collection.orders, Record(clock.now(), number, "began", takedowns))
        with ExitStack() as held:
            is_alone = _hold(collection, held)
            if is_alone:
                _close_left_open(collection.archive)
            swept.archive = carry_out(
                collection.archive,
                _findable(orders, CaptureIndex(collection.archive)),
                clock=clock,
                robot=f"{collection.config.identity.name}/{__version__}",
                progress=progress,
            )
            if is_alone:
                swept.pages = _sweep_frontier(collection, orders, clock.now())
            else:
                swept.busy.append("frontier")
        _call_copies(collection.orders, takedowns, number if swept.archive.captures else None)
        for name, follow in copies.items():
            try:
                swept.copies[name] = follow(collection)
            except CollectionError:
                swept.busy.append(name)
        _note(collection.orders, _record(clock.now(), number, takedowns, swept))
    return swept


def meant(index: CaptureIndex, order: Order) -> Iterator[Capture]:
    """Every capture that one order is about."""
    found = archive_takedown.meant(index, order)
    if not _ends_in_query(order):
        return found
    beginning = order.value.partition("://")[2]
    return (capture for capture in found if capture.url.partition("://")[2].startswith(beginning))


def _ends_in_query(order: Order) -> bool:
    """Is it about all queries of a page? The archive looks past a "?" at the end of a prefix."""
    return order.target == "prefix" and order.value.endswith("?")


def _findable(orders: Orders, index: CaptureIndex) -> Orders:
    """Orders that answer the same, and name one by one the pages that the archive could not look for."""
    same = Orders(orders.all)
    same.all = []
    for order in orders.all:
        if order.act == TAKEDOWN and _ends_in_query(order):
            urls = sorted({capture.url for capture in meant(index, order)})
            same.all += [msgspec.structs.replace(order, target="url", value=url) for url in urls]
        else:
            same.all.append(order)
    return same


def _record(now: float, number: int, takedowns: tuple[int, ...], swept: Swept) -> Record:
    done = swept.archive
    return Record(
        now,
        number,
        "ended",
        takedowns,
        done.captures,
        done.erased_bytes,
        len(done.warcs),
        done.kept,
        swept.pages,
        swept.copies,
        swept.waiting,
    )


def _hold(collection: Collection, held: ExitStack) -> bool:
    """Keep robots out until we are done; False when one is in."""
    try:
        held.enter_context(collection.lock("robot"))
        for place in range(max(share_count(collection.frontier), 1)):
            held.enter_context(collection.lock(f"robot-{place}", patience_s=PATIENCE_S))
    except CollectionError:
        held.close()
        return False
    return True


def _close_left_open(archive: Path) -> None:
    """What a killed robot left open is closed first: only closed files are rewritten."""
    for name in warcs(archive):
        if not sorted_index(archive / name).exists():
            recover.close(archive / name)


def _sweep_frontier(collection: Collection, orders: Orders, now: float) -> int:
    if not any(order.act == TAKEDOWN for order in orders.all):
        return 0

    def is_gone(url: str) -> bool:
        return any(
            order.act == TAKEDOWN and order.since is None and order.covers(now) for order in orders.about(url)
        )

    def is_gone_server(url: str) -> bool:
        return any(
            order.act == TAKEDOWN and order.target in ("host", "all") and order.since is order.until is None
            for order in orders.about(url)
        )

    def is_erased(url: str, time: float) -> bool:
        return orders.erases(url, time, "") is not None

    folders = shares(collection.frontier, share_count(collection.frontier))
    return sum(forget(folder, is_gone, is_gone_server, is_erased, release) for folder in folders)


def release(server: ServerRecord, care: Upkeep, waits: bool) -> None:
    """A page that is gone waits and wishes for no visits, and says nothing about its server, any more."""
    if waits:
        late.left(server.waiting, care.interval_s, care.due)
    unwish(server.wishes, care.interval_s, care.weight)
    if care.language:
        server.languages[care.language] = max(server.languages.get(care.language, 0) - 1, 0)
    if not care.polled:
        (less, much) = prior.said(change.unpack([care.history]))[0].tolist()
        weight, total = server.said
        server.said = (weight - less, total - much) if weight > less else (0.0, 0.0)


def _call_copies(directory: Path, takedowns: tuple[int, ...], number: int | None) -> None:
    """Let copies know that there is something new to erase: orders never swept, or captures erased now."""
    path = directory / COLLECTED
    highest = max(takedowns, default=0)
    before = path.read_text().split() if path.exists() else ["0", "0"]
    after = [str(max(highest, int(before[0]))), before[1] if number is None else str(number)]
    if after != before:
        write_whole(path, " ".join(after).encode())


def history(directory: Path) -> list[Record]:
    """The audit, oldest first."""
    try:
        content = (directory / AUDIT).read_bytes()
    except FileNotFoundError:
        return []
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    return [msgspec.json.decode(line, type=Record) for line in lines]


def _next_number(directory: Path) -> int:
    return max((record.collection for record in history(directory)), default=0) + 1


def _note(directory: Path, record: Record) -> None:
    with appending(directory / AUDIT) as file:
        os.write(file, msgspec.json.encode(record) + b"\n")
