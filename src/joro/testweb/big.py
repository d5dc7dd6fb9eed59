"""How are bodies made that are too big to keep?

In:    a huge host and a target.
Out:   an honest answer of megabytes, sent block by block.
Never: holds the body in memory.
"""

from __future__ import annotations

import itertools
import re

from joro.testweb.answer import Answer, Play
from joro.testweb.plan import Host

#: Sizes of the three big files, by kind of host: below and above what a crawler takes.
SIZES = {"large": (1_500_000, 3_000_000, 6_000_000), "giant": (20_000_000, 40_000_000, 80_000_000)}
BLOCK = b"<p>A long list has many lines, and this is one of them.</p>\n" * 1_000


def doors() -> list[tuple[str, str]]:
    """What the front page links to."""
    return [(f"/big/{number}.html", f"big list {number}") for number in range(3)]


def answer(host: Host, target: bytes) -> Answer | None:
    """The big page at `target`, if it is one."""
    number = re.fullmatch(rb"/big/([012])\.html", target)
    if number is None:
        return None
    size = SIZES[host.kind][int(number[1])]
    head = (
        b"HTTP/1.1 200 OK\r\nServer: testweb\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size
    )
    return Answer(head, len(head), 200, play=itertools.chain([head], _blocks(size)))


def _blocks(size: int) -> Play:
    for _ in range(size // len(BLOCK)):
        yield BLOCK
    yield BLOCK[: size % len(BLOCK)]
