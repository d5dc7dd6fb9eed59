"""How does a page vanish from the index, and not only from its results?

In:    an index, which pages must go, and what stands in the place of each.
Out:   an index whose segments hold nothing of them any more.
Never: loses another page; leaves anything but the old index or the new one, whatever moment it is killed.

The engine marks what is removed, and keeps its words and text until segments are merged, some day. So every
segment that holds anything of such a page, be it long replaced, is emptied: its other pages are put in anew,
and an empty segment goes with the commit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path

from joro.index.segment import STORED_LIMIT_CHARS, Entry, Writer


def erase(
    directory: Path,
    is_erased: Callable[[Entry], bool],
    successor: Callable[[Entry], Entry | None],
    whole: Callable[[Entry], Entry | None],
    alike: Callable[[bytes, bytes], bool] = operator.eq,
) -> int:
    """Erase pages; how many were searchable.

    `successor` gives what is searchable in the place of an erased page, `whole` a page whose text was too
    long to be stored, as it was.
    """
    writer = Writer(directory, alike)
    searchable = 0
    groups: set[int] = set()
    for segment, looked_at in zip(writer.segments(), writer.segments(), strict=True):
        if not any(map(is_erased, looked_at)):
            continue
        for entry in segment:
            if is_erased(entry):
                groups.add(entry.group)
            if writer.time_of(entry.url) != entry.time:
                continue
            if is_erased(entry):
                searchable += 1
                after = successor(entry)
            else:
                after = whole(entry) if len(entry.text) >= STORED_LIMIT_CHARS else entry
            if after is None:
                writer.remove(entry.url)
            else:
                writer.put(after)
    writer.commit()
    writer.forget(groups)
    writer.close()
    Writer(directory).close()  # opening it removes the files that nobody holds any more
    return searchable
