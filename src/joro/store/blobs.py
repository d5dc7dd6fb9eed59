"""Where do files live that are written once and read in pieces, when it is not on this machine's disk?

In:    a URL: `s3://bucket/prefix`, `gs://…`, `az://…`, or a directory.
Out:   `Blobs`: files put there whole, ranges of their bytes, their names and sizes.
Never: shows half a file under its name; keeps a password: S3's come from the environment (AWS_…).

Two implementations, one test suite (tests/store/test_blobs.py): a directory, and any object store that
`obstore` knows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from joro.errors import ArchiveError, UsageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

#: Seconds for one request, and how often a failed one is tried again (1 s, 2 s, 4 s … between them).
REQUEST_S, TRIES = 60, 4


class Blobs(Protocol):
    """Files by name; a name may have slashes."""

    url: str

    def put(self, name: str, source: Path) -> None:
        """Copy a file there, in the place of one with that name."""

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Bytes of a file, fewer where it ends; a `FileNotFoundError` where there is none."""

    def size(self, name: str) -> int | None:
        """Bytes of a file; None where there is none."""

    def names(self, prefix: str = "") -> Iterator[str]:
        """Every file whose name begins with a directory (`merged/`), or every file."""

    def delete(self, name: str) -> None:
        """Remove a file; it may be gone already."""


def open_blobs(url: str) -> Blobs:
    """The files at a URL or in a directory, which is made when it is missing."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return DirectoryBlobs(Path(url))
    if scheme == "file":
        return DirectoryBlobs(Path(rest))
    return ObjectBlobs(url)


class DirectoryBlobs:
    """Files in a directory: another disk, or a network file system."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self.url = str(self._directory)

    def put(self, name: str, source: Path) -> None:
        target = self._directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".new-", dir=target.parent)
        try:
            with open(handle, "wb") as file, source.open("rb") as content:
                shutil.copyfileobj(content, file, 1 << 20)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, 0o644)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise

    def read(self, name: str, offset: int, length: int) -> bytes:
        with (self._directory / name).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def size(self, name: str) -> int | None:
        try:
            return (self._directory / name).stat().st_size
        except FileNotFoundError:
            return None

    def names(self, prefix: str = "") -> Iterator[str]:
        for path in sorted((self._directory / prefix).rglob("*")):
            if path.is_file() and not path.name.startswith(".new-"):
                yield str(path.relative_to(self._directory))

    def delete(self, name: str) -> None:
        (self._directory / name).unlink(missing_ok=True)


class ObjectBlobs:
    """Files in an object store."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._store = _object_store(self.url)

    def put(self, name: str, source: Path) -> None:
        import obstore

        with self._told(name):
            obstore.put(self._store, name, source)

    def read(self, name: str, offset: int, length: int) -> bytes:
        import obstore

        if length <= 0:
            return b""
        try:
            with self._told(name):
                return bytes(obstore.get_range(self._store, name, start=offset, length=length))
        except ArchiveError:
            size = self.size(name) or 0
            if offset + length <= size:
                raise
        if offset >= size:  # some servers refuse ranges that begin behind the end
            return b""
        return self.read(name, offset, size - offset)

    def size(self, name: str) -> int | None:
        import obstore

        try:
            with self._told(name):
                return obstore.head(self._store, name)["size"]
        except FileNotFoundError:
            return None

    def names(self, prefix: str = "") -> Iterator[str]:
        import obstore

        with self._told(prefix):
            for batch in obstore.list(self._store, prefix=prefix or None):
                yield from (meta["path"] for meta in batch)

    def delete(self, name: str) -> None:
        import obstore

        try:
            with self._told(name):
                obstore.delete(self._store, name)
        except FileNotFoundError:
            return

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """What goes wrong, in one line."""
        from obstore.exceptions import BaseError, NotFoundError

        try:
            yield
        except (NotFoundError, FileNotFoundError):
            raise FileNotFoundError(2, "no such file", f"{self.url}/{name}") from None
        except BaseError as error:
            said = " ".join(str(error).split())[:300]
            raise ArchiveError(
                f"{self.url}/{name} cannot be reached ({said})",
                remedy="check archive.url in joro.toml, the network, and AWS_ACCESS_KEY_ID and its like",
            ) from None


def _object_store(url: str) -> ObjectStore:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise UsageError(f"{url} needs obstore", remedy="run: pip install 'joro[objects]'") from None
    try:
        return from_url(
            url,
            client_options={"timeout": f"{REQUEST_S}s", "allow_http": True},
            retry_config={"max_retries": TRIES},
        )
    except (BaseError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise UsageError(
            f"archive.url = {url!r} is no place for files ({said})",
            remedy="write s3://bucket/prefix, or a directory",
        ) from None
