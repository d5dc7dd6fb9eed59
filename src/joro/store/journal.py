"""What did a commit change, server by server, and what do many such changes come to?

In:    the keys that are put and deleted.
Out:   the same, sorted by the server they belong to; the sum of a server's whole history.
Never: knows what is in a value, but for the URL in a page's record, which tells its server.

Only keys from which a server can be restored are told: waiting and visited pages, records, robots.txt, traps
and sources. That a server has pages waiting, when pages are due, counts and fingerprints follow from these.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from rocksdict import WriteBatch

from joro.url import server_of

#: Kinds of keys that are told.
KINDS = frozenset(b"qpsrtfd")
_BY_PAGE = frozenset(b"qf")  # SERVER 0 HOPS MARK
_VISITED = ord("p")

#: Keys and their values; None where one went.
Keys = list[tuple[bytes, bytes | None]]


class _Url(msgspec.Struct, array_like=True):
    """The beginning of a `PageRecord`."""

    url: str


_decode = msgspec.msgpack.Decoder(_Url).decode


class Recorded:
    """A batch that remembers what it changes; the last change of a key counts."""

    def __init__(self) -> None:
        self.inner = WriteBatch(raw_mode=True)
        self.changes: dict[bytes, bytes | None] = {}

    def __len__(self) -> int:
        """Changes, also those that are not told."""
        return len(self.inner)

    def put(self, key: bytes, value: bytes) -> None:
        """As a WriteBatch does."""
        self.inner.put(key, value)
        if key[0] in KINDS:
            self.changes[key] = value

    def delete(self, key: bytes) -> None:
        """As a WriteBatch does."""
        self.inner.delete(key)
        if key[0] in KINDS:
            self.changes[key] = None


def by_server(changes: dict[bytes, bytes | None]) -> dict[str, Keys]:
    """What changed about each server. Records of visited pages are never deleted but with their server."""
    sorted_out: dict[str, Keys] = {}
    for key, value in changes.items():
        if key[0] == _VISITED:
            if value is None:
                continue
            server = server_of(_decode(value).url)
        else:
            server = (key[1:-10] if key[0] in _BY_PAGE else key[1:]).decode()
        sorted_out.setdefault(server, []).append((key, value))
    return sorted_out


def fold(history: Iterable[tuple[bool, Keys]]) -> tuple[dict[bytes, bytes], list[Keys]]:
    """What a server's owners in turn left behind; and apart from it, what was told late."""
    state: dict[bytes, bytes] = {}
    late: list[Keys] = []
    for is_late, keys in history:
        if is_late:
            late.append(keys)
            continue
        for key, value in keys:
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
    return state, late
