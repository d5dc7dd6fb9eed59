"""How fast is one capture found among ten million?

A made-up archive: 100 WARCs of 100,000 captures each, of a million pages on 20,000 hosts of very different
size, over two years, so that a page's ten versions lie in ten WARCs. Only the indexes exist, merged as
robots have it done, two WARCs at a time. Then random pages are looked up, all versions of each: by a process
that goes on asking while the machine has the files in memory, and ("cold") by asking for the first time, the
machine having been told to forget the files before every look-up. Merging is measured in CPU time, looking up
in wall time and in CPU time, which other people's load does not spoil.

`JORO_CAPTURES=1000000 make bench ONLY=cdx` is smaller.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from joro.archive.index import CaptureIndex
from joro.archive.merge import FOLDER, is_due, merge, read_manifest
from joro.archive.names import sorted_index, warc_name

T = TypeVar("T")

LINES = int(os.environ.get("JORO_CAPTURES", "10000000"))
WARC_LINES = 100_000
VERSIONS = 10  # of a page
PAGES_PER_HOST = 50
ASKED, ASKED_COLD = 2_000, 200
FIRST = 100  # captures of a directory, which may have thousands
BEGIN_S, SPAN_S = 1_730_000_000, 2 * 365 * 86_400


def figures() -> dict[str, tuple[float, str]]:
    """Milliseconds per look-up, merged lines per CPU second, memory."""
    with tempfile.TemporaryDirectory() as folder:
        merging = _in_a_process("build", LINES, folder)
        asking = _in_a_process("ask", LINES, folder)
        size = sum(path.stat().st_size for path in (Path(folder) / FOLDER).iterdir())
        runs = len(read_manifest(Path(folder)).runs)
    return {
        "cdx.merged_lines_per_cpu_s": (merging["lines_per_cpu_s"], "lines/CPU-s"),
        "cdx.writings_per_line": (merging["writings"], "x"),
        "cdx.merge_memory_mb": (merging["memory_mb"], "MB"),
        "cdx.bytes_per_line": (size / LINES, "B"),
        "cdx.runs": (runs, "runs"),
        "cdx.lookup_ms_p50": (asking["page"][0], "ms"),
        "cdx.lookup_ms_p99": (asking["page"][1], "ms"),
        "cdx.lookup_cpu_ms_p99": (asking["page"][2], "CPU-ms"),
        "cdx.cold_lookup_ms_p50": (asking["cold"][0], "ms"),
        "cdx.cold_lookup_ms_p99": (asking["cold"][1], "ms"),
        "cdx.nearest_ms_p99": (asking["nearest"][1], "ms"),
        "cdx.prefix_ms_p99": (asking["prefix"][1], "ms"),
        "cdx.digest_ms_p99": (asking["digest"][1], "ms"),
        "cdx.digest_cpu_ms_p99": (asking["digest"][2], "CPU-ms"),
        "cdx.lookup_memory_mb": (asking["memory_mb"], "MB"),
    }


def _in_a_process(work: str, lines: int, folder: str) -> dict[str, Any]:
    """So that its memory is its own."""
    command = [sys.executable, "-m", "bench.cdx", work, str(lines), folder]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def build(directory: Path, lines: int) -> dict[str, float]:
    """Write the indexes, and merge them as they come."""
    cpu_s, written, waiting, before_mb = 0.0, 0, 0, _memory_mb()
    for number in range(1, lines // WARC_LINES + 1):
        warc = directory / warc_name("joro", "20261116055500", number)
        warc.touch()
        with sorted_index(warc).open("w") as file:
            file.writelines(_lines(lines, number, warc.name))
        waiting += 1
        if is_due(directory):
            begin = time.process_time()
            told: dict[str, int] = {}
            merge(directory, functools.partial(_note, told))
            cpu_s += time.process_time() - begin
            written += waiting * WARC_LINES + told.get("joining", 0) // 2  # told of both orders
            waiting = 0
    memory_mb = _memory_mb() - before_mb
    return {"lines_per_cpu_s": written / cpu_s, "writings": written / lines, "memory_mb": memory_mb}


def _note(told: dict[str, int], what: str, done: int, _whole: int) -> None:
    told[what] = done


def ask(directory: Path, lines: int) -> dict[str, Any]:
    """Milliseconds (median, 99 of 100, and 99 of 100 in CPU time) by what is asked for."""
    chance = random.Random(5)
    index = CaptureIndex(directory)
    before_mb = _memory_mb()
    urls = [_url(chance.randrange(lines // VERSIONS), lines) for _ in range(ASKED)]
    moments = [BEGIN_S + chance.random() * SPAN_S for _ in urls]
    digests = [newest.digest for url in urls if (newest := index.newest(url)) is not None]
    found = {
        "page": _timed(urls, lambda url: list(index.versions(url))),
        "nearest": _timed(zip(urls, moments, strict=True), lambda asked: index.nearest(*asked)),
        "prefix": _timed(urls, lambda url: list(islice(index.under(_directory(url)), FIRST))),
        "digest": _timed(digests, lambda digest: list(index.of_digest(digest))),
    }
    memory_mb = _memory_mb() - before_mb
    cold = _timed(
        urls[:ASKED_COLD],
        lambda url: list(CaptureIndex(directory).versions(url)),
        before=lambda: _forget(directory),
    )
    return {**found, "memory_mb": memory_mb, "cold": cold}


def _timed(
    asked: Iterable[T], look: Callable[[T], object], before: Callable[[], object] = lambda: None
) -> tuple[float, float, float]:
    wall_ms, cpu_ms = [], []
    for each in asked:
        before()
        begin, begin_cpu = time.perf_counter(), time.thread_time()
        look(each)
        wall_ms.append((time.perf_counter() - begin) * 1e3)
        cpu_ms.append((time.thread_time() - begin_cpu) * 1e3)
    wall_ms.sort()
    cpu_ms.sort()
    last = len(wall_ms) * 99 // 100
    return wall_ms[len(wall_ms) // 2], wall_ms[last], cpu_ms[last]


def _forget(directory: Path) -> None:
    """Let the machine read the files from the disk again."""
    for path in (*directory.glob("*.cdxj"), *(directory / FOLDER).iterdir()):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def _lines(lines: int, number: int, warc: str) -> list[str]:
    """The sorted index of one WARC; `cdx.line_of` spells lines so."""
    chance = random.Random(number)
    span_s = SPAN_S * WARC_LINES / lines
    made = []
    offset = 500
    for place, page in enumerate(chance.sample(range(lines // VERSIONS), WARC_LINES)):
        url, length = _url(page, lines), 3_000 + page % 4_001
        second = int(BEGIN_S + span_s * (number - 1 + place / WARC_LINES))
        key = ",".join(reversed(url[11 : url.index("/", 11)].split("."))) + ")" + url[url.index("/", 11) :]
        digest = base64.b32encode(hashlib.sha1(b"%d %d" % (page, number // 3)).digest()).decode()
        made.append(
            f'{key} {time.strftime("%Y%m%d%H%M%S", time.gmtime(second))} {{"url":"{url}","mime":"text/html",'
            f'"status":"200","digest":"sha1:{digest}","length":"{length}","offset":"{offset}",'
            f'"filename":"{warc}","microsecond":{page * 7_919 % 1_000_000},"elapsed_ms":{50 + page % 400}}}\n'
        )
        offset += length + 400
    return sorted(made)


def _url(page: int, lines: int) -> str:
    """A few hosts have many of the pages, many hosts few."""
    hosts = max(1, lines // VERSIONS // PAGES_PER_HOST)
    host = int(hosts * (page * 2_654_435_761 % 2**32 / 2**32) ** 3)
    return f"http://www.host-{host}.example/articles/{page % 89}/{page * 48_271 % 2**31:x}-some-words.html"


def _directory(url: str) -> str:
    return url[: url.rindex("/") + 1]


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    work, lines, folder = sys.argv[1:]
    print(json.dumps({"build": build, "ask": ask}[work](Path(folder), int(lines))))
