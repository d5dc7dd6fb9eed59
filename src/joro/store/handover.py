"""How does a server leave a frontier, and how does it enter another one?

In:    what journals say about a server (`journal`).
Out:   a frontier without the server, or with it, as if it had always been there: pages waiting and visited,
       records, rules, traps, sources, dates.
Never: forgets fingerprints: whoever had a server once knows its pages, should it come back. Tells what comes
       out of a journal as news; what was told late is news, because only now it counts. Ends by what another
       robot wrote and nobody can read: it is left out, and said so.

A server moves right after a commit, when all about it is on disk, and is gone or there with the next one. Of
the visited pages of each server there is an index, which only those keep whose servers may move:

    i SERVER 0 MARK → nothing: the page has a record
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
from rocksdict import WriteBatch

from joro.model import Outcome
from joro.store import accounts
from joro.store.calendar import Entries
from joro.store.frontier import Admission, Frontier
from joro.store.journal import Keys, Recorded, by_server
from joro.store.queue import Queue
from joro.store.records import PageRecord, RobotsRecord, ServerRecord, Upkeep
from joro.store.seen import SeenSet
from joro.url import fingerprint, server_of, try_canonical

log = logging.getLogger(__name__)

#: What is kept under the name of a server.
_OF_SERVER = (b"s", b"w", b"r", b"t", b"d")

#: The dates of visited pages; of some none.
Dates = Callable[[list[PageRecord]], Entries]
#: Lets a server's record count what is kept of a page now instead of what was kept before, when it waited or
#: did not.
Recount = Callable[[ServerRecord, Upkeep | None, Upkeep | None, bool], None]

_decode_page = msgspec.msgpack.Decoder(PageRecord).decode
_decode_server = msgspec.msgpack.Decoder(ServerRecord).decode
_DECODERS: dict[bytes, Callable[[bytes], object]] = {
    b"r": msgspec.msgpack.Decoder(RobotsRecord).decode,
    b"t": bytes,  # only `discover` can tell
    b"w": bytes,
}


def readable(
    server: str,
    keys: Iterable[tuple[bytes, bytes | None]],
    state_of: Callable[[bytes, bytes], object] = lambda key, value: value,
) -> Keys:
    """Those changes of a server that can be taken in; the others are told in one line.

    What watching remembers only the robot can read, with `state_of`.
    """
    found, lost = [], 0
    for key, value in keys:
        if value is None or _is_readable(server, key, value, state_of):
            found.append((key, value))
        else:
            lost += 1
    if lost:
        log.warning(
            "%s: %d things that another robot told of it cannot be read, and are left out", server, lost
        )
    return found


def _is_readable(server: str, key: bytes, value: bytes, state_of: Callable[[bytes, bytes], object]) -> bool:
    kind, name = key[:1], server.encode()
    try:
        if kind == b"p":
            page = _decode_page(value)
            is_its_own = server_of(page.url) == server and key[1:] == _mark(page.url)
            return is_its_own and bool(Outcome(page.outcome)) and _are_numbers(_numbers_of(page))
        if kind == b"q":
            url = value[9:].decode()
            return key[1:-9] == name + b"\0" and key[-8:] == _mark(url) and try_canonical(url) == url
        if kind in (b"f", b"d"):
            return state_of(key, value) is not None
        if kind == b"s":
            return key[1:] == name and _are_numbers(_numbers_in(_decode_server(value)))
        decode = _DECODERS.get(kind)
        return key[1:] == name and decode is not None and decode(value) is not None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


def _numbers_of(page: PageRecord) -> Iterable[float]:
    care = page.upkeep
    if care is None:
        return (page.time,)
    return (
        page.time, care.due, care.interval_s, care.seen_at, care.captured_at, care.weight, care.told_at,
        care.told_every_s,
    )  # fmt: skip


def _numbers_in(record: ServerRecord) -> Iterable[float]:
    """The same of a server."""
    yield from (record.ready_at, record.busy_since, record.ended_at, record.rest_s)
    yield from (record.download_s, record.longest_download_s)
    yield from (*record.said, *record.dated, *record.foretold)
    for _, rate_per_s in record.wishes.values():
        yield rate_per_s
    for _, *lateness in record.waiting.values():
        yield from lateness


def _are_numbers(values: Iterable[float]) -> bool:
    """One "not a number" among dates is later than none and earlier than none: no calendar can hold it."""
    return not any(map(math.isnan, values))


class Movable(Frontier):
    """A frontier whose servers come and go, and which tells what it writes, just before, by server."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        super().__init__(directory, read_only=read_only)
        self.tell: Callable[[dict[str, Keys]], None] = lambda _: None
        #: What is ours of a server's quota, where others have parts of it.
        self.portion: Callable[[str, int], int] = lambda server, quota: quota
        self._batch = cast(WriteBatch, Recorded())

    def _write(self) -> None:
        batch = cast(Recorded | WriteBatch, self._batch)
        if isinstance(batch, Recorded):
            changes = by_server(batch.changes)
            self.tell(changes)
            for server, keys in changes.items():
                for key, _ in keys:
                    if key[:1] == b"p":
                        batch.inner.put(_index_key(server, key[-8:]), b"")
            batch, self._batch = batch.inner, cast(WriteBatch, Recorded())
        self.write(batch)

    def settle(self, quota: Callable[[str], int], admit: Admission = lambda urls, source: urls) -> list[str]:
        """As any frontier does, within our portion of each server's quota."""
        return super().settle(lambda server: self.portion(server, quota(server)), admit)

    @property
    def _untold(self) -> WriteBatch:
        """The same batch, for what others know already."""
        return cast(Recorded, self._batch).inner

    def drop(self, server: str) -> None:
        """Forget a server that nobody is visiting; only right after a commit."""
        batch, record = self._untold, self.server(server)
        waiting = set()
        for key, _ in self.scan(b"q" + server.encode() + b"\0"):
            waiting.add(key[-8:])
            batch.delete(key)
        for key, _ in self.scan(b"f" + server.encode() + b"\0"):
            batch.delete(key)
        for key, _ in self.scan(_index_key(server, b"")):
            page = self.visited(int.from_bytes(key[-8:], "big"))
            if page is not None and key[-8:] not in waiting:
                self._count_outcome(page.outcome, -1)
            batch.delete(key)
            batch.delete(b"p" + key[-8:])
        for kind in _OF_SERVER:
            batch.delete(kind + server.encode())
        self.counts.found -= record.found
        self.counts.visited -= record.visited
        self._queues.pop(server, None)
        self._servers.pop(server, None)
        self._changed.discard(server)
        self._put_to_sleep.discard(server)
        self._emptied.add(server)  # until the next commit the disk says otherwise

    def adopt(self, server: str, state: dict[bytes, bytes], dates: Dates) -> ServerRecord:
        """Take in a server as its journal has it (`readable`); whoever is here already is replaced."""
        if self._db.get(b"s" + server.encode()) is not None:
            self.drop(server)
        waiting = {key[-8:] for key in state if key[:1] == b"q"}
        visited = [_decode_page(value) for key, value in state.items() if key[:1] == b"p"]
        self._put_keys(server, state)
        packed = state.get(b"s" + server.encode())
        record = self._servers[server] = _decode_server(packed) if packed else ServerRecord()
        self._changed.add(server)
        self.counts.found += record.found
        self.counts.visited += record.visited
        resting = [page for page in visited if _mark(page.url) not in waiting]
        for page in resting:
            self._count_outcome(page.outcome, 1)
        self._date(resting, dates)
        self._get_to_know([int.from_bytes(key[-8:], "big") for key in state if key[:1] in (b"q", b"p")])
        self._recent.clear()  # links to its pages may have been somebody else's business
        if waiting:
            self._untold.put(b"w" + server.encode(), b"")
            self._put_to_sleep.add(server)
            self._emptied.discard(server)
        return record

    def _date(self, pages: list[PageRecord], dates: Dates) -> None:
        """Let pages be due as their records say, or what is remembered of them; sources apart."""
        for calendar, polled in ((self.calendar, False), (self.calendar.sources, True)):
            these = [page for page in pages if (page.upkeep is not None and page.upkeep.polled) is polled]
            calendar.push(dates(these))

    def _put_keys(self, server: str, state: dict[bytes, bytes]) -> None:
        for key, value in state.items():
            if key[:1] in (b"f", b"d"):
                self.sources.keep_key(key, value)
            else:
                self._untold.put(key, value)
            if key[:1] == b"p":
                self._untold.put(_index_key(server, key[-8:]), b"")

    def _get_to_know(self, marks: list[int]) -> None:
        new = self.seen.add(np.array(marks, np.uint64)).tolist() if marks else []
        self._fresh += [marks[place] for place in new]

    def forget_marks(self) -> None:
        """No server is here any more: let every page be new. With the next commit, or again after a crash."""
        for path in (self._path.parent / "seen").glob("*.seen"):
            path.unlink()
        self.seen = SeenSet(self._path.parent / "seen")
        for key in self._unmerged:
            self._batch.delete(key)
        self._unmerged.clear()
        self._fresh.clear()
        self._recent.clear()

    def merge(self, server: str, late: Keys, dates: Dates, recount: Recount) -> None:
        """Take in what another robot did to a server of ours before it was ours; only right after a commit.

        Pages visited there later than here count as visited then, pages found there are found, the longer
        pause is kept. Of everything else only what is not known here.
        """
        late = readable(server, late)
        pages = [_decode_page(value) for key, value in late if key[:1] == b"p" and value is not None]
        taken = [page for page in pages if self._take_in(server, page, recount)]
        for key, value in late:
            if value is None or key[:1] == b"p":
                continue
            if key[:1] == b"q":
                self.add([value[9:].decode()], key[-9], cgi_hops=value[8])
            elif key[:1] == b"s":
                self._keep_pause(server, _decode_server(value))
            elif key[:1] in (b"f", b"d"):
                if not self.sources.has_key(key):
                    self.sources.keep_key(key, value)
            elif self._db.get(key) is None:
                self._batch.put(key, value)
        self._date(taken, dates)

    def _keep_pause(self, server: str, other: ServerRecord) -> None:
        record = self.server(server)
        record.ready_at = max(record.ready_at, other.ready_at)
        record.ended_at = max(record.ended_at, other.ended_at)
        record.throttles = max(record.throttles, other.throttles)

    def _take_in(self, server: str, page: PageRecord, recount: Recount) -> bool:
        """Count a page as visited elsewhere, unless it was visited here later or is being visited."""
        mark, record = fingerprint(page.url), self.server(server)
        queue = self._queues.get(server) or Queue()
        mine = self.visited(mark)
        if (mine is not None and mine.time >= page.time) or any(_is_of(mark, key) for key in queue.taken):
            return False
        key, value = self._waiting(queue, server, mark)
        if value is not None:  # until the next commit the disk says that it waits: nobody may find it there
            self._queues.setdefault(server, Queue(more=True)).withdraw(key, value)
            self._finished.append((server, key))
            self._batch.delete(key)
            record.due = max(record.due - (mine is not None), 0)
        elif mine is not None:
            self._count(record, mine.outcome, -1)
        else:
            record.found += 1
            self.counts.found += 1
            self._get_to_know([mark])
        self.keep_page(page)
        self._count(record, page.outcome, 1)
        recount(record, mine.upkeep if mine is not None else None, page.upkeep, value is not None)
        return True

    def _count(self, record: ServerRecord, outcome: str, number: int) -> None:
        accounts.count(record, Outcome(outcome), number)
        self.counts.visited += number
        self._count_outcome(outcome, number)

    def _count_outcome(self, outcome: str, number: int) -> None:
        self.counts.outcomes[outcome] = self.counts.outcomes.get(outcome, 0) + number


def _index_key(server: str, mark: bytes) -> bytes:
    return b"i%b\0%b" % (server.encode(), mark)


def _mark(url: str) -> bytes:
    return fingerprint(url).to_bytes(8, "big")


def _is_of(mark: int, key: bytes) -> bool:
    return key[-8:] == mark.to_bytes(8, "big")
