"""When did real pages change?

In:    a table of recorded changes: page, Unix time, kind, with tabs between them; plain, .gz or .xz.
Out:   a world that repeats them, of all pages or of one half.
Never: is part of the project: whoever has recorded histories names the file.

`first` is the first version recorded, `change` another one. Rows of any other kind are no change of the
page. A page is known from its first version on, and until the end of the record.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from joro.errors import UsageError
from joro.model import DAY_S
from joro.simulator.world import RecordedWorld

#: The last four years and a bit, in which most of the pages recorded at all were recorded.
DAYS = 1_534.0
HALVES = ("tuning", "testing")
#: Digits of a Unix time, with a sign; more would be some other number.
_LONGEST_MOMENT = 13


def recorded(file: Path, half: str | None = None, days: float = DAYS) -> RecordedWorld:
    """The last `days` of the record; of one half of the pages, or of all."""
    born: dict[str, float] = {}
    changed: dict[str, list[float]] = {}
    for page, moment, kind in _rows(file):
        born[page] = min(born.get(page, moment), moment)
        if kind == "change":
            changed.setdefault(page, []).append(moment)
    latest = max((max(moments) for moments in changed.values()), default=0.0)
    start = latest - days * DAY_S
    pages = [page for page in sorted(born) if half is None or half_of(page) == half]
    moments = [_after(changed.get(page, []), max(born[page], start)) - start for page in pages]
    count = np.array([len(each) for each in moments])
    if not count.sum():
        raise UsageError(
            f"{file} records no change{f' in the half for {half}' if half else ''}",
            remedy="it takes rows of page, Unix time and `change`, with tabs",
        )
    return RecordedWorld(
        importance=np.ones(len(pages)),
        server=np.arange(len(pages)),
        born_s=np.array([max(born[page] - start, 0.0) for page in pages]),
        change_per_s=count / (days * DAY_S),
        moments_s=np.concatenate(moments),
        first=np.concatenate([[0], np.cumsum(count)]).astype(np.intp),
    )


def half_of(page: str) -> str:
    """Which half a page belongs to, by its name alone."""
    return HALVES[hashlib.sha256(page.encode()).digest()[0] % 2]


def _after(moments: list[float], start: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    ordered = np.unique(np.array(moments, dtype=np.float64))
    return ordered[ordered > start]


def _rows(file: Path) -> Iterator[tuple[str, float, str]]:
    try:
        text = _read(file)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read ({error})", remedy="name a table of recorded changes"
        ) from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("\t")
        if number == 1 and words[1:2] == ["unix_time"]:
            continue
        try:
            page, moment, kind = words
            if len(moment) > _LONGEST_MOMENT:
                raise ValueError
            yield page, int(moment), kind
        except ValueError:
            raise UsageError(
                f"{file} line {number} is no change: {line[:60]!r}",
                remedy="write page, Unix time and kind, with tabs",
            ) from None


def _read(file: Path) -> str:
    content = file.read_bytes()
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(file.suffix, bytes)
    return unpack(content).decode()
