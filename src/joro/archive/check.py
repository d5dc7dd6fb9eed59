"""Is every record of the archive still what was written?

In:    the directory of WARCs and indexes.
Out:   a verdict per WARC: its records, and everything that is wrong with it.
Never: changes a file, except `repair`; blames a robot that is writing right now; lets an index forget a
       capture whose record is lost.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from joro.archive.cdx import capture_of, index_of, line_of, whole_lines, write_sorted
from joro.archive.far import problem_far, size_of
from joro.archive.members import Gap, Member, salvage
from joro.archive.names import SUFFIX, sorted_index, warcs
from joro.archive.payload import digest, payload_of, split
from joro.archive.read import CAPTURES, Record, capture_in, offsets, readable, record_in
from joro.archive.recover import close

RESTORE = "restore it from a copy; its other records stay readable"
MEND = "run: joro archive check --mend"


@dataclass
class Verdict:
    """What was found in one WARC."""

    warc: str
    records: int = 0
    captures: int = 0
    damage: list[str] = field(default_factory=list)  # only a copy helps
    disorder: list[str] = field(default_factory=list)  # can be put right from the WARC itself

    @property
    def problems(self) -> list[str]:
        return self.damage + self.disorder

    @property
    def remedy(self) -> str:
        return RESTORE if self.damage else MEND


def check(
    directory: Path, warc: str, *, busy: bool = False, progress: Callable[[int], None] = lambda _bytes: None
) -> Verdict:
    """Read one WARC from end to end and compare its index; `busy` when a robot may be writing to it."""
    path = directory / warc
    verdict = Verdict(warc)
    if not path.exists():
        return _check_far(path, verdict)
    is_open = not sorted_index(path).exists()
    # Index before records: it never knows of bytes that are not there, so whatever it lists must be found.
    listed = index_of(path)
    expected: list[bytes] = []
    end = 0
    for found in salvage(path, 0, lambda: offsets(path)):
        end = found.offset + found.length
        progress(found.length)
        if isinstance(found, Gap):
            verdict.damage.append(f"{found.length} bytes at {found.offset} are damaged")
        elif (record := _sound(found, verdict)) is not None and record.type in CAPTURES:
            verdict.captures += 1
            expected.append(line_of(capture_in(record)))
    if not (is_open and busy):
        _check_end(path, end, is_open, verdict)
        _check_reach(path, listed, verdict)
        _check_index(listed, expected, is_open, verdict)
    return verdict


def _check_far(path: Path, verdict: Verdict) -> Verdict:
    """Of a WARC stored elsewhere, whether it is there in full length: to read it would be to fetch it."""
    verdict.captures = len(whole_lines(index_of(path)))
    if (problem := problem_far(path)) is not None:
        verdict.damage.append(problem)
    return verdict


def missing(directory: Path) -> list[str]:
    """WARCs of which only the index is left."""
    # Indexes before WARCs: a robot that begins a WARC meanwhile makes it first.
    names = {
        path.name.removesuffix(".open").removesuffix(".cdxj") + SUFFIX for path in directory.glob("*.cdxj*")
    }
    return sorted({name for name in names if not name.endswith(f".new{SUFFIX}")} - set(warcs(directory)))


def repair(path: Path) -> None:
    """Put right what can be put right from the WARC itself; no robot may be writing to it.

    What an index knows of records that cannot be read stays in it: nothing else says what was lost.
    """
    listed = whole_lines(index_of(path))
    if sorted_index(path).exists():
        extents: list[tuple[int, int]] = []
        found: set[bytes] = set()
        for record in readable(path):
            extents.append((record.offset, record.end))
            if record.type in CAPTURES:
                found.add(line_of(capture_in(record)))
        write_sorted(path, found.union(_witnesses(listed, extents)))
    elif not _behind(path, listed):
        close(path)


def _witnesses(lines: Iterable[bytes], extents: list[tuple[int, int]]) -> list[bytes]:
    """Index lines that point to where no readable record is."""
    starts = [start for start, _ in extents]
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            offset = capture_of(line).offset
            place = bisect_right(starts, offset) - 1
            if place < 0 or extents[place][1] <= offset:
                found.append(line)
    return found


def _behind(path: Path, lines: Iterable[bytes]) -> int:
    """How many captures should lie where the WARC has ended."""
    size = size_of(path)
    number = 0
    for line in lines:
        with contextlib.suppress(ValueError):
            number += capture_of(line).offset >= size
    return number


def _sound(member: Member, verdict: Verdict) -> Record | None:
    verdict.records += 1
    try:
        record = record_in(member, verdict.warc)
    except ValueError as error:
        verdict.damage.append(f"the record at {member.offset} is damaged ({error})")
        return None
    wrong = [name for name, is_right in _digests(record) if not is_right]
    if wrong:
        verdict.damage.append(f"the record at {member.offset} has the wrong {' and '.join(wrong)}")
    return record


def _digests(record: Record) -> list[tuple[str, bool]]:
    """Both digests, where the record gives them as we do."""
    block, payload = (record.fields.get(f"warc-{part}-digest", "") for part in ("block", "payload"))
    verdicts = []
    if block.startswith("sha1:"):
        verdicts.append(("block digest", digest(record.block) == block))
    if payload.startswith("sha1:") and record.type == "response":  # a revisit's is that of another record
        head, body = split(record.block)
        # Other writers digest chunk frames too.
        verdicts.append(("payload digest", payload in (digest(payload_of(head, body)), digest(body))))
    return verdicts


def _check_end(path: Path, end: int, is_open: bool, verdict: Verdict) -> None:
    rest = size_of(path) - end
    if rest:
        found = verdict.disorder if is_open else verdict.damage
        found.append(f"{rest} bytes at its end are no whole record")


def _check_reach(path: Path, listed: bytes, verdict: Verdict) -> None:
    """A file that was emptied, or cut between two records, shows no wound: only its index knows."""
    if number := _behind(path, whole_lines(listed)):
        verdict.damage.append(f"captures lost that were behind its end: {number}")


def _check_index(listed: bytes, expected: list[bytes], is_open: bool, verdict: Verdict) -> None:
    if is_open:
        verdict.disorder.append("the robot that wrote it was killed before closing it")
        return
    lines = listed.splitlines(keepends=True)
    lost, stray = len(set(expected) - set(lines)), len(set(lines) - set(expected))
    if lost:
        verdict.disorder.append(f"captures missing from its index: {lost}")
    if stray and not verdict.damage:  # of a damaged record the index is the last witness
        verdict.disorder.append(f"index lines without a capture: {stray}")
    if lines != sorted(lines):
        verdict.disorder.append("its index is not sorted")
