"""What does the robot remember of the pages and servers it watches?

In:    what `watcher` saw.
Out:   the same at the next visit, be it in another process.
Never: decides anything; keeps in memory what is committed.
"""

from __future__ import annotations

import math

import msgspec

from joro.discover.feeds import Declared
from joro.discover.trust import Trust
from joro.discover.watch import Watched, is_source
from joro.store.sources import Sources


class Sight(msgspec.Struct, array_like=True):
    """What watching remembers of a page."""

    watched: Watched | None = None  # as a source, or as a front page on trial
    hops: int = 0  # links from a seed to a page that waits out of its turn, or to where a source was named
    depth: int = 0  # indexes that led to a source; redirects too, where an older version met it
    is_guess: bool = False  # nobody named it
    announced: float = 0.0  # when a source last told that the page, no source itself, has changed
    redirects: int = 0  # in a row that led there
    deaf_until: float = 0.0  # what is announced before is not heard at once: last time it was for nothing

    @property
    def is_source(self) -> bool:
        """Is it read for its own sake, and no page for people?"""
        return is_source(self.watched)


class Lookout(msgspec.Struct, array_like=True):
    """What watching remembers of a server."""

    declared: Declared = msgspec.field(default_factory=Declared)
    trust: Trust = msgspec.field(default_factory=Trust)
    sitemaps: int = 0
    has_guessed: bool = False


NOTHING = Sight()
_encode = msgspec.msgpack.Encoder().encode
_decode_sight = msgspec.msgpack.Decoder(Sight).decode
_decode_lookout = msgspec.msgpack.Decoder(Lookout).decode


def state_of(key: bytes, packed: bytes) -> Sight | Lookout:
    """What is kept under a key of `Sources`; a `ValueError` says what is wrong with it."""
    if key[:1] != b"f":
        return _decode_lookout(packed)
    sight = _decode_sight(packed)
    dates = [sight.announced, sight.deaf_until]
    if (watched := sight.watched) is not None:
        dates += [watched.due_at, watched.read_at, watched.looked_at]
    if any(map(math.isnan, dates)):  # no calendar can hold it
        raise ValueError("a date that is no number")
    return sight


class Sights:
    """Sights and lookouts of one robot, in its frontier. What is got is a copy: keep what changed."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def of(self, url: str) -> Sight:
        """What is known of a page."""
        packed = self._sources.of_page(url)
        return _decode_sight(packed) if packed is not None else NOTHING

    def keep(self, url: str, sight: Sight) -> None:
        """Remember a page, if there is anything to remember."""
        if sight != NOTHING:
            self._sources.keep_page(url, _encode(sight))
        elif self._sources.of_page(url) is not None:
            self._sources.keep_page(url, None)

    def lookout(self, server: str) -> Lookout:
        """What is known of a server."""
        packed = self._sources.of_server(server)
        return _decode_lookout(packed) if packed is not None else Lookout()

    def keep_lookout(self, server: str, lookout: Lookout) -> None:
        """Remember a server; one of which nothing is new is not written again."""
        packed = _encode(lookout)
        if packed != self._sources.of_server(server):
            self._sources.keep_server(server, packed)
