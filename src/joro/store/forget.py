"""How does the frontier forget pages, so that it knows no more of them than of those never found?

In:    a share of the frontier nobody works on, and which pages, servers and captures are gone.
Out:   the share without a word about them, on disk too, nor their fingerprints among those seen: orders keep
       robots away, and when these are lifted, links and seeds lead there as to any page.
Never: touches other pages, except that one whose capture was erased is visited as if for the first time,
       because "as before" would speak of what is no longer there. Leaves counts and pages in disagreement:
       all changes are one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from rocksdict import WriteBatch

from joro.model import Outcome
from joro.store import accounts
from joro.store.frontier import Frontier
from joro.store.queue import DUE, URGENT
from joro.store.records import PageRecord, ServerRecord, Upkeep
from joro.store.rocks import opened
from joro.store.seen import SeenSet
from joro.store.written import trap_key
from joro.url import fingerprint, host_of, registrable_domain, server_of

#: What is kept under the name of a server: its record, that it has pages waiting, robots.txt, traps, sources.
_OF_SERVER = (b"s", b"w", b"r", b"t", b"d")

#: Of a page, or of a server by the URL of its root: must nothing be left of it?
Gone = Callable[[str], bool]
#: Was the capture of that moment, of a page that stays, erased?
CaptureGone = Callable[[str, float], bool]
#: Takes back what a server's record counts of a page that is kept fresh, and that waits for a visit or not.
Release = Callable[[ServerRecord, Upkeep, bool], None]


def forget(
    directory: Path, page_gone: Gone, server_gone: Gone, capture_gone: CaptureGone, release: Release
) -> int:
    """Forget pages and servers in one share; how many pages that were."""
    frontier = Frontier(directory)
    forgetting = _Forgetting(frontier, release)
    forgetting.waiting_pages(page_gone)
    forgetting.visited_pages(page_gone, capture_gone)
    forgetting.servers(server_gone)
    is_changed = forgetting.write()
    if frontier.was_closed:
        frontier.close()
    else:
        frontier.abandon()  # the robot must still learn that it was killed
    if forgetting.marks:
        SeenSet(directory / "seen").forget(np.array(list(forgetting.marks), np.uint64))
    if is_changed:
        press(directory / "pages")
    return len(forgetting.marks)


def press(database: Path) -> None:
    """Leave nothing of deleted keys in any file; what RocksDB noted about its work names keys, too."""
    for _ in range(2):  # the second opening writes a manifest that knows of the pressed files only
        db = opened(database, read_only=False)
        db.flush()
        db.compact_range(None, None)
        db.close()
    for path in database.glob("LOG*"):
        path.unlink()


class _Forgetting:
    """One batch of changes."""

    def __init__(self, frontier: Frontier, release: Release) -> None:
        self._frontier = frontier
        self._release = release
        self._batch = WriteBatch(raw_mode=True)
        self._waiting: set[int] = set()
        self._due: set[int] = set()  # those of them that were visited before
        self._touched: set[str] = set()
        self.marks: set[int] = set()  # of pages forgotten

    def waiting_pages(self, is_gone: Gone) -> None:
        for key, value in self._frontier.scan(b"q"):
            url = value[9:].decode()
            if not is_gone(url):
                continue
            mark = fingerprint(url)
            self._waiting.add(mark)
            self._batch.delete(key)
            if self._frontier.visited(mark) is None:
                self._forget(url, mark)
            elif key[-9] in (URGENT, DUE):
                self._due.add(mark)
                server = self._frontier.server(server_of(url))
                server.due = max(server.due - 1, 0)

    def visited_pages(self, is_gone: Gone, capture_gone: CaptureGone) -> None:
        decode = msgspec.msgpack.Decoder(PageRecord).decode
        for key, packed in self._frontier.scan(b"p"):
            record = decode(packed)
            care = record.upkeep
            if is_gone(record.url):
                self._batch.delete(key)
                self._uncount_visit(record)
                mark = fingerprint(record.url)
                if care is not None:
                    self._release(self._frontier.server(server_of(record.url)), care, mark in self._due)
                self._forget(record.url, mark)
            elif care is not None and care.body and capture_gone(record.url, care.captured_at):
                care.body, care.captured_at, care.text, care.etag, care.modified = "", 0.0, 0, "", ""
                self._batch.put(key, msgspec.msgpack.encode(record))

    def _uncount_visit(self, record: PageRecord) -> None:
        if fingerprint(record.url) in self._waiting:
            return  # it was taken back when the page began to wait again
        counts = self._frontier.counts
        accounts.count(self._frontier.server(server_of(record.url)), Outcome(record.outcome), -1)
        counts.visited -= 1
        counts.outcomes[record.outcome] = counts.outcomes.get(record.outcome, 0) - 1

    def _forget(self, url: str, mark: int) -> None:
        server = server_of(url)
        self._batch.delete(b"f%b\0\0%b" % (server.encode(), mark.to_bytes(8, "big")))
        self._frontier.server(server).found -= 1
        self._frontier.counts.found -= 1
        self._touched.add(server)
        self.marks.add(mark)

    def servers(self, is_gone: Gone) -> None:
        for server in self._touched:
            self._batch.put(b"s" + server.encode(), msgspec.msgpack.encode(self._frontier.server(server)))
            self._forget_traps(server)
        for server in {key[1:].decode() for kind in _OF_SERVER for key, _ in self._frontier.scan(kind)}:
            if is_gone(server + "/"):
                self._touched.add(server)
                self._forget_traps(server)
                for kind in _OF_SERVER:
                    self._batch.delete(kind + server.encode())
                for key, _ in self._frontier.scan(b"f" + server.encode() + b"\0"):
                    self._batch.delete(key)

    def _forget_traps(self, server: str) -> None:
        """What is known of traps knows paths and names; they are soon learned again."""
        self._batch.delete(trap_key(server))
        self._batch.delete(trap_key("*." + registrable_domain(host_of(server + "/"))))

    def write(self) -> bool:
        """All or nothing; whether there was anything to write."""
        if not len(self._batch):
            return False
        gone = np.array(list(self.marks), np.uint64)
        for key, packed in self._frontier.scan(b"n"):  # seen, and not yet in the files of those seen
            marks = np.frombuffer(packed, np.uint64)
            self._batch.put(key, marks[~np.isin(marks, gone)].tobytes())
        self._batch.put(b"mcounts", msgspec.msgpack.encode(self._frontier.counts))
        self._frontier.write(self._batch)
        return True
