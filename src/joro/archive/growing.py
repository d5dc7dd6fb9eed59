"""How do bytes reach a file so that a full disk, a kill or a power cut leaves no half-written flush behind?

In:    pieces, held in memory until `flush`.
Out:   a file that only ever grows by whole flushes.
Never: writes to a file that existed before; loses pieces because the disk is full.

Dying in the middle of a flush can still leave its first part; `recover` cuts it at the last whole record.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from joro.errors import ArchiveError, DiskFull
from joro.store.durable import sync

#: What the kernel says when there is no room: disk, quota, or the process's own limit (ulimit -f).
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Pieces handed to the kernel in one go, as they lie: Linux takes no more.
_AT_ONCE = 1_024


def disk_full(path: Path, error: OSError) -> DiskFull:
    return DiskFull(
        f"{path} cannot grow ({error.strerror})",
        remedy="make room and run the same command again; everything committed so far is whole",
    )


class GrowingFile:
    """A file made at the first flush, and as long as the last whole one.

    A `durable` one waits in `flush` until the disk has it; another survives the death of the process only.
    """

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self._durable = durable
        self.size = 0  # bytes flushed
        self._file = -1
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    @property
    def end(self) -> int:
        """Where the next piece will begin."""
        return self.size + self._pending_bytes

    @property
    def pending_bytes(self) -> int:
        """What the next flush will write."""
        return self._pending_bytes

    def append(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._pending_bytes += len(piece)

    def flush(self) -> None:
        """Write all pieces, or, with a `DiskFull`, none: then a later flush tries again."""
        if not self._pending:
            return
        try:
            self._open()
            self._write()
            if self._durable:
                os.fdatasync(self._file)
        except OSError as error:
            self._undo()
            if error.errno in NO_ROOM:
                raise disk_full(self.path, error) from None
            raise
        self.size += self._pending_bytes
        self._pending.clear()
        self._pending_bytes = 0

    def close(self) -> None:
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        if self._file < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                self._file = os.open(self.path, flags, 0o644)
            except FileExistsError:
                raise ArchiveError(
                    f"{self.path} exists already",
                    remedy="see whether another robot writes here, and stop one",
                ) from None
            if self._durable:
                sync(self.path.parent)

    def _write(self) -> None:
        place = self.size
        for start in range(0, len(self._pending), _AT_ONCE):
            pieces = self._pending[start : start + _AT_ONCE]
            while pieces:  # the kernel may take less than it was given
                written = os.pwritev(self._file, pieces, place)
                place += written
                pieces = _without(pieces, written)

    def _undo(self) -> None:
        """Back to the last whole flush; a file without any is taken away again."""
        if self._file < 0:
            return
        os.ftruncate(self._file, self.size)
        if self.size == 0:
            os.close(self._file)
            self._file = -1
            self.path.unlink()


def _without(pieces: list[bytes], size: int) -> list[bytes]:
    """What follows the first `size` bytes."""
    for number, piece in enumerate(pieces):
        if size < len(piece):
            return [piece[size:], *pieces[number + 1 :]]
        size -= len(piece)
    return []
