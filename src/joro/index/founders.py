"""Which text, of all indexed before, is this one a near copy of?

In:    the mark of a text (`parse.copies.text_mark`), and what says whether two marks are alike.
Out:   the number of a group: near copies have the same, that of the first of them, its founder.
Never: compares a text with all others; knows a URL, so that nothing here points at a page that is gone.

A mark begins with 64 bytes of which near copies have many in common. Four of them make a band; marks with an
equal band meet in a table on disk (RocksDB), and only they are compared. Of texts that share 70 % of their
sentences one of the sixteen bands is equal in 98.8 of 100 cases, of those that share 80 % always; of texts
not alike in one of 250 million. A place once taken stays taken: whoever comes again finds the same founder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from rocksdict import Rdict, WriteBatch
from xxhash import xxh3_64_digest

from joro.errors import CollectionError
from joro.store.rocks import opened, translated

BANDS = 16
#: Bytes of a mark that the bands are made of.
SKETCH_BYTES = 64

#: Are two marks those of near copies?
Alike = Callable[[bytes, bytes], bool]


class Founders:
    """The founders of one index; the one who writes to that may use it.

    band → group, and group → the mark of its founder.
    """

    def __init__(self, path: Path, alike: Alike) -> None:
        self._path = path
        self._alike = alike

    @cached_property
    def _table(self) -> Rdict:
        """Opened when first asked for: an index without texts to compare needs none."""
        try:
            return opened(self._path, read_only=False)
        except CollectionError:
            raise CollectionError(
                f"the table of near copies in {self._path} cannot be used", remedy="run: joro index --rebuild"
            ) from None

    def group(self, mark: bytes) -> int:
        """The group of a text; one of its own, from now on, where no text before was alike."""
        bands = _bands(mark)
        taken: list[bytes | None] = list(self._table.get(bands) or ())
        for group in dict.fromkeys(filter(None, taken)):
            founder = self._table.get(group)
            if founder is not None and self._alike(founder, mark):
                return int.from_bytes(group)
        group = xxh3_64_digest(mark)
        batch = WriteBatch(raw_mode=True)
        batch.put(group, mark)
        for band, other in zip(bands, taken, strict=True):
            if other is None:
                batch.put(band, group)
        try:
            self._table.write(batch)
        except Exception as error:  # rocksdict has no exception class of its own
            raise translated(error, self._path) from None
        return int.from_bytes(group)

    def forget(self, group: int) -> None:
        """Leave nothing of a founder in the table."""
        name = group.to_bytes(8)
        mark = self._table.get(name)
        if mark is None:
            return
        for band in _bands(mark):
            if self._table.get(band) == name:
                self._table.delete(band)
        self._table.delete(name)

    def close(self) -> None:
        if "_table" in self.__dict__:
            self._table.close()


def _bands(mark: bytes) -> list[Any]:
    """A band has every sixteenth byte: where a text is short, neighbours say the same."""
    return [bytes([band]) + mark[band:SKETCH_BYTES:BANDS] for band in range(BANDS)]
