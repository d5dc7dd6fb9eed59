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
        self._pending = bytearray()

    @property
    def end(self) -> int:
        """Where the next piece will begin."""
        return self.size + len(self._pending)

    @property
    def pending_bytes(self) -> int:
        """What the next flush will write."""
        return len(self._pending)

    def append(self, piece: bytes) -> None:
        self._pending += piece

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
        self.size += len(self._pending)
        self._pending = bytearray()

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
        with memoryview(self._pending) as pieces:
            written = 0
            while written < len(pieces):  # the kernel may take less than it was given
                written += os.pwrite(self._file, pieces[written:], self.size + written)

    def _undo(self) -> None:
        """Back to the last whole flush; a file without any is taken away again."""
        if self._file < 0:
            return
        os.ftruncate(self._file, self.size)
        if self.size == 0:
            os.close(self._file)
            self._file = -1
            self.path.unlink()
