"""How much of a page has its server not said before?

In:    the longest pieces of text of each page, in the order of the visits.
Out:   its novelty, 0 to 1.
Never: needs more than 4 KB a server, 16 KB if it has thousands of pages; remembers everything: what was
       said a thousand pages ago may be forgotten.

Two Bloom filters, the older one thrown away when the newer is full, the next one twice as large. What a page
merely echoes of its own URL ("Sorry, there is no /a/b here", "Results for color red") is not new.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

from joro.discover.trap_records import Memory

#: Bytes of the largest filter.
MOST_BYTES = 8_192
#: Bits for one piece, of which 2 are set; a full filter takes one new piece in eleven for known.
BITS_PER_PIECE = 5.5
#: New text of this many bytes makes a page worth its visit, if it is this part of what the page says.
ENOUGH_BYTES, ENOUGH_SHARE = 80, 0.04
#: In a longer piece, an echo does not matter. Nor does it once enough is new: most pages are spared the look.
ECHO_LIMIT_BYTES = 240

#: The bits of a mark that are looked at: the compiled core makes no objects of integers this small.
_LOOKED_AT = (1 << 40) - 1

_WORD = re.compile(rb"[A-Za-z\x80-\xff]+")


def novelty_of(memory: Memory, url: str, pieces: Iterable[bytes]) -> float:
    """How new the page is; from now on its pieces are known."""
    echo: frozenset[bytes] | None = None
    new = total = 0
    for piece in pieces:
        total += len(piece)
        if not learn(memory, xxh3_64_intdigest(piece)):
            continue
        if new < ENOUGH_BYTES and len(piece) < ECHO_LIMIT_BYTES:
            echo = echo if echo is not None else frozenset(_WORD.findall(url.encode()))
            rest = [word for word in _WORD.findall(piece) if word not in echo]
            if not rest or not learn(memory, xxh3_64_intdigest(b" ".join(rest), 1)):
                continue
        new += len(piece)
    return min(1.0, new / ENOUGH_BYTES, new / (total * ENOUGH_SHARE)) if new else 0.0


def learn(memory: Memory, mark: int) -> bool:
    """Remember a piece; True when it was not known."""
    mark &= _LOOKED_AT
    recent, pieces = memory.recent, memory.pieces
    if _holds(recent, mark):
        return False
    known = bool(memory.older) and _holds(memory.older, mark)
    if pieces * BITS_PER_PIECE >= len(recent) * 8:
        memory.older = recent
        recent, pieces = bytearray(min(MOST_BYTES, 2 * len(recent))), 0
        memory.recent = recent
    last = len(recent) - 1
    recent[mark & last] |= 1 << (mark >> 16 & 7)
    recent[mark >> 20 & last] |= 1 << (mark >> 36 & 7)
    memory.pieces = pieces + 1
    return not known


def _holds(bits: bytearray, mark: int) -> bool:
    last = len(bits) - 1
    first = bits[mark & last] >> (mark >> 16 & 7) & 1
    return bool(first and bits[mark >> 20 & last] >> (mark >> 36 & 7) & 1)
