"""What is written down about pages and servers, as of the last commit?

In:    a frontier's database.
Out:   records by name, by fingerprint, one after another, or a sample of them.
Never: changes anything; sees what waits in memory for the next commit. `frontier` has the keys.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec
from rocksdict import Rdict, ReadOptions

from joro.model import Page
from joro.store import upkeep
from joro.store.queue import page_of, queue_key
from joro.store.records import PageRecord, RobotsRecord, ServerRecord
from joro.store.seen import Marks
from joro.url import fingerprint, server_of


class Queued(NamedTuple):
    """A page that waits."""

    page: Page
    found_on: int  # fingerprint of the page that linked here; 0: a seed
    before: int  # pages of its server that come first


class Written:
    """One RocksDB, read."""

    _db: Rdict

    @property
    def position(self) -> tuple[str, int] | None:
        """Archive file and offset up to which everything here holds."""
        packed = self._db.get(b"mposition")
        return msgspec.msgpack.decode(packed, type=tuple[str, int]) if packed else None

    def all_servers(self) -> Iterator[tuple[str, ServerRecord]]:
        """Every server we know, with its record as of the last commit."""
        for key, value in self.scan(b"s"):
            yield key[1:].decode(), msgspec.msgpack.decode(value, type=ServerRecord)

    def visited(self, mark: int) -> PageRecord | None:
        """The record of a visited page, by the fingerprint of its URL."""
        packed = self._db.get(b"p" + mark.to_bytes(8, "big"))
        return msgspec.msgpack.decode(packed, type=PageRecord) if packed else None

    def all_visited(self) -> Iterator[PageRecord]:
        """The record of every visited page, as of the last commit."""
        for _, packed in self.scan(b"p"):
            yield msgspec.msgpack.decode(packed, type=PageRecord)

    def sample(self, pages: int) -> list[PageRecord]:
        """So many visited pages, anywhere: keys are fingerprints, so neighbours have nothing in common."""
        start = b"p" + secrets.token_bytes(8)
        found = list(islice(self.scan(b"p", start), pages))
        found += islice(self.scan(b"p"), pages - len(found))
        return [msgspec.msgpack.decode(packed, type=PageRecord) for packed in dict(found).values()]

    def records(self, marks: Marks) -> list[PageRecord | None]:
        """The records of visited pages by their fingerprints, read in one go."""
        return upkeep.recall(self._db, marks)

    def queued(self, url: str) -> Queued | None:
        """The waiting page of that URL, as of the last commit; reads its server's queue up to there."""
        server, mark = server_of(url), fingerprint(url).to_bytes(8, "big")
        for before, (key, value) in enumerate(self.scan(b"q" + server.encode() + b"\0")):
            if key.endswith(mark):
                return Queued(page_of(server, key, value), int.from_bytes(value[:8], "big"), before)
        return None

    def place_of(
        self, server: str, mark: int, places: Iterable[int] = range(256)
    ) -> tuple[bytes, bytes] | None:
        """The key and value of a waiting page in its server's queue, as of the last commit."""
        for place in places:
            key = queue_key(server, place, mark)
            found: bytes | None = self._db.get(key)
            if found is not None:
                return key, found
        return None

    def places(self, server: str) -> list[int]:
        """At how many links from a seed pages of a server wait, as of the last commit; few numbers."""
        prefix, found = b"q" + server.encode() + b"\0", list[int]()
        while not found or found[-1] < 255:
            start = queue_key(server, found[-1] + 1 if found else 0, 0)
            key, _ = next(self.scan(prefix, start), (b"", b""))
            if not key:
                break
            found.append(key[-9])
        return found

    def robots(self, server: str) -> RobotsRecord | None:
        """The server's robots.txt as last read."""
        packed = self._db.get(b"r" + server.encode())
        return msgspec.msgpack.decode(packed, type=RobotsRecord) if packed else None

    def trap_state(self, name: str) -> bytes | None:
        """What is known about the traps of a server, or of a domain."""
        state: bytes | None = self._db.get(trap_key(name))
        return state

    def kept(self, prefix: str) -> dict[str, bytes]:
        """What is remembered under names that start so, as of the last commit."""
        return {key[1:].decode(): value for key, value in self.scan(b"m" + prefix.encode())}

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys that begin so, from `start` on, with their values, as of the last commit."""
        options = ReadOptions()
        options.set_iterate_upper_bound(prefix[:-1] + bytes([prefix[-1] + 1]))
        cursor = self._db.iter(options)
        cursor.seek(start or prefix)
        while cursor.valid():
            yield cursor.key(), cursor.value()
            cursor.next()


def trap_key(name: str) -> bytes:
    """Where the state of a server's traps is kept, or of a domain's (`*.example`), which is no server's."""
    return (b"m" if name.startswith("*") else b"t") + name.encode()
