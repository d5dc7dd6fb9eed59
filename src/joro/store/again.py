"""Which pages, visited before, shall be visited once more?

In:    a share of the frontier nobody works on, and a wish: yes or no for each visited page.
Out:   the wished ones wait again, if they are urgent before all others of their servers, in batches that are
       there whole or not at all.
Never: touches the archive: what was collected stays, whatever the next visit brings. Forgets politeness: when
       a server may be visited again is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from joro.store.frontier import Frontier
from joro.store.records import PageRecord, RobotsRecord
from joro.url import server_of

#: Pages that go into one batch: bounds the memory, and what a kill leaves to be done again.
BATCH = 20_000


def wait_again(directory: Path, wanted: Callable[[PageRecord], bool], *, urgent: bool = False) -> int:
    """Let all wanted pages of a share wait; how many did not wait already, or not so far in front."""
    frontier = Frontier(directory)
    decode = msgspec.msgpack.Decoder(PageRecord).decode
    number = 0
    for _, packed in frontier.scan(b"p"):
        record = decode(packed)
        if wanted(record) and _waits_anew(frontier, record, urgent):
            _ask_rules_again(frontier, server_of(record.url))
            number += 1
            if number % BATCH == 0:
                frontier.commit(None)
    frontier.commit(None)
    if frontier.was_closed:
        frontier.close()
    else:
        frontier.abandon()  # the robot must still learn that it was killed
    return number


def _waits_anew(frontier: Frontier, record: PageRecord, urgent: bool) -> bool:
    return frontier.wait_again(record, urgent=urgent) or (urgent and frontier.hasten(record.url))


def _ask_rules_again(frontier: Frontier, server: str) -> None:
    """A robots.txt that could not be had would forbid the pages again without anyone asking."""
    rules = frontier.robots(server)
    if rules is not None and (rules.status <= 0 or rules.status == 429 or rules.status >= 500):
        frontier.keep_robots(server, RobotsRecord(0.0, rules.status, rules.body))
