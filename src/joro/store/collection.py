"""Which files make up a collection, and who may write to them?

In:    a directory.
Out:   the paths of its parts, its settings, and a lock that only one robot (or indexer) holds.
Never: creates anything inside a directory that is not a collection, except `create`.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joro import config
from joro.config import Config
from joro.errors import CollectionError

PARTS = ("frontier", "archive", "tables", "documents", "index", "orders", "redistribution", "logs")


@dataclass(frozen=True)
class Collection:
    """One directory that holds everything: settings, frontier, archive, index, orders …"""

    path: Path
    config: Config

    @classmethod
    def open(cls, path: Path) -> Collection:
        """The collection in `path`; says how to make one when there is none."""
        if not _is_collection(path):
            raise CollectionError(
                f"{path} is not a collection (no {config.FILE_NAME})", remedy=f"run: joro init {path}"
            )
        return cls(path, config.load(path / config.FILE_NAME))

    @classmethod
    def create(cls, path: Path, settings: Config) -> Collection:
        """A new, empty collection; the settings file comes last, so a half-made one is no collection."""
        if _is_collection(path):
            raise CollectionError(
                f"{path} is already a collection", remedy="choose another directory, or use it as it is"
            )
        try:
            for part in PARTS:
                (path / part).mkdir(parents=True, exist_ok=True)
            draft = path / f"{config.FILE_NAME}.new"
            draft.write_text(config.render(settings), encoding="utf-8")
            draft.rename(path / config.FILE_NAME)
        except (NotADirectoryError, FileExistsError):
            raise CollectionError(f"{path} is a file", remedy="choose another directory") from None
        except OSError as error:
            raise _unusable(path, error) from None
        return cls.open(path)

    def part(self, name: str) -> Path:
        """The directory of one part, made when missing."""
        assert name in PARTS, name
        directory = self.path / name
        try:
            directory.mkdir(exist_ok=True)
        except FileExistsError:
            raise CollectionError(
                f"{directory} is no directory", remedy="move it away, or mend where the link leads"
            ) from None
        except OSError as error:
            raise _unusable(directory, error) from None
        return directory

    @property
    def archive(self) -> Path:
        return self.part("archive")

    @property
    def frontier(self) -> Path:
        return self.part("frontier")

    @property
    def index(self) -> Path:
        return self.part("index")

    @property
    def orders(self) -> Path:
        return self.part("orders")

    @property
    def logs(self) -> Path:
        return self.part("logs")

    @contextmanager
    def lock(self, work: str, *, patience_s: float = 0.0) -> Iterator[None]:
        """Hold the collection for one kind of work ("robot", "indexer"); the kernel frees it if we die.

        Whoever holds it already is given `patience_s` to end.
        """
        try:
            file = os.open(self.path / f"{work}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unusable(self.path, error) from None
        try:
            deadline = time.monotonic() + patience_s
            while not _flock(file) and time.monotonic() < deadline:
                time.sleep(0.05)
            if not _flock(file):
                holder = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
                raise CollectionError(
                    f"another {work} (process {holder}) works in {self.path}", remedy="wait for it or stop it"
                )
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(file)


def _flock(file: int) -> bool:
    """True when the lock is ours."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_collection(path: Path) -> bool:
    try:
        return (path / config.FILE_NAME).exists()
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> CollectionError:
    return CollectionError(
        f"{path} cannot be used ({error.strerror})",
        remedy="make room, check its permissions, or choose another directory",
    )
