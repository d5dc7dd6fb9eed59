"""What does it cost to hand a gigabyte to another collection, over a line that is cut five times?

A made-up archive of pages of 20 KB that compress to half; its service and the collector are the commands, in
processes of their own; between them a line that breaks after every 140 MB, five times. Afterwards every
package and every capture is compared by digest. CPU time and peak memory are those of both processes, start
included; making packages (reading every record for digests and rights) belongs to the service.
`JORO_EXCHANGE_MB=100 make bench ONLY=redistribute` is smaller.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from joro.archive.index import CaptureIndex
from joro.archive.warc import WarcWriter
from joro.clock import RealClock
from joro.redistribute.caller import Caller
from joro.redistribute.package import Manifest
from joro.store.collection import Collection
from tests.archive.examples import NOON, visit
from tests.redistribute.stand import CuttingLine, collection_at, received_warcs, register

MEGABYTES = int(os.environ.get("JORO_EXCHANGE_MB", "1000"))
CUTS = 5
BODY_BYTES = 20_000


def figures() -> dict[str, tuple[float, str]]:
    """Whether all arrived, what travelled twice, CPU seconds per GB and memory of both sides."""
    with tempfile.TemporaryDirectory() as name:
        theirs, ours = collection_at(Path(name) / "theirs"), collection_at(Path(name) / "ours")
        _fill(theirs)
        token = register(theirs)
        (ours.path / "token").write_text(token)
        command = ["serve", "-C", str(theirs.path), "--port", "0"]
        with subprocess.Popen(_joro(*command), stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://\S+", process.stdout.readline())
                assert found
                url = found[0].rstrip("/")
                service = psutil.Process(process.pid)
                every_bytes = MEGABYTES * 1_000_000 // (CUTS + 2)
                with CuttingLine(url, every_bytes, CUTS) as line:
                    collector_cpu_s, collector_mb = _collect(ours, line.url)
                    travelled, left = line.passed, line.left
                manifests = Caller(url, token).get("/packages", list[Manifest])
                times = service.cpu_times()
                service_cpu_s, service_mb = times.user + times.system, _peak_mb(process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
        size = sum(each.bytes + each.index_bytes for each in manifests)
        sent = sorted(each.sha256 for each in manifests)
        is_same = sent == sorted(map(_sha256, received_warcs(ours))) and _digest(theirs) == _digest(ours)
    gigabytes = size / 1e9
    return {
        "redistribute.exchanged_mb": (size / 1e6, "MB"),
        "redistribute.cuts": (CUTS - left, "cuts"),
        "redistribute.identical": (float(is_same), ""),
        "redistribute.travelled": (travelled / size, "x"),
        "redistribute.service_cpu_s_per_gb": (service_cpu_s / gigabytes, "CPU-s"),
        "redistribute.collector_cpu_s_per_gb": (collector_cpu_s / gigabytes, "CPU-s"),
        "redistribute.service_memory_mb": (service_mb, "MB"),
        "redistribute.collector_memory_mb": (collector_mb, "MB"),
    }


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(collection: Collection) -> None:
    chance = random.Random(5)
    pool = chance.randbytes(2_000_000).hex().encode()
    robot = WarcWriter(collection.archive, limit_bytes=250_000_000, clock=RealClock(), robot="joro/0")
    size, number = 0, 0
    while size < MEGABYTES * 1_000_000:
        start = chance.randrange(len(pool) - BODY_BYTES)
        url = f"http://host{number % 500}.example/{number}"
        body = b"<p>%d " % number + pool[start : start + BODY_BYTES]
        size += robot.append(visit(url, body, time=NOON + number)).length
        number += 1
    robot.close()


def _collect(ours: Collection, url: str) -> tuple[float, float]:
    """CPU seconds and peak memory of the collector."""
    (ours.path / "redistribution.toml").write_text(
        f'[[sources]]\nname = "tokyo"\nurl = "{url}"\ntoken_file = "token"\nschedule = "@daily"\n'
    )
    process = subprocess.Popen(
        _joro("collect", "-C", str(ours.path), "--now", "-q"), stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "the collector failed"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def _joro(*words: str) -> list[str]:
    return [sys.executable, "-m", "joro", "redistribute", *words]


def _peak_mb(pid: int) -> float:
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert peak
    return int(peak[1]) / 1e3


def _digest(collection: Collection) -> str:
    """Of everything that can be found: URLs, times, payload digests."""
    whole = hashlib.sha256()
    for capture in CaptureIndex(collection.archive).all():
        whole.update(f"{capture.url} {capture.time} {capture.digest}\n".encode())
    return whole.hexdigest()


if __name__ == "__main__":
    for figure, (value, unit) in figures().items():
        print(f"{figure:<40} {value:,.3f} {unit}")
