"""Which pages are known, which were visited, which is next at a server?

In:    links, in batches; visits, as they end.
Out:   the next page of a server, without scanning; counts.
Never: forgets or repeats after a crash what `commit` has written; keeps a server in memory that has no
       turn soon: memory is bounded by the constants below, not by the number of pages or servers.

The life of a page: *unknown* → `add` → *found* (a link among others, in memory) → `settle` → *waiting*
(a key in its server's queue) → `take` → *taken* (only in memory) → `done` → *visited* (a record).

Changes gather in memory and reach RocksDB in one atomic batch at `commit`, together with the
position in the archive up to which they hold. The archive is flushed first, so after a crash it may be
ahead of us but never behind; the robot then replays what lies behind that position.

A server with pages waiting is *awake* (a queue in memory) or *asleep* (only on disk). The queue of one
that is awake holds every page added since the last commit and some of those on disk; at a commit it is
trimmed, and it is refilled from disk when used up.

Keys (one RocksDB per process):
    q SERVER 0 HOPS MARK → MARK of the page it was found on, CGI hops, URL: waiting pages, as they come
    p MARK               → PageRecord: pages visited, also while they wait again
    s SERVER             → ServerRecord
    w SERVER             → nothing: the server has pages waiting
    r SERVER             → RobotsRecord
    t SERVER             → state of `discover.traps` (of a domain: m *.DOMAIN)
    c …                  → when pages are to be visited again, see `calendar`
    f …, d …             → what watching remembers of pages and servers, see `sources`
    n NUMBER             → fingerprints not yet in the seen set's files
    m NAME               → position in the archive, counts, …
A MARK is the fingerprint of a URL.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, takewhile
from operator import itemgetter
from pathlib import Path

import msgspec
import numpy as np
from rocksdict import WriteBatch

from joro.model import Outcome, Page, Visit
from joro.store import accounts
from joro.store.calendar import Calendar
from joro.store.queue import DUE, NO_MARK, URGENT, Queue, page_of, queue_key, queue_value
from joro.store.records import Counts, PageRecord, RobotsRecord, ServerRecord, Upkeep
from joro.store.rocks import opened, translated
from joro.store.seen import Marks, SeenSet
from joro.store.sources import Sources
from joro.store.written import Queued as Queued
from joro.store.written import Written, trap_key
from joro.url import fingerprint, server_of

#: Servers awake at the same time: at one visit in 20 seconds each, a thousand pages a second.
AWAKE_LIMIT = 20_000
#: Server records kept in memory.
RECORDS_LIMIT = 100_000
#: URLs remembered in front of the seen set: most links of a page were met a moment ago.
RECENT_LIMIT = 200_000
#: Links gathered before the seen set is asked: its cost per link falls with the size of the batch.
SETTLE_AT = 8_000
#: Fingerprints in memory before they are merged into the seen set's files.
MERGE_AT = 1_000_000

#: A link: mark, URL, hops, CGI hops, URL of the page it was found on.
_Found = tuple[int, str, int, int, str]
#: Which of these new links, found on this page, are worth a visit?
Admission = Callable[[list[str], str], list[str]]


class Frontier(Written):
    """The pages of one process."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._path = directory / "pages"
        self._db = opened(self._path, read_only=read_only)
        self.calendar = Calendar(self._db)
        self.sources = Sources(self._db)
        self._batch = WriteBatch(raw_mode=True)
        self._queues: dict[str, Queue] = {}
        self._servers: dict[str, ServerRecord] = {}
        self._changed: set[str] = set()
        self._finished: list[tuple[str, bytes]] = []
        self._closed: list[PageRecord] = []
        self._recent: set[str] = set()
        self._found: list[_Found] = []
        self._put_to_sleep: set[str] = set()  # since the last commit
        self._waits_again: set[int] = set()  # likewise
        self._emptied: set[str] = set()  # servers that on disk still have pages waiting
        self._wakes_from = b"w"  # where to look for the next sleeper
        self._has_sleepers = True  # perhaps
        packed = self._db.get(b"mcounts")
        self.counts = msgspec.msgpack.decode(packed, type=Counts) if packed else Counts()
        self.was_closed = self._db.get(b"mclosed") != b"no"  # False: the last process here was killed
        if not read_only:
            self.seen = SeenSet(directory / "seen")
            self._unmerged = [key for key, _ in self._recall_new()]
            self._fresh: list[int] = []
            self._db.put(b"mclosed", b"no")

    def _recall_new(self) -> Iterator[tuple[bytes, bytes]]:
        for key, marks in self.scan(b"n"):
            self.seen.add(np.frombuffer(marks, np.uint64))
            yield key, marks

    @property
    def waiting(self) -> int:
        """Pages known and not visited."""
        return self.counts.found - self.counts.visited

    def server(self, server: str) -> ServerRecord:
        """The record of a server, written with the next commit."""
        record = self._servers.get(server)
        if record is None:
            packed = self._db.get(b"s" + server.encode())
            record = msgspec.msgpack.decode(packed, type=ServerRecord) if packed else ServerRecord()
            self._servers[server] = record
        self._changed.add(server)
        return record

    def has_server(self, server: str) -> bool:
        """Was a page of the server ever registered?"""
        record = self._servers.get(server)
        return record.found > 0 if record is not None else self._db.get(b"s" + server.encode()) is not None

    def add(self, urls: Iterable[str], hops: int, *, cgi_hops: int = 0, found_on: str = "") -> bool:
        """Take in links to canonical URLs; True when so many have gathered that `settle` is due."""
        recent, found = self._recent, self._found
        for url in self.unfamiliar(urls):
            recent.add(url)
            found.append((fingerprint(url), url, hops, cgi_hops, found_on))
        return len(found) >= SETTLE_AT

    @property
    def has_found(self) -> bool:
        """Links wait for `settle`."""
        return bool(self._found)

    def unfamiliar(self, urls: Iterable[str]) -> list[str]:
        """Those that were not met recently: most links are to pages known for long."""
        return [url for url in urls if url not in self._recent]

    def meet(self, url: str) -> None:
        """From now on the URL was met. For links to other robots."""
        self._recent.add(url)

    def forget(self, turned_away: dict[int, str]) -> None:
        """These links, by their marks, were never met: whoever has no page may get one when it is added."""
        self.seen.forget(np.array(list(turned_away), np.uint64))
        self._recent.difference_update(turned_away.values())

    def settle(self, quota: Callable[[str], int], admit: Admission = lambda urls, source: urls) -> list[str]:
        """Let those links wait that are new, worth it, and within the quota of their server.

        `admit` says of new links, and the page they were found on, which are worth it, perhaps in another
        spelling. The servers that had no page waiting before are returned.
        """
        woken: list[str] = []
        while self._found:  # another spelling may be new or known in its turn
            for source, links in groupby(self._new_links(), key=itemgetter(4)):
                by_url = {link[1]: link for link in links}
                _, _, hops, cgi_hops, _ = next(iter(by_url.values()))
                admitted = admit(list(by_url), source)
                self.counts.trapped += len(by_url) - len(admitted)
                others = [url for url in admitted if url not in by_url]
                self.add(others, hops, cgi_hops=cgi_hops, found_on=source)
                woken += [
                    server
                    for url in admitted
                    if url in by_url and (server := self._let_wait(by_url[url], quota)) is not None
                ]
        return woken

    def _new_links(self) -> list[_Found]:
        """Those among the links found that were never seen before."""
        found, self._found = self._found, []
        if len(self._recent) > RECENT_LIMIT:
            self._recent.clear()
        marks = np.fromiter((link[0] for link in found), np.uint64, len(found))
        new = [found[position] for position in self.seen.add(marks).tolist()]
        self._fresh += [link[0] for link in new]
        return new

    def _let_wait(self, link: _Found, quota: Callable[[str], int]) -> str | None:
        """Register a page; its server, if that gives it something to do."""
        mark, url, hops, cgi_hops, source = link
        server = server_of(url)
        record = self.server(server)
        if record.found >= quota(server):
            self.counts.over_quota += 1
            return None
        record.found += 1
        self.counts.found += 1
        value = queue_value(fingerprint(source) if source else NO_MARK, cgi_hops, url)
        return server if self._wait(server, queue_key(server, hops, mark), value) else None

    def _wait(self, server: str, key: bytes, value: bytes) -> bool:
        """Put a page into its server's queue; True when that gives the server something to do."""
        self._batch.put(key, value)
        queue = self._queues.get(server)
        if queue is not None:
            had_nothing = not queue.heap and not queue.more
            if not queue.heap and queue.more:
                self._refill(server, queue)  # else the new page would come before those that wait on disk
            heapq.heappush(queue.heap, (key, value))
            return had_nothing
        name = b"w" + server.encode()
        self._batch.put(name, b"")
        if len(self._queues) >= AWAKE_LIMIT or server in self._put_to_sleep:
            self._put_to_sleep.add(server)
            return False
        more = server not in self._emptied and self._db.get(name) is not None
        queue = self._queues[server] = Queue(more=more)
        queue.heap.append((key, value))
        return True

    def awake(self) -> list[str]:
        """Servers that have a queue in memory."""
        return list(self._queues)

    def wake(self) -> list[str]:
        """Let servers that sleep have turns, as many as there is room for; only right after a commit.

        One after the other, round and round: whoever was let sleep again comes after all others.
        """
        woken: list[str] = []
        room = AWAKE_LIMIT - len(self._queues)
        if room <= 0 or not self._has_sleepers:
            return woken
        start = self._wakes_from
        before = takewhile(lambda entry: entry[0] < start, self.scan(b"w", b"w"))
        for key, _ in chain(self.scan(b"w", start), before):
            server = key[1:].decode()
            if server in self._queues or server in self._emptied:
                continue
            if len(woken) == room:
                self._wakes_from = key
                return woken
            self._queues[server] = Queue(more=True)
            woken.append(server)
        self._has_sleepers = False
        return woken

    @property
    def is_crowded(self) -> bool:
        """Servers sleep because so many are awake."""
        return self._has_sleepers and len(self._queues) >= AWAKE_LIMIT

    def let_sleep(self, server: str) -> bool:
        """Let a server make room for others, if none of its pages is under way; only right after a commit."""
        queue = self._queues.get(server)
        if queue is None or queue.taken:
            return False
        del self._queues[server]
        self._has_sleepers = True
        return True

    def take(self, server: str) -> Page | None:
        """The server's next page; on disk it stays waiting until `done`."""
        queue = self._queues.get(server)
        if queue is None:
            return None
        if not queue.heap and queue.more:
            self._refill(server, queue)
        if not queue.heap:
            self.server(server)  # it may leave memory at the next commit
            return None
        key, value = heapq.heappop(queue.heap)
        queue.taken[key] = value
        return page_of(server, key, value)

    def take_new(self, server: str) -> Page | None:
        """The same, but of pages never visited, past those that are due; next to a seed all look alike."""
        queue = self._queues.get(server)
        if queue is None:
            return None
        start = queue_key(server, DUE + 1, 0)
        found = min((entry for entry in queue.heap if entry[0] >= start), default=None)
        if found is None and queue.more:
            on_disk = self.scan(b"q" + server.encode() + b"\0", start)
            found = next((entry for entry in on_disk if entry[0] not in queue.taken), None)
        if found is None:
            return None
        queue.withdraw(*found)
        return page_of(server, *found)

    def is_urgent(self, server: str) -> bool:
        """Does the server's next page come out of its turn? So do seeds."""
        queue = self._queues.get(server)
        if queue is not None and not queue.heap and queue.more:
            self._refill(server, queue)  # as its next turn would
        return queue is not None and bool(queue.heap) and queue.heap[0][0][-9] == URGENT

    def put_back(self, page: Page) -> None:
        """The page waits again."""
        queue = self._queues[page.server]
        key = queue_key(page.server, page.hops, fingerprint(page.url))
        heapq.heappush(queue.heap, (key, queue.taken.pop(key)))

    def take_url(self, url: str) -> Page | None:
        """Take the waiting page of that URL, None when it is not waiting. For replaying the archive."""
        mark = fingerprint(url)
        server = server_of(url)
        queue = self._queues.setdefault(server, Queue(more=True))
        key, value = self._waiting(queue, server, mark)
        if key in queue.taken or value is None:
            return None
        queue.withdraw(key, value)
        return page_of(server, key, value)

    def hasten(self, url: str) -> bool:
        """Let a waiting page come first at its server; False when it does not wait or does already."""
        server, mark = server_of(url), fingerprint(url)
        queue = self._queues.get(server) or Queue()
        key, value = self._waiting(queue, server, mark)
        if value is None or key[-9] == URGENT or key in queue.taken:
            return False
        self._wait(server, queue_key(server, URGENT, mark), value)
        if server in self._queues:
            self._queues[server].withdraw(key, value)
            self._finished.append((server, key))
        self._batch.delete(key)
        return True

    def _waiting(self, queue: Queue, server: str, mark: int) -> tuple[bytes, bytes | None]:
        return queue.find(mark) or self.place_of(server, mark) or (b"", None)

    def plant(self, url: str, places: Callable[[str], Iterable[int]]) -> bool:
        """Let a page that waits by links wait as a seed; False when it does not wait. Before any is taken.

        `places` are those of a server: costly, and asked only of who does not wait as a seed, as most do.
        """
        server, mark = server_of(url), fingerprint(url)
        place = self.place_of(server, mark, (URGENT,)) or self.place_of(server, mark, places(server))
        seed = queue_key(server, URGENT, mark), queue_value(NO_MARK, 0, url)
        if place is not None and place != seed:
            self.let_sleep(server)  # and wake with what is on disk after the next commit
            self._batch.delete(place[0])
            self._batch.put(*seed)
        return place is not None

    def done(self, visit: Visit, hops: int | None = None, care: Upkeep | None = None) -> None:
        """The visit is over and its outcome final; `hops` are the page's own if it did not wait by them.

        `care` is written as it is at the commit: until then, what the visit taught may be added.
        """
        page = visit.page
        mark = fingerprint(page.url)
        key = queue_key(page.server, page.hops, mark)
        self._finished.append((page.server, key))
        source = int.from_bytes(self._queues[page.server].taken[key][:8], "big")
        response = visit.response
        status = response.status if response is not None else 0
        outcome = visit.outcome.value
        hops = page.hops if hops is None else hops
        record = PageRecord(page.url, hops, visit.time, outcome, status, source, page.cgi_hops, care)
        self._batch.delete(key)
        self._closed.append(record)
        accounts.count(self.server(page.server), visit.outcome)
        self.counts.visited += 1
        self.counts.outcomes[outcome] = self.counts.outcomes.get(outcome, 0) + 1
        if response is not None:
            self.counts.bytes += len(response.body)

    def keep_page(self, record: PageRecord) -> None:
        """Write the record of a visited page anew, with the next commit."""
        mark = fingerprint(record.url).to_bytes(8, "big")
        self._batch.put(b"p" + mark, msgspec.msgpack.encode(record))

    def wait_again(self, record: PageRecord, *, first: bool = False, urgent: bool = False) -> bool:
        """Let a visited page wait once more, with the next commit; False when it does already.

        Its record stays until the next visit replaces it: who found what is known all the time. With
        `first` it comes before pages never visited, seeds excepted; an `urgent` one before any other.
        """
        if self.waits(record):
            return False
        server, mark = server_of(record.url), fingerprint(record.url)
        key = queue_key(server, URGENT if urgent else DUE if first else record.hops, mark)
        self._waits_again.add(mark)
        accounts.count(self.server(server), Outcome(record.outcome), -1)
        self.counts.visited -= 1
        # Below zero it can get in one share, never in all together: `layout` gives the first one all counts.
        self.counts.outcomes[record.outcome] = self.counts.outcomes.get(record.outcome, 0) - 1
        self._wait(server, key, queue_value(record.found_on, record.cgi_hops, record.url))
        return True

    def waits(self, record: PageRecord) -> bool:
        """Does a visited page wait, or was it under way since the last commit?"""
        server, mark = server_of(record.url), fingerprint(record.url)
        return bool(mark in self._waits_again or self.place_of(server, mark, {URGENT, DUE, record.hops}))

    def keep_robots(self, server: str, record: RobotsRecord) -> None:
        """Remember a robots.txt over restarts."""
        self._batch.put(b"r" + server.encode(), msgspec.msgpack.encode(record))

    def keep_trap_state(self, name: str, state: bytes) -> None:
        """Remember the traps of a server, or of a domain, over restarts."""
        self._batch.put(trap_key(name), state)

    def keep(self, name: str, value: bytes | None) -> None:
        """Remember something by name with the next commit, or forget it."""
        key = b"m" + name.encode()
        if value is None:
            self._batch.delete(key)
        else:
            self._batch.put(key, value)

    def commit(self, position: tuple[str, int] | None) -> None:
        """Write all changes as one atomic batch; the archive must be flushed up to `position` before."""
        assert not self._found, "settle before you commit"
        for record in self._closed:
            self.keep_page(record)
        for server in self._changed:
            self._batch.put(b"s" + server.encode(), msgspec.msgpack.encode(self._servers[server]))
        self.keep("counts", msgspec.msgpack.encode(self.counts))
        if position is not None:
            self.keep("position", msgspec.msgpack.encode(position))
        self._keep_fresh()
        self.calendar.write_into(self._batch)
        self.sources.write_into(self._batch)
        self._write()
        self._emptied.clear()
        self.calendar.committed()
        for server, key in self._finished:
            self._queues[server].taken.pop(key, None)
        for server in self._changed:
            self._tidy(server)
        self._finished.clear()
        self._closed.clear()
        self._changed.clear()
        self._waits_again.clear()
        self._has_sleepers |= bool(self._put_to_sleep)
        self._put_to_sleep.clear()
        if self.seen.unmerged >= MERGE_AT:
            self._merge_seen()

    def _keep_fresh(self) -> None:
        """Fingerprints not in the seen set's files yet are remembered here."""
        if self._fresh:
            number = int.from_bytes(self._unmerged[-1][1:], "big") + 1 if self._unmerged else 0
            key = b"n" + number.to_bytes(8, "big")
            self._batch.put(key, np.array(self._fresh, np.uint64).tobytes())
            self._unmerged.append(key)
            self._fresh.clear()

    def merge_marks(self, marks: Marks) -> None:
        """Make fingerprints known that came with keys written as they are."""
        self.seen.add(marks)
        self.seen.merge()

    def _merge_seen(self) -> None:
        self.seen.merge()
        for key in self._unmerged:
            self._batch.delete(key)
        self._unmerged.clear()

    def _write(self) -> None:
        batch, self._batch = self._batch, WriteBatch(raw_mode=True)
        self.write(batch)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch of keys as it is; for `layout`, which moves them between shares."""
        try:
            self._db.write(batch)
        except Exception as error:  # rocksdict has no exception class of its own
            raise translated(error, self._path) from None

    def secure(self) -> None:
        """What was committed outlives a loss of power from now on; else the last commits may not."""
        self._db.flush_wal(True)

    def _tidy(self, server: str) -> None:
        """After a commit: what has no work leaves memory."""
        queue = self._queues.get(server)
        if queue is not None:
            queue.trim()
            if not queue.heap and not queue.more and not queue.taken:
                del self._queues[server]
                self._batch.delete(b"w" + server.encode())
                self._emptied.add(server)
        elif len(self._servers) > RECORDS_LIMIT:
            del self._servers[server]

    def close(self) -> None:
        """Leave in peace; what was not committed is not kept."""
        self._batch = WriteBatch(raw_mode=True)
        self.keep("closed", b"yes")
        self._write()
        self._db.close()

    def abandon(self) -> None:
        """Leave without a word, as a killed process would."""
        self._db.close()

    def _refill(self, server: str, queue: Queue) -> None:
        queue.refill(self.scan(b"q" + server.encode() + b"\0", queue.disk_from))
