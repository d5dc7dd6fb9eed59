"""What is in a file that somebody else wrote?

In:    a WARC (plain, or gzipped in any way), a WACZ, or a CDXJ.
Out:   records one after the other; or, of a CDXJ, sightings: that a page was there, and with which digest.
Never: holds more than one record in memory; believes a length that is larger than the limit; follows a path
       out of a WACZ.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from joro.archive.times import time_of, time_of_stamp
from joro.errors import UsageError
from joro.url import try_canonical

#: A longer record is passed over: nobody replays it, and it would have to be in memory.
RECORD_LIMIT_BYTES = 256_000_000
_HEADER_LIMIT_BYTES = 1_000_000
_GZIP, _ZIP = b"\x1f\x8b", b"PK"


@dataclass(slots=True)
class ForeignRecord:
    """One WARC record, as far as we understand it."""

    type: str
    url: str  # canonical; "" where it has none that we collect
    time: float
    fields: dict[str, str]  # lower-case names
    block: bytes

    @property
    def id(self) -> str:
        return self.fields.get("warc-record-id", "")

    @property
    def belongs_to(self) -> str:
        return self.fields.get("warc-concurrent-to", "")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page was there, with a payload of this digest; the bytes themselves are elsewhere."""

    url: str
    time: float
    status: int
    digest: str


def kind_of(path: Path) -> str:
    """`warc`, `wacz` or `cdxj`, by the first bytes; a `UsageError` for anything else."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
            if start.startswith(_GZIP):
                file.seek(0)
                start = gzip.GzipFile(fileobj=file).read(16)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist", remedy="check the name") from None
    except (OSError, EOFError) as error:
        raise UsageError(f"{path} cannot be read ({error})", remedy="check the file") from None
    if start.startswith(b"WARC/"):
        return "warc"
    if start.startswith(_ZIP):
        return "wacz"
    if path.name.split(".")[-1] in ("cdxj", "cdx", "gz") and start[:1].isalnum():
        return "cdxj"
    raise UsageError(f"{path} is no WARC, WACZ or CDXJ file", remedy="convert it first")


@contextmanager
def warcs_in(path: Path) -> Iterator[Iterator[Path]]:
    """The WARCs in a WACZ, each unpacked for as long as it is looked at."""
    with tempfile.TemporaryDirectory(prefix="joro-import-") as folder:
        yield _unpacked(path, Path(folder))


def _unpacked(path: Path, folder: Path) -> Iterator[Path]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise UsageError(f"{path} is no WACZ ({error})", remedy="fetch it again") from None
    with archive:
        for entry in archive.infolist():
            if entry.filename.startswith("archive/") and entry.filename.endswith((".warc", ".warc.gz")):
                target = folder / "unpacked.warc"
                with archive.open(entry) as source, target.open("wb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
                yield target
                target.unlink()


def records(path: Path) -> Iterator[ForeignRecord]:
    """Every record of a WARC; damage ends it, and is told."""
    with path.open("rb") as raw:
        file = _plain(raw)
        try:
            while (record := _next(file)) is not None:
                yield record
        except (OSError, EOFError, ValueError) as error:
            raise UsageError(
                f"{path} is damaged at byte {raw.tell()} or before ({error})",
                remedy="restore it from a copy; what came before is imported",
            ) from None


def _plain(raw: BinaryIO) -> BinaryIO:
    """What a file holds, unpacked if it is packed: in one piece, or record by record."""
    is_packed = raw.read(2) == _GZIP
    raw.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if is_packed else raw


def _next(file: BinaryIO) -> ForeignRecord | None:
    line = file.readline(_HEADER_LIMIT_BYTES)
    while line in (b"\r\n", b"\n"):
        line = file.readline(_HEADER_LIMIT_BYTES)
    if not line:
        return None
    if not line.startswith(b"WARC/"):
        raise ValueError(f"{line[:20]!r} where a record should begin")
    fields = _fields(file)
    length = int(fields.get("content-length", "-1"))
    if length < 0:
        raise ValueError("a record without Content-Length")
    block = _block(file, length)
    url = try_canonical(fields.get("warc-target-uri", "").strip("<>")) or ""
    kind = fields.get("warc-type", "").lower() if len(block) == length else "too long"
    return ForeignRecord(kind, url, _time(fields.get("warc-date", "")), fields, block)


def _fields(file: BinaryIO) -> dict[str, str]:
    fields: dict[str, str] = {}
    name, size = "", 0
    while (line := file.readline(_HEADER_LIMIT_BYTES)) not in (b"\r\n", b"\n"):
        size += len(line)
        if not line or size > _HEADER_LIMIT_BYTES:
            raise ValueError("a header without end")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text[:1] in (" ", "\t") and name:
            fields[name] += " " + text.strip()
            continue
        key, _, value = text.partition(":")
        name = key.strip().lower()
        fields[name] = value.strip()
    return fields


def _block(file: BinaryIO, length: int) -> bytes:
    """The block; of one beyond the limit nothing, but the file stands behind it."""
    if length <= RECORD_LIMIT_BYTES:
        block = file.read(length)
        if len(block) < length:
            raise EOFError("the last record is cut off")
        return block
    left = length
    while left and (chunk := file.read(min(left, 1 << 20))):
        left -= len(chunk)
    return b""


def _time(text: str) -> float:
    try:
        return time_of(text)
    except ValueError:
        return 0.0


class _Line(msgspec.Struct):
    url: str = ""
    status: str | int = ""
    digest: str = ""


@dataclass(slots=True)
class Lines:
    """How many lines of a CDXJ were understood."""

    readable: int = 0  # also those that tell nothing of a page
    unreadable: int = 0


def sightings(path: Path, lines: Lines | None = None) -> Iterator[Sighting]:
    """What a CDXJ tells; lines that tell nothing of a page are passed over, and counted in `lines`."""
    lines = lines or Lines()
    with path.open("rb") as raw:
        for line in _plain(raw):
            if not line.strip() or line.startswith(b"!"):  # a header of pywb's
                continue
            try:
                sighting = _sighting(line)
            except ValueError:
                lines.unreadable += 1
                continue
            lines.readable += 1
            if sighting is not None:
                yield sighting


def _sighting(line: bytes) -> Sighting | None:
    """What a line tells of a page, if anything; a `ValueError` for one that is no line of a CDXJ."""
    _, stamp, text = line.split(b" ", 2)
    if not stamp.isdigit():
        raise ValueError(f"{stamp!r} is no time")
    fields = msgspec.json.decode(text, type=_Line, strict=False)
    time = time_of_stamp(stamp.decode())
    url = try_canonical(fields.url)
    status = str(fields.status)
    if url is None or not fields.digest or not status.isdecimal():
        return None
    digest = fields.digest if ":" in fields.digest else f"sha1:{fields.digest}"
    return Sighting(url, time, int(status), digest)
