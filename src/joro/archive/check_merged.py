"""Do the merged indexes say what the indexes of the WARCs say?

In:    the runs and the indexes of the WARCs in them.
Out:   everything that is wrong, one line each; and a way to make all runs anew.
Never: holds lines in memory: of each WARC the sum of its lines' hashes is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from xxhash import xxh3_64_intdigest

from joro.archive.far import open_run
from joro.archive.merge import (
    BY_DIGEST,
    BY_URL,
    FAMILIES,
    FOLDER,
    Entry,
    alone,
    digest_line,
    merge,
    publish,
    read_manifest,
    warc_of,
)
from joro.archive.names import SUFFIX, sorted_index
from joro.archive.runs import Run
from joro.errors import ArchiveError

_Sums = dict[str, int]


def check_merged(directory: Path, progress: Callable[[int], object] = lambda _lines: None) -> list[str]:
    """What is wrong with the runs; `progress` is told of lines read."""
    while True:
        try:
            manifest = read_manifest(directory)
            opened = [(entry, _opened(directory, entry)) for entry in manifest.runs]
        except ArchiveError as error:
            return [error.problem]
        except FileNotFoundError as error:
            if read_manifest(directory) == manifest:
                return [f"{Path(error.filename).name} is gone"]
            continue  # a merge replaced it meanwhile
        return [problem for entry, runs in opened for problem in _faults(directory, entry, runs, progress)]


def remake(directory: Path) -> None:
    """Throw all runs away and make them anew."""
    with alone(directory) as folder:
        numbers = [int(path.name[:6]) for path in folder.iterdir() if path.name[:6].isdecimal()]
        publish(folder, (), max(numbers, default=0) + 1)  # a copy elsewhere may have runs with these numbers
    merge(directory)


def _opened(directory: Path, entry: Entry) -> dict[str, Run]:
    return {family: open_run(directory / FOLDER / (entry.name + family)) for family in FAMILIES}


def _faults(
    directory: Path, entry: Entry, runs: dict[str, Run], progress: Callable[[int], object]
) -> Iterator[str]:
    sums: dict[str, _Sums] = {}
    for family in FAMILIES:
        try:
            sums[family] = _sums(runs[family], family, progress)
        except ArchiveError as error:
            yield f"{entry.name}{family}: {error.problem}"
            return
    for warc in entry.warcs:
        expected = _expected(sorted_index(directory / warc))
        if expected is None:
            yield f"{entry.name}: has lines of {warc}, whose index is gone"
        elif expected != tuple(sums[family].pop(warc, 0) for family in FAMILIES):
            yield f"{entry.name}: has other lines than the index of {warc.removesuffix(SUFFIX)}"
    strangers = sorted({warc for family in FAMILIES for warc in sums[family]} - set(entry.warcs))
    if strangers:
        yield f"{entry.name}: has lines of {', '.join(strangers[:3])}, which it does not name"


def _sums(run: Run, family: str, progress: Callable[[int], object]) -> _Sums:
    sums: defaultdict[str, int] = defaultdict(int)
    last = b""
    for batch in run.batches():
        if batch != sorted(batch) or batch[0] < last:
            raise ArchiveError("it is not sorted", remedy="run: joro archive check --mend")
        last = batch[-1]
        progress(len(batch))
        for line in batch:
            sums[warc_of(line, family)] += xxh3_64_intdigest(line)
    return dict(sums)


def _expected(index: Path) -> tuple[int, int] | None:
    """The sums over the index of a WARC, by URL and by digest."""
    assert FAMILIES == (BY_URL, BY_DIGEST)
    by_url = by_digest = 0
    try:
        with index.open("rb") as file:
            for line in file:
                by_url += xxh3_64_intdigest(line)
                spelled = digest_line(line)
                by_digest += xxh3_64_intdigest(spelled) if spelled else 0
    except FileNotFoundError:
        return None
    return by_url, by_digest
