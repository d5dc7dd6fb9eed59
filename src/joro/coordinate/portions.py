"""How is what a commit has to tell cut into posts that a beat can carry?

In:    changes, links, servers given back, efforts.
Out:   posts, numbered one after the other; nothing at all makes none.
Never: gives a server back before its last changes; changes the order of a server's changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from joro.coordinate.beat import BEAT_BYTES, Changes, Effort, Link, Post

#: Changes in a post, in bytes, and links: a fraction of what a beat carries.
PORTION_BYTES = BEAT_BYTES // 4
PORTION_LINKS = 5_000
#: What a key costs beside itself.
_FRAME_BYTES = 12

Keys = list[tuple[bytes, bytes | None]]


def posts(
    number: int,
    changes: Mapping[str, Keys],
    links: Sequence[Link],
    released: list[str],
    efforts: list[Effort],
) -> list[Post]:
    """Posts from `number` on; mostly there is little of each kind, and one has room for all of it."""
    changed = list(_portions(changes.items())) or [[]]
    found = [list(links[start : start + PORTION_LINKS]) for start in range(0, len(links), PORTION_LINKS)]
    many = len(changed) + len(found) > 2
    made = [Post(number + place, portion) for place, portion in enumerate(changed)]
    if many:
        made += [Post(made[-1].number + place, links=portion) for place, portion in enumerate(found, 1)]
        found = []
    last = structs.replace(made[-1], released=released, efforts=efforts)
    made[-1] = structs.replace(last, links=found[0]) if found else last
    return made if changes or links or released or efforts else []


def _portions(changes: Iterable[tuple[str, Keys]]) -> Iterator[list[Changes]]:
    portion: list[Changes] = []
    size = 0
    for server, keys in changes:
        start = 0
        for place, (key, value) in enumerate(keys):
            size += len(key) + len(value or b"") + _FRAME_BYTES
            if size >= PORTION_BYTES:
                yield [*portion, Changes(server, keys[start : place + 1])]
                portion, size, start = [], 0, place + 1
        if start < len(keys):
            portion.append(Changes(server, keys[start:] if start else keys))
    if portion:
        yield portion
