"""Does whoever started us want to hear that all is well?

In:    the environment.
Out:   a file made where it says, once a manager has answered.
Never: says so twice; fails because nobody listens any more.

`joro update run` starts a new release on probation and waits for this word.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

#: The variable that names the file to make.
HEALTHY = "JORO_HEALTHY_FILE"


def tell_healthy() -> None:
    """A manager has answered: we can do our work."""
    path = os.environ.pop(HEALTHY, "")
    if path:
        with contextlib.suppress(OSError):
            Path(path).touch()
