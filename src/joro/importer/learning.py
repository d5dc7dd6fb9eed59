"""What do captures of others tell about how pages change?

In:    sightings: when a page was there, and with which payload.
Out:   pages in the frontier with their histories, due for a visit as soon as pages are kept fresh.
Never: overrules what a robot has seen itself; lets a page in that does not belong to the collection; speaks
       of a capture that is not in the archive.
Paper: S0-02; the histories are those of `schedule.change`, as if a robot of ours had made the visits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from joro.coordinate.share import Share
from joro.discover.scope import Boundary
from joro.importer.foreign import Sighting
from joro.model import Outcome, Response, Visit
from joro.schedule import change, prior
from joro.store.calendar import entries
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count, share_count, shares
from joro.store.orders import OrderBook
from joro.store.records import Upkeep
from joro.url import fingerprint, path_of, server_of

#: Pages learned from at once.
BATCH = 5_000
#: Visits are due within this time, so that they do not come all at once.
SPREAD_S = 86_400.0
ROBOTS_TXT = "/robots.txt"


@dataclass
class Lore:
    """What was seen of pages; of each only what is needed, in the order of time."""

    seen: defaultdict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, sighting: Sighting) -> None:
        """Answers with the page, or with "as before", count; errors and redirects say nothing of change.

        robots.txt is no page: robots read it in its own time.
        """
        if (200 <= sighting.status < 300 or sighting.status == 304) and path_of(sighting.url) != ROBOTS_TXT:
            self.seen[sighting.url].append((sighting.time, sighting.digest))


def histories_of(visits: list[list[tuple[float, str]]]) -> change.Histories:
    """The history of each page, from the times and digests of its visits, oldest first."""
    histories = change.blank(len(visits))
    expected = prior.BROAD.expected(np.zeros((1, 2)))
    for number in range(1, max(map(len, visits), default=0)):
        here = [place for place, each in enumerate(visits) if len(each) > number]
        elapsed = np.array([max(visits[p][number][0] - visits[p][number - 1][0], 1.0) for p in here])
        changed = np.array([visits[p][number][1] != visits[p][number - 1][1] for p in here])
        likelihood = change.seen(elapsed, changed)
        histories[here] = change.observe(histories[here], likelihood, expected, elapsed, changed)
    return histories


def learn(collection: Collection, lore: Lore, now: float, *, has_bytes: bool) -> int:
    """Register pages with what was seen of them; how many. No robot may be at work.

    `has_bytes`: the captures are in our archive, so a visit may find a page to be as it was then.
    """
    count = share_count(collection.frontier)
    if not count:
        count = collection.config.machine.processes
        set_share_count(collection.frontier, count)
    boundary = Boundary(collection.config.scope)
    orders = OrderBook(collection.orders, lambda: now).latest()
    by_share: defaultdict[int, list[str]] = defaultdict(list)
    for url in boundary.within(list(lore.seen), 0):
        if orders.forbids(url, now) is None:
            by_share[Share(0, count).owner(server_of(url))].append(url)
    folders = shares(collection.frontier, count)
    return sum(
        _learn_in(folders[each], urls, lore, boundary, now, has_bytes) for each, urls in by_share.items()
    )


def _learn_in(
    folder: Path, urls: Iterable[str], lore: Lore, boundary: Boundary, now: float, has_bytes: bool
) -> int:
    frontier = Frontier(folder)
    number, waiting = 0, list(urls)
    for start in range(0, len(waiting), BATCH):
        part = waiting[start : start + BATCH]
        visits = [sorted(set(lore.seen[url])) for url in part]
        histories = histories_of(visits)
        said = prior.said(histories)
        frontier.add(part, 0)
        frontier.settle(boundary.quota)
        for url, seen, history, words in zip(
            part, visits, change.pack(histories), said.tolist(), strict=True
        ):
            care = _care(url, seen, history, now, has_bytes)
            number += _register(frontier, url, seen, care, (words[0], words[1]))
        frontier.commit(None)
    if frontier.was_closed:
        frontier.close()
    else:
        frontier.abandon()
    return number


def _care(url: str, seen: list[tuple[float, str]], history: bytes, now: float, has_bytes: bool) -> Upkeep:
    last, digest = seen[-1]
    care = Upkeep(due=now + SPREAD_S * (fingerprint(url) / 2**64), seen_at=last, history=history)
    if has_bytes:
        care.body = digest
        care.captured_at = next(time for time, each in reversed(seen) if each == digest)
    return care


def _register(
    frontier: Frontier, url: str, seen: list[tuple[float, str]], care: Upkeep, said: tuple[float, float]
) -> int:
    """Let the page be one that was visited; 1 if that is news."""
    mark, server = fingerprint(url), server_of(url)
    known = frontier.visited(mark)
    if known is not None and (known.upkeep is not None or known.time > seen[-1][0]):
        return 0
    page = frontier.take_url(url) if known is None else None
    if page is not None:
        answer = Response(200, b"", b"")
        frontier.done(Visit(page, seen[-1][0], Outcome.OK, response=answer), care=care)
    elif known is not None:
        known.upkeep = care
        frontier.keep_page(known)
    else:
        return 0  # its server has pages enough
    record = frontier.server(server)
    record.said = record.said[0] + said[0], record.said[1] + said[1]
    frontier.calendar.push(entries(care.due, mark, care.version, fingerprint(server), b""))
    return 1
