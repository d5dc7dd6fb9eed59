"""Which file comes after which, and where in them are we?

In:    the file names in `archive/`.
Out:   WARC names in the order they were written, and positions to stop at and go on from.
Never: opens a file.

    joro-20261116055500-00007.warc.gz      a WARC: stream, time it was begun, running number
    joro-20261116055500-00007.cdxj         its index, sorted; only there once the WARC is closed
    joro-20261116055500-00007.cdxj.open    its index so far, in writing order; only there until then
    joro-20261116055500-00007.stored       says where a copy of both is; the WARC itself may be gone then

A *stream* is what one robot process writes, one file after the other. The number alone gives the
order: a clock may be set back, the number never is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

SUFFIX = ".warc.gz"
STORED = ".stored"
_NAME = re.compile(r"(?P<stream>.+)-\d{14}-(?P<number>\d{5,})\.warc\.gz")


class Position(NamedTuple):
    """A place between two records of a stream: everything before it has been dealt with."""

    name: str  # file name inside archive/, "" before the first file
    offset: int


def stream_name(prefix: str, process: int) -> str:
    """The stream one process writes; the first keeps the plain prefix."""
    return f"{prefix}.{process}" if process else prefix


def warc_name(stream: str, stamp: str, number: int) -> str:
    return f"{stream}-{stamp}-{number:05d}{SUFFIX}"


def stream_of(name: str) -> str:
    """The stream a WARC belongs to; a file named by someone else is a stream of its own."""
    match = _NAME.fullmatch(name)
    return match["stream"] if match else name.removesuffix(SUFFIX)


def number_of(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match["number"]) if match else 0


def warcs(directory: Path, stream: str | None = None) -> list[str]:
    """The WARCs of one stream, or of all, each stream in writing order; those stored elsewhere, too."""
    listed = os.listdir(directory)
    found = {name for name in listed if name.endswith(SUFFIX)}
    found.update(name.removesuffix(STORED) + SUFFIX for name in listed if name.endswith(STORED))
    if stream is not None:
        found = {name for name in found if stream_of(name) == stream}
    return sorted(found, key=lambda name: (stream_of(name), number_of(name), name))


def streams(directory: Path) -> list[str]:
    """Every stream that has at least one file."""
    return sorted({stream_of(name) for name in warcs(directory)})


def sorted_index(warc: Path) -> Path:
    return warc.with_name(warc.name.removesuffix(SUFFIX) + ".cdxj")


def open_index(warc: Path) -> Path:
    return warc.with_name(warc.name.removesuffix(SUFFIX) + ".cdxj.open")


def stored_note(warc: Path) -> Path:
    return warc.with_name(warc.name.removesuffix(SUFFIX) + STORED)
