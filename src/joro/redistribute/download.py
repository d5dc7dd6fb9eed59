"""How does a package arrive whole, however often the line is cut?

In:    a caller, a manifest, a folder.
Out:   the package's WARC and index in it, under their names once their digests are right.
Never: fetches again what arrived; believes what it has not digested, be it left by an earlier run; gives a
       file its name before it is whole.

What arrived is digested part by part. A part that is wrong is fetched again, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from joro.errors import ArchiveError, TransferError
from joro.redistribute.caller import Caller
from joro.redistribute.package import INDEX, WARC_NAME, Digests, Manifest

#: Attempts in a row that brought nothing, after which the transfer has failed for now.
TRIES = 5
_READ_BYTES = 1 << 20

#: Told how many bytes have arrived, and of how many.
Progress = Callable[[int, int], object]


def download(
    caller: Caller, manifest: Manifest, folder: Path, progress: Progress = lambda _done, _whole: None
) -> tuple[Path, Path]:
    """Fetch what is missing of a package; its WARC and its index."""
    at = f"/packages/{manifest.package}"
    parts = manifest.parts
    index = Part(folder / INDEX, manifest.index_bytes, [manifest.index_sha256], manifest.index_bytes or 1)
    warc = Part(folder / WARC_NAME, manifest.bytes, parts, manifest.part_bytes)
    index.fetch(lambda start: caller.pieces(f"{at}/index", start))
    warc.fetch(lambda start: caller.pieces(f"{at}/warc", start), progress)
    if warc.sha256 != manifest.sha256:
        warc.path.unlink()
        raise ArchiveError(
            f"package {manifest.package} contradicts itself: its parts are right, the whole is not",
            remedy="ask for a new one",
        )
    return warc.path, index.path


class Part:
    """A file that arrives piece by piece."""

    def __init__(self, path: Path, size: int, parts: list[str], part_bytes: int) -> None:
        self.path = path
        self.draft = path.with_name(path.name + ".part")
        self.sha256 = ""
        self._size = size
        self._expected = parts
        self._digests = Digests(part_bytes)
        self._is_wrong = False

    def fetch(
        self, pieces: Callable[[int], Iterator[bytes]], progress: Progress = lambda _done, _whole: None
    ) -> None:
        """Get the rest; a `TransferError` when `TRIES` attempts in a row brought nothing."""
        if self.path.exists():
            self.path.rename(self.draft)  # digest it again: it costs seconds, and a disk may forget
        with self.draft.open("ab+") as file:
            self._take_over(file.fileno())
            failures = wrong = 0
            while not self.is_whole:
                before = self._digests.size
                problem = self._attempt(file.fileno(), pieces(before), progress)
                wrong += self._is_wrong
                failures = 0 if self._digests.size > before else failures + 1
                if not problem.passes or max(failures, wrong) >= TRIES:
                    raise problem
            os.fsync(file.fileno())
        self.sha256 = self._digests.whole.hexdigest()
        self.draft.rename(self.path)

    @property
    def is_whole(self) -> bool:
        return self._digests.size == self._size and self._digests.close() == self._expected

    def _attempt(self, file: int, pieces: Iterator[bytes], progress: Progress) -> TransferError:
        """Take what comes; why it ended, if it did not end well."""
        self._is_wrong = False
        try:
            for piece in pieces:
                self._write(file, piece)
                progress(self._digests.size, self._size)
        except TransferError as error:
            return error
        return TransferError(
            f"{self.path.name} ends after {self._digests.size:,} of {self._size:,} bytes",
            remedy="run the same command again, or ask for a new package",
        )

    def _take_over(self, file: int) -> None:
        """Digest what an earlier attempt left, up to its last right part."""
        size = min(os.fstat(file).st_size, self._size)
        os.ftruncate(file, size)
        try:
            while self._digests.size < size:
                room = min(_READ_BYTES, size - self._digests.size)
                self._take(file, os.pread(file, room, self._digests.size))
        except TransferError:
            return  # what follows is fetched again

    def _write(self, file: int, piece: bytes) -> None:
        if self._digests.size + len(piece) > self._size:
            raise TransferError(
                f"more than {self._size:,} bytes come", remedy="ask for a new package", status=502
            )
        written = 0
        while written < len(piece):
            written += os.pwrite(file, piece[written:], self._digests.size + written)
        self._take(file, piece)

    def _take(self, file: int, content: bytes) -> None:
        known = len(self._digests.parts)
        self._digests.update(content)
        if self._digests.size == self._size:
            self._digests.close()
        for number in range(known, len(self._digests.parts)):
            if self._digests.parts[number] != self._expected[number]:
                self._back_to(file, number)
                self._is_wrong = True
                raise TransferError(
                    f"part {number + 1} of {self.path.name} arrived changed",
                    remedy="run the same command again",
                )

    def _back_to(self, file: int, part: int) -> None:
        """Forget everything from a part on."""
        os.ftruncate(file, part * self._digests.part_bytes)
        self._digests = Digests(self._digests.part_bytes)
        size = part * self._digests.part_bytes
        while self._digests.size < size:
            self._digests.update(
                os.pread(file, min(_READ_BYTES, size - self._digests.size), self._digests.size)
            )
