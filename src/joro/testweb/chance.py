"""How can everything be random and yet always the same?

Out:   numbers that depend only on (seed, stream, counters): the same ones in every run, on every
       machine, whatever was asked before.
Never: uses `hash()`, the global `random` state or the time.

Counters instead of a running generator: page 17 of a web of a million pages can be made without
making the 17 before it, and its 400th change without the 399 before.
"""

from __future__ import annotations

import enum
import math
import struct
from random import Random

import xxhash

_PACK = struct.Struct("<4Q").pack
_MASK = (1 << 64) - 1


class Stream(enum.IntEnum):
    """What a number is drawn for; two streams never share a number."""

    ROLES = 1
    HOST = 2
    SIZES = 3
    PAGE = 4
    LINKS = 5
    RATE = 6
    CHANGE = 7
    TEXT = 8
    VERSION = 9
    ADVERTISEMENT = 10
    TITLE = 11
    ARTICLES = 12
    FLAKY = 13
    TRAP = 14
    LOOK = 15
    GONE = 16


def draw(seed: int, stream: Stream, first: int, second: int = 0) -> int:
    """A 64-bit number."""
    return xxhash.xxh3_64_intdigest(_PACK(seed & _MASK, stream, first & _MASK, second & _MASK))


def uniform(seed: int, stream: Stream, first: int, second: int = 0) -> float:
    """A number in [0, 1)."""
    return (draw(seed, stream, first, second) >> 11) * 2.0**-53


def normal(seed: int, stream: Stream, first: int, second: int = 0) -> float:
    """A number of the standard normal distribution (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, stream, first, second)))
    return radius * math.cos(math.tau * uniform(seed, stream, first, ~second))


def source(seed: int, stream: Stream, first: int, second: int = 0) -> Random:
    """A generator of its own for one thing, where many numbers are wanted (6 µs to make)."""
    return Random(draw(seed, stream, first, second))
