"""What does a manager do whose control store is away when it starts?

In:    how the store is opened.
Out:   the store, as soon as it is there.
Never: ends because a database starts later than it, as after a power cut; waits for one that refuses it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from joro.errors import ControlAway
from joro.store.control import Control

log = logging.getLogger(__name__)

#: Seconds between two tries.
AGAIN_S = 2.0


def awaited(
    opened: Callable[[], Control], say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
) -> Control:
    """The store; what is waited for is said once, until something else is the matter."""
    said = ""
    while True:
        try:
            return opened()
        except ControlAway as error:
            if error.problem != said:
                said = error.problem
                log.warning("%s", error)
                say(f"waiting: {' '.join(said.split())}")
            sleep(AGAIN_S)
