"""How much memory do we take, and what of it can we do without?

In:    ways to drop what is only kept for speed.
Out:   bytes that the machine has back.
Never: drops what is not written down elsewhere.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from joro import url

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """What this process takes of the machine's memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def give_back(drops: Iterable[Callable[[], object]]) -> None:
    """Drop what can be made anew, and let the machine have what that frees."""
    for drop in (url.shed, *drops):
        drop()
    gc.collect()
    with suppress(AttributeError, OSError):  # of glibc; others give back by themselves
        ctypes.CDLL(None).malloc_trim(0)
