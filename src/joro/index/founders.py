"""Which text, of all indexed before, is this one a near copy of?

In:    the mark of a text (`parse.likeness.text_mark`), and what says whether two marks are alike.
Out:   the mark of the first such text, the founder of a group: near copies have the same, others their own.
Never: compares a text with all others; knows a URL, so that nothing here points at a page that is gone.

A mark begins with 64 hexadecimal digits of which near copies have most in common. Eight digits make a band;
marks with an equal band meet in a table on disk (RocksDB, some 400 bytes a text), and only they are compared.
Of texts alike by 90 % one band in 43 of 100 cases is equal, so one of eight in 99; of texts not alike, one
in 500 million. A place once taken stays taken: whoever comes in whichever order again finds the same founder.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from rocksdict import Rdict, WriteBatch

from joro.errors import CollectionError
from joro.store.rocks import opened, translated

BANDS = 8
#: Bytes of a mark that the bands are made of.
SKETCH_BYTES = 32

#: Are two marks those of near copies?
Alike = Callable[[bytes, bytes], bool]


class Founders:
    """The founders of one index; the one who writes to that may use it."""

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

    def founder(self, mark: bytes) -> bytes:
        """The first mark alike; the mark itself where there was none, and from now on."""
        keys = _keys(mark)
        taken: list[bytes | None] = list(self._table.get(keys) or ())
        for other in dict.fromkeys(taken):
            if other is not None and self._alike(other, mark):
                return bytes(other)
        batch = WriteBatch(raw_mode=True)
        for key, other in zip(keys, taken, strict=True):
            if other is None:
                batch.put(key, mark)
        try:
            self._table.write(batch)
        except Exception as error:  # rocksdict has no exception class of its own
            raise translated(error, self._path) from None
        return mark

    def forget(self, mark: bytes) -> None:
        """Leave nothing of a founder in the table."""
        for key in _keys(mark):
            if self._table.get(key) == mark:
                self._table.delete(key)

    def close(self) -> None:
        if "_table" in self.__dict__:
            self._table.close()


def _keys(mark: bytes) -> list[Any]:
    """A band has every eighth digit: where a text is short, neighbours say the same."""
    digits = mark[:SKETCH_BYTES].hex()
    return [f"{band}{digits[band::BANDS]}".encode() for band in range(BANDS)]
