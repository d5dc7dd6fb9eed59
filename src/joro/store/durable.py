"""How do small files outlive a kill and a loss of power?

In:    a path, and what it shall hold.
Out:   the old content or the new one, never half of it; lines, each whole or not there.
Never: knows what is in a file.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Give a file new content in one step; on a full disk nothing of it stays."""
    draft = draft_of(path)
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync(path.parent)


def draft_of(path: Path) -> Path:
    """Where the new content of a file is written; a kill may leave it there."""
    return path.with_name(f".{path.name}.new")


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a directory."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def appending(path: Path, mode: int = 0o644) -> Iterator[int]:
    """A file of lines, open behind its last whole one; nobody else appends meanwhile."""
    path.parent.mkdir(exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        content = path.read_bytes()
        os.ftruncate(file, content.rfind(b"\n") + 1)  # a line cut off by a kill was never acknowledged
        yield file
        os.fsync(file)
    finally:
        os.close(file)
