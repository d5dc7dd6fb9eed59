"""In which order do a server's pages come, and which of them are in memory?

Out:   queues of waiting pages, and how a waiting page is spelled as key and value.
Never: touches the disk; `frontier` does.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from joro.model import Page

#: Waiting pages a server keeps in memory; the others stay on disk until these are used up.
QUEUE_LIMIT = 16
#: Where pages wait that are in a hurry, and those to be visited again: among pages so many links from a seed.
URGENT, DUE = 0, 1
#: "Found on": a seed was found on no page.
NO_MARK = 0


class Queue:
    """A server's next pages: a heap of (key, value); `more` says that the disk holds further ones."""

    __slots__ = ("disk_from", "heap", "more", "taken")

    def __init__(self, *, more: bool = False) -> None:
        self.heap: list[tuple[bytes, bytes]] = []
        self.taken: dict[bytes, bytes] = {}  # handed out, and not yet deleted on disk
        self.more = more
        self.disk_from = b""  # no waiting key that is only on disk is smaller

    def find(self, mark: int) -> tuple[bytes, bytes] | None:
        """The page with this fingerprint, among those in memory."""
        ending = mark.to_bytes(8, "big")
        for entry in self.heap:
            if entry[0].endswith(ending):
                return entry
        return None

    def withdraw(self, key: bytes, value: bytes) -> None:
        """A waiting page is taken out of its turn; on disk it stays until the next commit."""
        self.heap = [entry for entry in self.heap if entry[0] != key]
        heapq.heapify(self.heap)
        self.taken[key] = value

    def refill(self, on_disk: Iterable[tuple[bytes, bytes]]) -> None:
        """Bring into memory, where nothing is left, what waits on disk from `disk_from` on."""
        for key, value in on_disk:
            if key in self.taken:
                continue
            if len(self.heap) == QUEUE_LIMIT:
                self.disk_from = key
                return
            self.heap.append((key, value))
        self.more = False

    def trim(self) -> None:
        """Leave to the disk what exceeds QUEUE_LIMIT; only right after a commit."""
        if len(self.heap) <= 2 * QUEUE_LIMIT:
            return
        self.heap.sort()
        first_left = self.heap[QUEUE_LIMIT][0]
        self.disk_from = min(self.disk_from, first_left) if self.more else first_left
        self.more = True
        del self.heap[QUEUE_LIMIT:]


def page_of(server: str, key: bytes, value: bytes) -> Page:
    """The page that waits under this key."""
    return Page(value[9:].decode(), key[-9], server, value[8])


def queue_key(server: str, hops: int, mark: int) -> bytes:
    """Pages near the seeds first; among equals in fingerprint order, which spreads over a site's parts."""
    return b"q%b\0%c%b" % (server.encode(), hops, mark.to_bytes(8, "big"))


def queue_value(found_on: int, cgi_hops: int, url: str) -> bytes:
    """What is remembered of a waiting page."""
    return b"%b%c%b" % (found_on.to_bytes(8, "big"), cgi_hops, url.encode())
