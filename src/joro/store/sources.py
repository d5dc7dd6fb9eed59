"""What is remembered of watched sources, of announced pages, and of the servers they lie on?

In:    packed states, by page or by server; what is in them is the robot's business.
Out:   the same, also before they are committed.
Never: holds anything in memory but what changed since the last commit; writes by itself: the frontier puts it
       into the batch that writes the visits.

Keys:
    f SERVER 0 0 MARK → state of a page, spelled as waiting pages are
    d SERVER          → state of a server
"""

from __future__ import annotations

from rocksdict import Rdict, WriteBatch

from joro.url import fingerprint, server_of


class Sources:
    """States of one share, kept beside its pages."""

    def __init__(self, db: Rdict) -> None:
        self._db = db
        self._changed: dict[bytes, bytes | None] = {}

    def of_page(self, url: str) -> bytes | None:
        """What is remembered of a page."""
        return self._get(_page_key(url))

    def keep_page(self, url: str, state: bytes | None) -> None:
        """Remember this of a page from the next commit on, or nothing."""
        self._changed[_page_key(url)] = state

    def of_server(self, server: str) -> bytes | None:
        """What is remembered of a server."""
        return self._get(b"d" + server.encode())

    def keep_server(self, server: str, state: bytes) -> None:
        """Remember this of a server from the next commit on."""
        self._changed[b"d" + server.encode()] = state

    def keep_key(self, key: bytes, state: bytes) -> None:
        """Remember a state under its key from the next commit on; for `handover`, to whom others sent it."""
        self._changed[key] = state

    def has_key(self, key: bytes) -> bool:
        """Is anything remembered under this key?"""
        return self._get(key) is not None

    def write_into(self, batch: WriteBatch) -> None:
        """Add all changes to the batch that commits the pages."""
        for key, state in self._changed.items():
            if state is None:
                batch.delete(key)
            else:
                batch.put(key, state)
        self._changed.clear()

    def _get(self, key: bytes) -> bytes | None:
        if key in self._changed:
            return self._changed[key]
        state: bytes | None = self._db.get(key)
        return state


def _page_key(url: str) -> bytes:
    return b"f%b\0\0%b" % (server_of(url).encode(), fingerprint(url).to_bytes(8, "big"))
