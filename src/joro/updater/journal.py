"""What was done to become a newer robot, and how did each step end?

In:    steps as they end.
Out:   `logs/update.log`: time, step, version, outcome, a line each; the same to whoever listens.
Never: rewrites a line; keeps anybody from updating because the disk is full.
Paper: S1 5.3.1, prs_update.log.
"""

from __future__ import annotations

import contextlib
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
        self._echo(line)
        with contextlib.suppress(OSError), self.path.open("ab", buffering=0) as file:
            file.write(f"{spelled(self._now())} {line}\n".encode())


def spelled(time: float) -> str:
    """A moment as people read it: 2026-11-16T05:55:00Z."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
