"""What does one command cost?

In:    a command, run to its end.
Out:   CPU seconds of it and its children, wall seconds, the most memory they held together.
Never: counts the test web, or this process.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

#: Rarely enough not to disturb: a look at a process costs us 0.1 ms.
LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class Cost:
    """Of one command."""

    cpu_s: float
    wall_s: float
    memory_mb: float
    code: int
    words: str  # the end of what it said


def run(command: Sequence[str], folder: Path, cores: Sequence[int], *, limit_s: float) -> Cost:
    """Run a command on these cores in this folder; killed when it takes longer than `limit_s`."""
    said = folder.with_suffix(".said")
    start = time.perf_counter()
    with said.open("wb") as file:
        child = subprocess.Popen(["taskset", "-c", ",".join(map(str, cores)), *command], cwd=folder,
                                 stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)  # fmt: skip
    watch = _Watch(child.pid, limit_s)
    _, status, usage = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)  # it is reaped: Popen must not wait for it again
    most = max(watch.end(), usage.ru_maxrss * 1024)
    words = said.read_text(errors="replace")[-500:].strip()
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, most / 1e6, child.returncode, words)


class _Watch:
    """Looks at the memory of a family of processes, and ends one that takes too long."""

    def __init__(self, pid: int, limit_s: float) -> None:
        self._process = psutil.Process(pid)
        self._limit_s = limit_s
        self._most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> int:
        """The most bytes the family held at one moment."""
        self._over.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        deadline = time.monotonic() + self._limit_s
        while not self._over.wait(LOOK_EVERY_S):
            family = self._family()
            self._most = max(self._most, sum(map(_memory, family)))
            if time.monotonic() > deadline:
                for process in family:
                    process.kill()

    def _family(self) -> list[psutil.Process]:
        try:
            return [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def cpu_s(pid: int) -> float:
    """CPU seconds a running process has used."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
