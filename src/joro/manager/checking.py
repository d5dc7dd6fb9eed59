"""Could a robot of ours have sent this beat?

In:    a beat that was read without complaint: every field has its type.
Out:   what is wrong with a value in it, or nothing.
Never: lets a number or a name reach the store that it has no room for: such a beat would fail again and
       again, and its robot would never get through.
"""

from __future__ import annotations

from collections.abc import Iterator

from joro.coordinate.beat import Beat
from joro.coordinate.units import server_in
from joro.url import server_of, try_canonical

#: Counts and numbers are below this, in both stores.
MOST = 2**62
#: No name that can be looked up is longer; a host has 253 characters at most.
NAME_CHARS = 1_000
#: What the efforts of one beat may come to together, a petabyte or thirty thousand years: plans go by them.
MOST_EFFORT = 10**15


def flaw(told: Beat) -> str:
    """What is wrong with it, in a few words; nothing if nothing is."""
    for name in _names(told):
        if "\0" in name or len(name) > NAME_CHARS:
            return f"{name[:40]!r} is no name"
    for number in _numbers(told):
        if not 0 <= number < MOST:
            return f"{number} is no number of anything"
    for name in {changes.server for post in told.posts for changes in post.changes}:
        if not _is_server(name):
            return f"{name[:40]!r} is no server"
    return "efforts are more than there can be" if _effort(told) > MOST_EFFORT else ""


def _is_server(unit: str) -> bool:
    server = server_in(unit)
    return try_canonical(f"{server}/") == f"{server}/" and server_of(f"{server}/") == server


def _effort(told: Beat) -> int:
    """The greatest sum of anything that servers cost."""
    efforts = [effort for post in told.posts for effort in post.efforts]
    counted = [(effort.pages, effort.received_bytes, effort.elapsed_ms) for effort in efforts]
    return max((sum(column) for column in zip(*counted, strict=True)), default=0)


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
