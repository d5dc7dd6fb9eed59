"""How do links reach the robot whose server they lead to?

In:    links to servers of other shares.
Out:   the same links, in the other robot's frontier: none lost, none twice, no lock.
Never: hands out a batch before the visit that found its links is committed, or forgets one before the
       reader has committed it.
Paper: S3 2.4, numbered batches: a writer closes batch n before n+1 opens, a reader takes closed ones only.

A batch is a file `exchange/FROM-TO/NUMBER`. It begins its life inside the writer's own commit, becomes a
file by rename, and ends when the reader has committed both its links and its number. A crash on either
side at worst brings a file back whose number the reader knows already. One that a disk has damaged, by its
checksum, is told, counts as read, for else nobody would ever be done, and stays there as `NUMBER.damaged`.
"""

from __future__ import annotations

import logging
import math
import os
import zlib
from collections import defaultdict
from pathlib import Path

import msgspec

from joro.coordinate.beat import Link
from joro.coordinate.mail import sound
from joro.coordinate.share import Share
from joro.model import Visit
from joro.store.durable import write_whole
from joro.store.frontier import Frontier
from joro.url import server_of

#: Servers of which it is remembered whose they are: most links lead to the same few.
REMEMBERED = 20_000

log = logging.getLogger(__name__)

#: Begins a batch, before four bytes of checksum; MessagePack never begins so. Earlier versions had neither.
_SEAL = b"\xc1"
_SEALED_FROM = len(_SEAL) + 4

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Link])


class Exchange:
    """One robot's letter boxes, and its fixed share (see `post.Neighbours`)."""

    failure: Exception | None = None
    word = ""
    open_until = math.inf
    wants_commit = False
    is_parting = False

    def __init__(self, directory: Path, share: Share, frontier: Frontier) -> None:
        self._directory = directory
        self._share = share
        self._frontier = frontier
        self._ours: dict[str, bool] = {}
        self._found: defaultdict[int, list[Link]] = defaultdict(list)
        self._closing: dict[str, bytes] = {}  # batches in the commit under way
        self._taken: list[Path] = []  # files whose links are in the commit under way
        self._damaged: list[Path] = []  # those of them that gave none
        self.sent = _numbers(frontier, "sent ", share)
        self.read = _numbers(frontier, "read ", share)
        for other in self._others():
            self._box(share.number, other).mkdir(parents=True, exist_ok=True)
            self._box(other, share.number).mkdir(parents=True, exist_ok=True)
        self._closing = frontier.kept("out ")
        self.after_commit()

    @property
    def alone(self) -> bool:
        return self._share.count == 1

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be sent."""
        return not any(self._found.values()) and not self._closing

    def is_ours(self, url: str) -> bool:
        """Does the page's server belong to this share?"""
        server = server_of(url)
        ours = self._ours.get(server)
        if ours is None:
            if len(self._ours) >= REMEMBERED:
                self._ours.clear()
            ours = self._ours[server] = self._share.holds(server)
        return ours

    def stretch(self, server: str) -> float:
        """Shares are of whole servers."""
        return 1.0

    def may_enter(self, server: str) -> bool:
        """Also one that is visited on behalf of another, for its robots.txt (see `fetch.guests`)."""
        return True

    def sow(self, seeds: list[str]) -> list[str]:
        """Those of our share; everybody is given all seeds."""
        return [url for url in seeds if self.is_ours(url)]

    def offer(self, link: Link) -> None:
        """Let a link go with the next batch to its robot."""
        self._found[self._share.owner(server_of(link.url))].append(link)

    def note(self, visit: Visit, *, is_page: bool) -> None:
        """Nobody wants to know."""

    def start(self) -> None:
        """Letter boxes are always open."""

    async def leave(self) -> None:
        """They stay open."""

    def before_commit(self) -> list[Link]:
        """Put what was offered into the commit; the links that have arrived, to be added before it."""
        for other, links in self._found.items():
            if links:
                self.sent[other] += 1
                name = f"out {other} {self.sent[other]:010d}"
                self._closing[name] = _sealed(links)
                self._frontier.keep(name, self._closing[name])
                self._frontier.keep(f"sent {other}", str(self.sent[other]).encode())
        self._found.clear()
        return [link for other in self._others() for link in self._receive(other)]

    def after_commit(self) -> list[str]:
        """Make files of the batches just committed, and remove those just read.

        The commit must be on the disk before others see that: after a loss of power they would know more of
        our numbers than we do, and take what we send next for what they have read.

        None of the waits for the disk can be left out: one for the commit, whatever it sends and has read;
        two for each batch, whose content and name must both last before the frontier forgets it, and names
        lie in one folder for each reader. With 8 robots these are 15 in a commit, 4 ms a second on an SSD.
        """
        if self._closing or self._taken:
            self._frontier.secure()
        for name, batch in self._closing.items():
            _, other, number = name.split()
            write_whole(self._box(self._share.number, int(other)) / number, batch)
            self._frontier.keep(name, None)
        self._closing.clear()
        for path in self._damaged:
            path.replace(_set_aside(path))
        self._damaged.clear()
        for path in self._taken:
            path.unlink(missing_ok=True)
        self._taken.clear()
        return []

    def _receive(self, other: int) -> list[Link]:
        links: list[Link] = []
        for path in self._arrived(other):
            if int(path.name) > self.read[other]:
                links += self._links_in(path)
                self.read[other] = int(path.name)
            self._taken.append(path)
        self._frontier.keep(f"read {other}", str(self.read[other]).encode())
        return links

    def _links_in(self, path: Path) -> list[Link]:
        try:
            return _unsealed(path.read_bytes())
        except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors, and so is bad UTF-8
            log.warning(
                "the links in %s are lost (%s) until their pages are read again; it is kept as %s",
                path,
                error,
                _set_aside(path).name,
            )
            self._damaged.append(path)
            return []

    def has_mail(self) -> bool:
        """Is there a batch that was not read yet?"""
        return any(self._arrived(other) for other in self._others())

    def _arrived(self, other: int) -> list[Path]:
        box = self._box(other, self._share.number)
        return [box / name for name in sorted(os.listdir(box)) if name.isdecimal()]

    def _box(self, writer: int, reader: int) -> Path:
        return self._directory / f"{writer}-{reader}"

    def _others(self) -> list[int]:
        return [number for number in range(self._share.count) if number != self._share.number]


def _numbers(frontier: Frontier, prefix: str, share: Share) -> dict[int, int]:
    kept = {int(name.split()[1]): int(value) for name, value in frontier.kept(prefix).items()}
    return {number: kept.get(number, 0) for number in range(share.count)}


def _sealed(links: list[Link]) -> bytes:
    packed = _encoder.encode(links)
    return _SEAL + zlib.crc32(packed).to_bytes(4, "big") + packed


def _unsealed(batch: bytes) -> list[Link]:
    """The links of a batch, if they are those that were sent: these were sound, and are not looked at again.

    Where no checksum vouches for them they are: three of four flipped bits leave something that can be read.
    """
    if not batch.startswith(_SEAL):
        return sound(_decoder.decode(batch))
    packed = memoryview(batch)[_SEALED_FROM:]
    if zlib.crc32(packed) != int.from_bytes(batch[len(_SEAL) : _SEALED_FROM], "big"):
        raise ValueError("its checksum is another one")
    return _decoder.decode(packed)


def _set_aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")
