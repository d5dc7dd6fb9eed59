"""How do several robots share a server that is too big for one, without asking it more often?

In:    how much lies in each directory of a server, and the interval between requests that it is owed.
Out:   parts: directories, and an interval each, so that all parts together ask as often as one robot would.
Never: leaves a page to two parts or to none: the longest directory of a part that a page lies in decides.
Paper: S1 5.1.5 (lists may hold any page, so load can be shared by directory), 6.2 (1 % of servers hold 43 %).
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from joro.errors import UsageError

#: Directories are opened until the largest piece is at most this share of a part: enough to pack evenly.
PIECE = 0.25


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a server's directories, for one robot."""

    directories: tuple[str, ...]
    kb: float
    interval_s: float


def split(sizes_kb: Mapping[str, float], parts: int, interval_s: float) -> list[Part]:
    """At most so many parts, as even as directories allow; `/` and what is new in it belong to one of them.

    `sizes_kb` has for each directory, as `/a/b/`, what lies in it directly. The rates 1 / interval_s of the
    parts add up to that of the server, each in proportion to its size.
    """
    _check(sizes_kb, parts, interval_s)
    total = sum(sizes_kb.values())
    bins: list[tuple[float, int, list[str]]] = [(0.0, number, []) for number in range(parts)]
    for kb, directory in sorted(_pieces(sizes_kb, PIECE * total / parts), reverse=True):
        held, number, directories = heapq.heappop(bins)
        heapq.heappush(bins, (held + kb, number, [*directories, directory]))
    filled = [(kb, directories) for kb, _, directories in sorted(bins, key=itemgetter(1)) if kb > 0.0]
    if not any("/" in directories for _, directories in filled):
        filled[0][1].append("/")  # nothing lies there, but someone has to own what is new
    return [Part(tuple(sorted(names)), kb, interval_s * total / kb) for kb, names in filled]


def home(path: str, directories: Container[str]) -> str:
    """The innermost of the directories that a page lies in; / must be one of them."""
    return next(each for each in _above(path) if each in directories)


def _above(path: str) -> Iterator[str]:
    """The directories a page lies in, the innermost first: of /a/b.html these are /a/ and /."""
    end = len(path)
    while (end := path.rfind("/", 0, end)) >= 0:
        yield path[: end + 1]


def _pieces(sizes_kb: Mapping[str, float], aim_kb: float) -> list[tuple[float, str]]:
    """Directories with all below them, opened where they are larger than the aim."""
    below, children = dict.fromkeys(sizes_kb, 0.0) | {"/": 0.0}, dict[str, set[str]]()
    for directory, kb in sizes_kb.items():
        inner = ""
        for each in _above(directory):
            below[each] = below.get(each, 0.0) + kb
            children.setdefault(each, set())
            if inner:
                children[each].add(inner)
            inner = each
    pieces, waiting = [], ["/"]
    while waiting:
        here = waiting.pop()
        if below[here] > aim_kb and children.get(here):
            waiting += sorted(children[here])
            pieces.append((sizes_kb.get(here, 0.0), here))
        else:
            pieces.append((below[here], here))
    return [(kb, directory) for kb, directory in pieces if kb > 0.0]


def _check(sizes_kb: Mapping[str, float], parts: int, interval_s: float) -> None:
    if parts < 1 or not interval_s > 0.0:
        raise UsageError(
            f"a server cannot be split into {parts} parts of {interval_s} s", remedy="give 1 or more of each"
        )
    for directory, kb in sizes_kb.items():
        if not (directory.startswith("/") and directory.endswith("/") and kb >= 0.0):
            raise UsageError(f"{directory!r} with {kb} KB is no directory", remedy="write it like /a/b/")
    if not sum(sizes_kb.values()) > 0.0:
        raise UsageError("a server without pages cannot be split", remedy="collect it first")
