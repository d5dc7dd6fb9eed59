"""What does it cost a robot that its servers may move?

The same pages are found and visited in a frontier that tells what it writes and in one that does not, in
turn; then all servers enter another one, and leave it again. Ratios and microseconds a page, of CPU time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np

from joro.coordinate.beat import encode
from joro.coordinate.portions import posts
from joro.model import Outcome, Response, Visit
from joro.store.calendar import ENTRY, Entries
from joro.store.frontier import Frontier
from joro.store.handover import Movable
from joro.store.journal import Keys, fold
from joro.store.records import PageRecord

SERVERS, PAGES = 200, 100
ROUNDS = 5
VISITS_A_COMMIT = 500

History = dict[str, list[tuple[bool, Keys]]]


def figures() -> dict[str, tuple[float, str]]:
    """Telling by not telling, bytes told of a page, and microseconds to adopt and to drop one."""
    rounds = [_round() for _ in range(ROUNDS)]
    for quiet, told, size, adopted, dropped in rounds:
        print(
            f"  {quiet:.1f} µs a page; {told:.1f} and {size:.0f} B told; {adopted:.1f} in, {dropped:.1f} out"
        )
    return {
        "handover.telling_ratio": (median(told / quiet for quiet, told, *_ in rounds), "x"),
        "handover.told_bytes": (rounds[0][2], "B/page"),
        "handover.adopt_us": (median(row[3] for row in rounds), "µs/page"),
        "handover.drop_us": (median(row[4] for row in rounds), "µs/page"),
    }


def _round() -> tuple[float, float, float, float, float]:
    with _frontier(Frontier) as frontier:
        quiet = _crawl(frontier)
    with _frontier(Movable) as frontier, _frontier(Movable) as heir:
        assert isinstance(frontier, Movable)
        assert isinstance(heir, Movable)
        history: History = {}
        sizes: list[int] = []
        frontier.tell = lambda changes: _tell(frontier, changes, history, sizes)
        told = _crawl(frontier)
        start = time.process_time()
        for server, keys in history.items():
            heir.adopt(server, fold(keys)[0], _no_dates)
        heir.commit(None)
        adopted = time.process_time()
        for server in history:
            heir.drop(server)
        heir.commit(None)
        dropped = time.process_time()
    count = SERVERS * PAGES
    return quiet, told, sum(sizes) / count, (adopted - start) * 1e6 / count, (dropped - adopted) * 1e6 / count


def _tell(frontier: Frontier, changes: dict[str, Keys], history: History, sizes: list[int]) -> None:
    """As `robot.member` does."""
    for post in posts(len(sizes) + 1, changes, [], [], []):
        packed = encode(post)
        sizes.append(len(packed))
        frontier.keep(f"post {post.number:012d}", packed)
    for server, keys in changes.items():
        history.setdefault(server, []).append((False, keys))


def _crawl(frontier: Frontier) -> float:
    """Find and visit all pages; µs of CPU a page."""
    servers = [f"http://s{number}.example.org" for number in range(SERVERS)]
    start = time.process_time()
    for server in servers:
        frontier.add([f"{server}/some/path/page-{number}.html" for number in range(PAGES)], 2)
    frontier.settle(lambda _: 10**9)
    frontier.commit(None)
    frontier.wake()
    for number in range(SERVERS * PAGES):
        page = frontier.take(servers[number % SERVERS])
        assert page is not None
        frontier.done(Visit(page, 1e9 + number, Outcome.OK, response=Response(200, b"", b"")))
        if number % VISITS_A_COMMIT == VISITS_A_COMMIT - 1:
            frontier.commit(None)
    return (time.process_time() - start) * 1e6 / (SERVERS * PAGES)


def _no_dates(_: list[PageRecord]) -> Entries:
    return np.empty(0, ENTRY)


@contextmanager
def _frontier(kind: type[Frontier]) -> Iterator[Frontier]:
    with tempfile.TemporaryDirectory() as directory:
        frontier = kind(Path(directory))
        yield frontier
        frontier.abandon()
