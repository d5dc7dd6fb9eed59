"""Which pages that are known already shall be visited, or visited once more?

In:    a share of the frontier nobody works on, and a wish: yes or no for each visited page. Or seeds.
Out:   the wished ones wait again, if they are urgent before all others of their servers, in batches that are
       there whole or not at all. Seeds wait, however far from one they were found before.
Never: touches the archive: what was collected stays, whatever the next visit brings. Forgets politeness: when
       a server may be visited again is as it was.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable
from itertools import compress
from pathlib import Path

import msgspec
import numpy as np
from msgspec import structs
from rocksdict import WriteBatch

from joro.store.frontier import Frontier
from joro.store.queue import NO_MARK
from joro.store.records import PageRecord, RobotsRecord
from joro.url import fingerprint, server_of

#: Under which name it is kept that pages visited before may wait anywhere in a queue.
ASKED_FOR = "asked for"
#: Pages that go into one batch: bounds the memory, and what a kill leaves to be done again.
BATCH = 20_000


def wait_again(
    directory: Path, wanted: Callable[[PageRecord], bool], *, urgent: bool = False, anew: bool = False
) -> int:
    """Let all wanted pages of a share wait; how many did not wait already, or not so far in front.

    `anew`: links to pages that a quota turned away, or that seemed traps, are judged by the rules of then.
    """
    frontier = Frontier(directory)
    decode = msgspec.msgpack.Decoder(PageRecord).decode
    number = 0
    records = (record for _, packed in frontier.scan(b"p") if wanted(record := decode(packed)))
    for place, record in enumerate(records, 1):
        if anew and _is_conditional(record):
            frontier.keep_page(_unconditional(record))
        if _waits_anew(frontier, record, urgent):
            _ask_rules_again(frontier, server_of(record.url))
            number += 1
        if place % BATCH == 0:
            frontier.commit(None)
    if anew:
        _forget_turned_away(frontier)
    frontier.keep(ASKED_FOR, b"yes")
    frontier.commit(None)
    if frontier.was_closed:
        frontier.close()
    else:
        frontier.abandon()  # the robot must still learn that it was killed
    return number


def _forget_turned_away(frontier: Frontier) -> None:
    """Whoever has no page waits to be found: nine bytes of memory for each that has."""
    marks = array("Q")
    for kind in (b"p", b"q"):
        marks.extend(int.from_bytes(key[-8:], "big") for key, _ in frontier.scan(kind))
    frontier.seen.keep_only(np.frombuffer(marks, np.uint64))
    unmerged = WriteBatch(raw_mode=True)
    for key, _ in frontier.scan(b"n"):
        unmerged.delete(key)
    frontier.write(unmerged)
    frontier.counts.over_quota = frontier.counts.trapped = 0


def sow(frontier: Frontier, seeds: list[str], settle: Callable[[], object]) -> list[str]:
    """Let seeds wait that are new, or were known as something less: links are followed from them on.

    One that was found by a link and visited is visited again; one that waits, waits as a seed. One that was
    turned away by a quota, or as a trap, is judged anew, by `settle`. Those that were known are returned.
    """
    marks = np.fromiter(map(fingerprint, seeds), np.uint64, len(seeds))
    known = frontier.seen.are_known(marks)
    places = functools.cache(frontier.places)  # of many seeds at few servers
    turned_away = {
        mark: url
        for url, mark in zip(compress(seeds, known), marks[known].tolist(), strict=True)
        if not _is_sown(frontier, url, mark, places)
    }
    if turned_away:
        _judge_anew(frontier, turned_away, settle)
    frontier.add(seeds, 0)
    return list(compress(seeds, known))


def _judge_anew(frontier: Frontier, turned_away: dict[int, str], settle: Callable[[], object]) -> None:
    """Nobody knows what turned each away: those let in now count no longer, the others as they did."""
    frontier.forget(turned_away)
    counts, before = frontier.counts, structs.replace(frontier.counts)
    frontier.add(turned_away.values(), 0)
    settle()
    let_in = counts.found - before.found
    over = min(let_in, before.over_quota)
    counts.over_quota = before.over_quota - over
    counts.trapped = before.trapped - min(let_in - over, before.trapped)


def _is_sown(frontier: Frontier, url: str, mark: int, places: Callable[[str], list[int]]) -> bool:
    """Is a page that was seen before among the pages known, now as a seed?"""
    server, record = server_of(url), frontier.visited(mark)
    if record is None:
        return frontier.plant(url, places)
    if record.hops:
        seed = structs.replace(_unconditional(record), hops=0, found_on=NO_MARK, cgi_hops=0)
        frontier.keep_page(seed)
        if not (frontier.waits(record) and frontier.plant(url, places)):
            frontier.wait_again(seed)
        _ask_rules_again(frontier, server)
    return True


def _is_conditional(record: PageRecord) -> bool:
    return record.upkeep is not None and bool(record.upkeep.etag or record.upkeep.modified)


def _unconditional(record: PageRecord) -> PageRecord:
    """The record of a page that is asked for whole next time: "as before" has no links to follow."""
    if record.upkeep is None:
        return record
    return structs.replace(record, upkeep=structs.replace(record.upkeep, etag="", modified=""))


def _waits_anew(frontier: Frontier, record: PageRecord, urgent: bool) -> bool:
    return frontier.wait_again(record, urgent=urgent) or (urgent and frontier.hasten(record.url))


def _ask_rules_again(frontier: Frontier, server: str) -> None:
    """A robots.txt that could not be had would forbid the pages again without anyone asking."""
    rules = frontier.robots(server)
    if rules is not None and (rules.status <= 0 or rules.status == 429 or rules.status >= 500):
        frontier.keep_robots(server, RobotsRecord(0.0, rules.status, rules.body))
