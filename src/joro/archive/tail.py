"""What does the index of a WARC say that is being written right now?

In:    `NAME.cdxj.open`: whole lines in writing order, perhaps a torn one, growing while we look.
Out:   the lines that begin with something, sorted.
Never: keeps lines in memory: 20 bytes stand for each.

Whoever asks once gets a search through the file. Whoever asks again will go on asking: from then on, what was
added since is read, and each line's SURT remembered by its hash, so that the answer does not depend on how
long the file has grown.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from joro.archive.runs import Table

_PLACE = np.dtype([("mark", "<u8"), ("offset", "<u8"), ("length", "<u4")])


class Tail:
    """The index of an open WARC, which we keep hold of: it may be closed and deleted meanwhile."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self._lock = threading.Lock()
        self._asked = False
        self._known = 0  # bytes whose lines are in `_pieces`
        self._pieces: list[npt.NDArray[np.void]] = []  # sorted by mark, each at most half of the one before

    def beginning(self, prefix: bytes, start: bytes = b"") -> list[bytes]:
        """The whole lines that begin with `prefix` and are not below `start`, sorted."""
        surt, blank, _ = prefix.partition(b" ")
        if blank and self._asked:
            with self._lock:
                self._catch_up()
            found = self._remembered(surt)
        else:
            self._asked = True
            found = containing(self._content(), b"\n" + prefix)
        return sorted(line for line in found if line >= start and line.startswith(prefix))

    def containing(self, text: bytes) -> list[bytes]:
        """The whole lines that have `text` anywhere."""
        return list(containing(self._content(), text))

    def _content(self) -> bytes:
        """All whole lines, each with a line end before and behind it."""
        content = _read(self._file, 0, os.fstat(self._file).st_size)
        return b"\n" + content[: content.rfind(b"\n") + 1]

    def _catch_up(self) -> None:
        size = os.fstat(self._file).st_size
        if size < self._known:  # a full disk made the writer take back its last flush
            self._known, self._pieces = 0, []
        content = _read(self._file, self._known, size - self._known)
        lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
        if not lines:
            return
        places = np.empty(len(lines), _PLACE)
        places["mark"] = [xxh3_64_intdigest(line.partition(b" ")[0]) for line in lines]
        places["length"] = [len(line) for line in lines]
        ends = np.cumsum(places["length"], dtype=np.uint64) + np.uint64(self._known)
        places["offset"] = ends - places["length"]
        self._known = int(ends[-1])
        self._pieces.append(np.sort(places, order="mark"))
        while len(self._pieces) > 1 and len(self._pieces[-2]) < 2 * len(self._pieces[-1]):
            last, before = self._pieces.pop(), self._pieces.pop()
            self._pieces.append(np.sort(np.concatenate([before, last]), order="mark"))

    def _remembered(self, surt: bytes) -> Iterator[bytes]:
        mark = np.uint64(xxh3_64_intdigest(surt))
        for piece in list(self._pieces):
            first, behind = (int(np.searchsorted(piece["mark"], mark, side)) for side in ("left", "right"))
            for place in piece[first:behind]:
                yield _read(self._file, int(place["offset"]), int(place["length"]))


def containing(content: Table, text: bytes) -> Iterator[bytes]:
    """The whole lines with `text` in them: eight times as fast as looking at each line.

    A text that begins with a line end is sought at the beginning of lines; `content` then begins with one.
    """
    ahead = 1 if text.startswith(b"\n") else 0
    place = content.find(text)
    while place >= 0:
        begin = content.rfind(b"\n", 0, place + ahead) + 1
        end = content.find(b"\n", place + ahead)
        if end < 0:
            return
        yield content[begin : end + 1]
        place = content.find(text, end)


def _read(file: int, offset: int, size: int) -> bytes:
    """What is there of so many bytes: `pread` may give less than it is asked for."""
    pieces = []
    while size > 0 and (piece := os.pread(file, size, offset)):
        pieces.append(piece)
        offset += len(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
