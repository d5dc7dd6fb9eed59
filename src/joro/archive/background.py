"""When are indexes merged, and by whom, while a robot works?

In:    the archive, and the command that merges it.
Out:   a process of its own that does so, gently, when enough WARCs were closed.
Never: makes the robot wait: starting the process takes it a millisecond; starts a second one.

Nobody has to see it end: a merge that is killed with the machine is simply done again by the next one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from joro.archive.merge import is_due

#: Below everybody else.
_NICELY = ("nice", "-n", "15")


class BackgroundMerge:
    """Starts merges; its owner calls `consider` after closing a WARC."""

    def __init__(self, directory: Path, command: Sequence[str]) -> None:
        self._directory = directory
        self._command = [*_NICELY, *command]
        self._process = 0

    def consider(self) -> bool:
        """Start a merge, if one is due and ours is not at work; whether one was started."""
        if self.is_at_work() or not is_due(self._directory):
            return False
        nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
        # Not a child of the terminal: Ctrl-C ends the robot, not what will soon be done.
        self._process = os.posix_spawnp(
            self._command[0], self._command, dict(os.environ), file_actions=nowhere, setsid=True
        )
        return True

    def is_at_work(self) -> bool:
        """Is the merge that we started still running?"""
        if self._process:
            ended, _ = os.waitpid(self._process, os.WNOHANG)
            if ended:
                self._process = 0
        return self._process != 0
