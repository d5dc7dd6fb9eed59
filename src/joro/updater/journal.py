"""What was done to become a newer robot, and how did each step end?

In:    steps as they end.
Out:   `logs/update.log`: time, step, version, outcome, a line each; the same to whoever listens.
Never: rewrites a line.
Paper: S1 5.3.1, prs_update.log.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

FILE_NAME = "update.log"


class Journal:
    """The log of one robot's updates."""

    def __init__(
        self,
        directory: Path,
        now: Callable[[], float],
        echo: Callable[[str], object] = lambda _line: None,
    ) -> None:
        self.path = directory / FILE_NAME
        self._now = now
        self._echo = echo

    def write(self, step: str, version: str, outcome: str) -> None:
        """One step has ended."""
        line = f"{step:<10} {version or '-':<10} {' '.join(outcome.splitlines())}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o644)
        try:
            os.write(file, f"{spelled(self._now())} {line}\n".encode())
        finally:
            os.close(file)
        self._echo(line)


def spelled(time: float) -> str:
    """A moment as people read it: 2026-11-16T05:55:00Z."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
