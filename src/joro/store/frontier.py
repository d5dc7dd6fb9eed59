"""Which pages are known, which were visited, which is next at a server?

In:    links, in batches; visits, as they end.
Out:   the next page of a server, without scanning; counts.
Never: forgets or repeats after a crash what `commit` has written.

The life of a page: *unknown* → `add` → *waiting* (a key in its server's queue) → `take` → *taken*
(only in memory) → `done` → *visited* (a record, its queue key deleted).

Changes gather in memory and reach RocksDB in one atomic batch at `commit`, together with the
position in the archive up to which they hold. The archive is flushed first, so after a crash it may be
ahead of us but never behind; the robot then replays what lies behind that position.

A server's queue in memory always holds every page added since the last commit, and some of those on
disk; at a commit it is trimmed to QUEUE_LIMIT, and it is refilled from disk when used up.

Keys (one RocksDB per process):
    q SERVER \0 HOPS FINGERPRINT → URL        waiting pages; the order in which a server's pages come
    p FINGERPRINT                → PageRecord visited pages
    s SERVER                     → ServerRecord
    r SERVER                     → RobotsRecord
    m NAME                       → position in the archive, counts
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from rocksdict import AccessType, Options, Rdict, ReadOptions, WriteBatch

from joro.errors import CollectionError, DiskFull
from joro.model import Page, Visit
from joro.store.records import Counts, PageRecord, RobotsRecord, ServerRecord
from joro.url import fingerprint, server_of

#: Waiting pages a server keeps in memory; the others stay on disk until these are used up.
QUEUE_LIMIT = 64


class _Queue:
    """A server's next pages: a heap of (key, URL); `more` says that the disk holds further ones."""

    __slots__ = ("disk_from", "heap", "more", "taken")

    def __init__(self, *, more: bool = False, disk_from: bytes = b"") -> None:
        self.heap: list[tuple[bytes, str]] = []
        self.taken: set[bytes] = set()  # handed out, and not yet deleted on disk
        self.more = more
        self.disk_from = disk_from  # no waiting key that is only on disk is smaller

    def trim(self) -> None:
        """Leave to the disk what exceeds QUEUE_LIMIT; only right after a commit."""
        if len(self.heap) <= 2 * QUEUE_LIMIT:
            return
        self.heap.sort()
        first_left = self.heap[QUEUE_LIMIT][0]
        self.disk_from = min(self.disk_from, first_left) if self.more else first_left
        self.more = True
        del self.heap[QUEUE_LIMIT:]


class Frontier:
    """The pages of one process."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._path = directory / "pages"
        self._db = _open(self._path, read_only=read_only)
        self._batch = WriteBatch(raw_mode=True)
        self._queues: dict[str, _Queue] = {}
        self._servers: dict[str, ServerRecord] = {}
        self._changed: set[str] = set()
        self._finished: list[tuple[str, bytes]] = []
        self._seen: set[int] = set()
        packed = self._db.get(b"mcounts")
        self.counts = msgspec.msgpack.decode(packed, type=Counts) if packed else Counts()
        self._load()

    def _load(self) -> None:
        for key, value in self._scan(b"s"):
            self._servers[key[1:].decode()] = msgspec.msgpack.decode(value, type=ServerRecord)
        for key, _ in self._scan(b"p"):
            self._seen.add(int.from_bytes(key[1:], "big"))
        for key, _ in self._scan(b"q"):
            self._seen.add(int.from_bytes(key[-8:], "big"))
            server = key[1:-10].decode()
            if server not in self._queues:
                self._queues[server] = _Queue(more=True, disk_from=key)

    @property
    def position(self) -> tuple[str, int] | None:
        """Archive file and offset up to which everything here holds."""
        packed = self._db.get(b"mposition")
        return msgspec.msgpack.decode(packed, type=tuple[str, int]) if packed else None

    @property
    def waiting(self) -> int:
        """Pages known and not visited."""
        return self.counts.found - self.counts.visited

    def waiting_servers(self) -> list[str]:
        """Servers that have pages waiting."""
        return [server for server, queue in self._queues.items() if queue.heap or queue.more]

    def servers(self) -> dict[str, ServerRecord]:
        """Every server we know, with its record."""
        return self._servers

    def server(self, server: str) -> ServerRecord:
        """The record of a server, written with the next commit."""
        record = self._servers.get(server)
        if record is None:
            record = self._servers[server] = ServerRecord()
        self._changed.add(server)
        return record

    def add(self, urls: Iterable[str], hops: int, *, per_server: int) -> list[str]:
        """Register canonical URLs not known yet; returns the servers that had no page waiting before."""
        woken = []
        for url in urls:
            mark = fingerprint(url)
            if mark in self._seen:
                continue
            server = server_of(url)
            record = self.server(server)
            if record.found >= per_server:
                continue
            self._seen.add(mark)
            record.found += 1
            self.counts.found += 1
            key = _queue_key(server, hops, mark)
            self._batch.put(key, url.encode())
            queue = self._queues.get(server)
            if queue is None:
                queue = self._queues[server] = _Queue()
            if not queue.heap and not queue.more:
                woken.append(server)
            heapq.heappush(queue.heap, (key, url))
        return woken

    def take(self, server: str) -> Page | None:
        """The server's next page; on disk it stays waiting until `done`."""
        queue = self._queues.get(server)
        if queue is None:
            return None
        if not queue.heap and queue.more:
            self._refill(server, queue)
        if not queue.heap:
            return None
        key, url = heapq.heappop(queue.heap)
        queue.taken.add(key)
        return Page(url, key[-9], server)

    def put_back(self, page: Page) -> None:
        """The page waits again."""
        queue = self._queues[page.server]
        key = _queue_key(page.server, page.hops, fingerprint(page.url))
        queue.taken.discard(key)
        heapq.heappush(queue.heap, (key, page.url))

    def take_url(self, url: str) -> Page | None:
        """Take the waiting page of that URL, None when it is not waiting. For replaying the archive."""
        mark = fingerprint(url)
        server = server_of(url)
        queue = self._queues.get(server)
        if queue is None:
            return None
        key = self._waiting_key(queue, server, mark)
        if key is None or key in queue.taken:
            return None
        queue.heap = [entry for entry in queue.heap if entry[0] != key]
        heapq.heapify(queue.heap)
        queue.taken.add(key)
        return Page(url, key[-9], server)

    def _waiting_key(self, queue: _Queue, server: str, mark: int) -> bytes | None:
        for key, _ in queue.heap:
            if key.endswith(mark.to_bytes(8, "big")):
                return key
        keys = (_queue_key(server, hops, mark) for hops in range(256))
        return next((key for key in keys if self._db.get(key) is not None), None)

    def done(self, visit: Visit) -> None:
        """The visit is over and its outcome final."""
        page = visit.page
        mark = fingerprint(page.url)
        key = _queue_key(page.server, page.hops, mark)
        self._finished.append((page.server, key))
        status = visit.response.status if visit.response else 0
        record = PageRecord(page.url, page.hops, visit.time, visit.outcome.value, status)
        self._batch.delete(key)
        self._batch.put(b"p" + mark.to_bytes(8, "big"), msgspec.msgpack.encode(record))
        self.server(page.server).visited += 1
        self.counts.visited += 1
        self.counts.outcomes[visit.outcome.value] = self.counts.outcomes.get(visit.outcome.value, 0) + 1
        if visit.response is not None:
            self.counts.bytes += len(visit.response.body)

    def visited(self, url: str) -> PageRecord | None:
        """The record of a visited page."""
        packed = self._db.get(b"p" + fingerprint(url).to_bytes(8, "big"))
        return msgspec.msgpack.decode(packed, type=PageRecord) if packed else None

    def robots(self, server: str) -> RobotsRecord | None:
        """The server's robots.txt as last read."""
        packed = self._db.get(b"r" + server.encode())
        return msgspec.msgpack.decode(packed, type=RobotsRecord) if packed else None

    def keep_robots(self, server: str, record: RobotsRecord) -> None:
        """Remember a robots.txt over restarts."""
        self._batch.put(b"r" + server.encode(), msgspec.msgpack.encode(record))

    def commit(self, position: tuple[str, int] | None) -> None:
        """Write all changes as one atomic batch; the archive must be flushed up to `position` before."""
        for server in self._changed:
            self._batch.put(b"s" + server.encode(), msgspec.msgpack.encode(self._servers[server]))
        self._batch.put(b"mcounts", msgspec.msgpack.encode(self.counts))
        if position is not None:
            self._batch.put(b"mposition", msgspec.msgpack.encode(position))
        batch, self._batch = self._batch, WriteBatch(raw_mode=True)
        try:
            self._db.write(batch)
        except Exception as error:  # rocksdict has no exception class of its own
            raise _translated(error, self._path) from None
        for server, key in self._finished:
            self._queues[server].taken.discard(key)
        for server in self._changed:
            self._settle(server)
        self._finished.clear()
        self._changed.clear()

    def _settle(self, server: str) -> None:
        queue = self._queues.get(server)
        if queue is None:
            return
        queue.trim()
        if not queue.heap and not queue.more and not queue.taken:
            del self._queues[server]

    def close(self) -> None:
        """Leave RocksDB; what was not committed is not kept."""
        self._db.close()

    def _refill(self, server: str, queue: _Queue) -> None:
        prefix = b"q" + server.encode() + b"\0"
        for key, value in self._scan(prefix, queue.disk_from):
            if key in queue.taken:
                continue
            if len(queue.heap) == QUEUE_LIMIT:
                queue.disk_from = key
                return
            queue.heap.append((key, value.decode()))
        queue.more = False

    def _scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        options = ReadOptions()
        options.set_iterate_upper_bound(prefix[:-1] + bytes([prefix[-1] + 1]))
        cursor = self._db.iter(options)
        cursor.seek(start or prefix)
        while cursor.valid():
            yield cursor.key(), cursor.value()
            cursor.next()


def _queue_key(server: str, hops: int, mark: int) -> bytes:
    """Pages near the seeds first; among equals in fingerprint order, which spreads over a site's parts."""
    return b"q%b\0%c%b" % (server.encode(), hops, mark.to_bytes(8, "big"))


def _open(path: Path, *, read_only: bool) -> Rdict:
    options = Options(raw_mode=True)
    options.create_if_missing(not read_only)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(1_000_000)
    access = AccessType.read_only() if read_only else AccessType.read_write()
    try:
        return Rdict(str(path), options=options, access_type=access)
    except Exception as error:  # rocksdict has no exception class of its own
        raise _translated(error, path) from None


def _translated(error: Exception, path: Path) -> Exception:
    text = str(error)
    if "No space left" in text or "Disk quota" in text or "File too large" in text:
        return DiskFull(
            f"no room left on the disk of {path}", remedy="make room, then run the same command again"
        )
    if "does not exist" in text or "No such file" in text:
        return CollectionError(f"{path} holds no frontier yet", remedy="run: joro crawl SEED")
    return CollectionError(
        f"the frontier in {path} cannot be used ({text})", remedy="check the disk and permissions"
    )
