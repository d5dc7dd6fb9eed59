"""How does a wheel arrive whole, however often the line is cut?

In:    a manifest that was verified, a channel, a folder.
Out:   the wheel in it, under its name once its size and SHA-256 are right.
Never: takes more bytes than the manifest says; fetches again what arrived, if the server knows ranges;
       gives a file its name before it is right.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

from joro.errors import ReleaseError, TransferError
from joro.store.durable import sync
from joro.updater.release import Manifest
from joro.updater.source import Source

#: Attempts in a row that brought nothing, after which the download has failed for now.
TRIES = 5


def download(source: Source, manifest: Manifest, folder: Path) -> Path:
    """The wheel, fetched as far as it is not here."""
    path = folder / manifest.file
    draft = path.with_name(f"{manifest.file}.part")
    if path.exists():
        path.rename(draft)  # digest it again: a disk may forget
    for left in folder.iterdir():
        if left != draft:
            left.unlink()  # of a release that another one overtook
    with draft.open("ab+") as file:
        _fill(source, manifest, file)
    with draft.open("rb") as file:
        is_right = hashlib.file_digest(file, "sha256").hexdigest() == manifest.sha256
    if not is_right:
        draft.unlink()
        raise ReleaseError(
            f"{manifest.file} is not what was signed (its SHA-256 differs)",
            remedy="see what stands between here and update.source; it is fetched anew at the next look",
        )
    sync(draft)
    draft.replace(path)
    return path


def _fill(source: Source, manifest: Manifest, file: BinaryIO) -> None:
    """Fetch until it is as long as it should be."""
    failures = 0
    if file.tell() > manifest.bytes:
        file.truncate(0)
    while (before := file.seek(0, 2)) < manifest.bytes:
        problem = _attempt(source, manifest, file, before)
        failures = 0 if file.tell() > before else failures + 1
        if file.tell() < manifest.bytes and (not problem.passes or failures >= TRIES):
            raise problem


def _attempt(source: Source, manifest: Manifest, file: BinaryIO, have: int) -> TransferError:
    """Take what comes; why it ended, if it did not end well."""
    try:
        start, pieces = source.pieces(manifest.file, have)
        file.truncate(start)
        for piece in pieces:
            if file.seek(0, 2) + len(piece) > manifest.bytes:
                file.truncate(0)
                raise ReleaseError(
                    f"{manifest.file} is larger than the {manifest.bytes:,} bytes that were signed",
                    remedy="see what stands between here and update.source",
                )
            file.write(piece)
            file.flush()
    except TransferError as error:
        file.seek(0, 2)
        return error
    return TransferError(
        f"{manifest.file} ends after {file.seek(0, 2):,} of {manifest.bytes:,} bytes",
        remedy="it is fetched on at the next look",
    )
