"""Could a robot of ours have sent this beat?

In:    a beat that was read without complaint: every field has its type.
Out:   what is wrong with a value in it, or nothing.
Never: lets a number or a name reach the store that it has no room for: such a beat would fail again and
       again, and its robot would never get through.
"""

from __future__ import annotations

from collections.abc import Iterator

from joro.coordinate.beat import Beat

#: Counts and numbers are below this, in both stores.
MOST = 2**62
#: No name that can be looked up is longer; a host has 253 characters at most.
NAME_CHARS = 1_000


def flaw(told: Beat) -> str:
    """What is wrong with it, in a few words; nothing if nothing is."""
    for name in _names(told):
        if "\0" in name or len(name) > NAME_CHARS:
            return f"{name[:40]!r} is no name"
    for number in _numbers(told):
        if not 0 <= number < MOST:
            return f"{number} is no number of anything"
    return ""


def _names(told: Beat) -> Iterator[str]:
    yield from (told.robot, told.identity, told.version)
    for post in told.posts:
        yield from post.released
        yield from (changes.server for changes in post.changes)
        yield from (effort.server for effort in post.efforts)


def _numbers(told: Beat) -> Iterator[int]:
    yield from (told.read, told.sockets, told.waiting, told.visited)
    for post in told.posts:
        yield post.number
        for effort in post.efforts:
            yield from (effort.pages, effort.received_bytes, effort.elapsed_ms)
