"""Could a robot of ours have sent this beat?

In:    a beat that was read without complaint: every field has its type.
Out:   what is wrong with a value in it, or nothing.
Never: lets a number or a name reach the store that it has no room for: such a beat would fail again and
       again, and its robot would never get through.
"""

from __future__ import annotations

from collections.abc import Iterator

from joro.coordinate.beat import Beat, Link
from joro.coordinate.units import is_part, part_name, server_in
from joro.manager.routing import SERVER_CHARS
from joro.url import server_of, try_canonical

#: Counts and numbers are below this, in both stores.
MOST = 2**62
#: No name that can be looked up is longer; a host has 253 characters at most.
NAME_CHARS = 1_000
#: No robot follows a longer link (the most that scope.url_limit_chars may be), nor one so many hops away.
URL_CHARS, HOPS = 100_000, range(256)
#: What the efforts of one beat may come to together, a petabyte or thirty thousand years: plans go by them.
MOST_EFFORT = 10**15
_SHOWN = 40


def flaw(told: Beat) -> str:
    """What is wrong with it, in a few words; nothing if nothing is."""
    return next(_flaws(told), "")


def _flaws(told: Beat) -> Iterator[str]:
    for name in (told.robot, told.identity, told.version):
        if "\0" in name or len(name) > NAME_CHARS:
            yield f"{name[:_SHOWN]!r} is no name"
    for number in _numbers(told):
        if not 0 <= number < MOST:
            yield f"{number} is no number of anything"
    for unit in set(_units(told)):
        if not _is_unit(unit):
            yield f"{unit[:_SHOWN]!r} is no server"
    links = [link for post in told.posts for link in post.links]
    for page in {link.found_on for link in links} - {""} | {link.url for link in links}:
        if not _is_page(page):
            yield f"{page[:_SHOWN]!r} is no page"
    yield from (f"{link!r:.200} cannot be followed" for link in links if not _is_in_bounds(link))
    if _effort(told) > MOST_EFFORT:
        yield "efforts are more than there can be"


def _is_unit(unit: str) -> bool:
    server = server_in(unit)
    if len(server) > SERVER_CHARS or (is_part(unit) and not _is_part_of(server, unit)):
        return False
    return try_canonical(f"{server}/") == f"{server}/" and server_of(f"{server}/") == server


def _is_part_of(server: str, unit: str) -> bool:
    number = unit[len(server) + 1 :]
    return number.isascii() and number.isdecimal() and unit == part_name(server, int(number[:_SHOWN]))


def _is_page(url: str) -> bool:
    """A robot of another version may spell it differently from us; what it spells must be a page."""
    return len(url) <= URL_CHARS and try_canonical(url) is not None


def _is_in_bounds(link: Link) -> bool:
    is_word = not link.kind or (link.kind.isalnum() and len(link.kind) <= _SHOWN)
    is_word = is_word and len(link.home) <= NAME_CHARS
    return is_word and link.hops in HOPS and link.cgi_hops in HOPS


def _effort(told: Beat) -> int:
    """The greatest sum of anything that servers cost."""
    efforts = [effort for post in told.posts for effort in post.efforts]
    counted = [(effort.pages, effort.received_bytes, effort.elapsed_ms) for effort in efforts]
    return max((sum(column) for column in zip(*counted, strict=True)), default=0)


def _units(told: Beat) -> Iterator[str]:
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
