"""Which part of a server's URLs makes no difference?

In:    pages that say something, with the sketch of what they say, in the order of the visits.
Out:   the slots (`patterns.slots`) whose value does not matter, such as session ids, and the URL to use
       instead.
Never: concludes anything from empty pages, or from one value seen many times: `page=1` may be the same as
       no page at all, and `page=2` is not.

A slot is found out when pages that differ in nothing but its value say the same, for several values, and
(next to) never something else. A table of the last pages remembers what was said where; a page is entered
under its URL and under its URL without each slot.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest

from joro.discover.patterns import slots, with_slot

#: Values of a slot that must have made no difference (sort orders and views have fewer), and on how many
#: pages (one list may be the same whatever is asked).
VALUES, PAGES = 4, 3
#: One page that did differ is outweighed by so many that did not: pages also change by themselves.
OUTWEIGHS = 8
#: Bins of the sketch (of 16) that must be equal.
EQUAL_BINS = 14
ROWS = 128
#: A server has not more slots than this; the others are not looked at.
SLOT_LIMIT = 24

#: Base, URL and slot, each hashed, and the sketch of what was said there.
_ROW = struct.Struct("<IHHQ")


class _Sight(NamedTuple):
    """A page as it was just seen."""

    url: int  # hashed
    sketch: int
    new: bool


class Evidence(msgspec.Struct, array_like=True):
    """What is known about one slot."""

    values: list[int] = msgspec.field(default_factory=list)  # that made no difference, hashed
    bases: list[int] = msgspec.field(default_factory=list)  # the pages where they did not, hashed
    same: int = 0
    different: int = 0
    bare: bool = False  # the page is also there without the slot
    value: str = ""  # one that works
    pages: int = 0  # that said something new under this slot

    @property
    def is_idle(self) -> bool:
        """The value does not matter."""
        enough = len(self.values) >= VALUES and len(self.bases) >= PAGES
        return enough and self.same >= OUTWEIGHS * self.different


class Aliases(msgspec.Struct, array_like=True):
    """What is known about the slots of one server."""

    rows: bytearray = msgspec.field(default_factory=lambda: bytearray(ROWS * _ROW.size))
    evidence: dict[str, Evidence] = msgspec.field(default_factory=dict)
    #: slot → the value to use instead, None to leave it out
    idle: dict[str, str | None] = msgspec.field(default_factory=dict)

    def proper(self, url: str) -> str:
        """The URL to use for this one: the same, unless a part of it makes no difference."""
        for slot, value in self.idle.items():
            if slot in slots(url):
                url = with_slot(url, slot, value)
        return url

    def learn(self, url: str, sketch: int, *, new: bool) -> list[str]:
        """Take in a page that says something; the slots that are thereby found out."""
        values = slots(url)
        for slot, value in values.items():
            if slot in self.evidence or len(self.evidence) < SLOT_LIMIT:
                evidence = self.evidence.setdefault(slot, Evidence(value=value))
                evidence.pages += new
        mark = xxh3_64_intdigest(url.encode())
        sight = _Sight(mark & 0xFFFF, sketch, new)
        self._compare(mark, "", "", sight)
        for slot, value in values.items():
            self._compare(xxh3_64_intdigest(with_slot(url, slot, None).encode()), slot, value, sight)
        return self._found_out()

    def _compare(self, key: int, slot: str, value: str, sight: _Sight) -> None:
        """With the page last seen under the same base; a page that says something new takes its place."""
        row = key % ROWS * _ROW.size
        tag, url_tag, slot_tag, other = _ROW.unpack_from(self.rows, row)
        if tag == key >> 32 and url_tag != sight.url:
            name = slot or self._slot(slot_tag)
            if name and slot_tag in (0, _tag(name)):
                same = _equal_bins(other, sight.sketch) >= EQUAL_BINS
                self._weigh(name, value, key, same=same, bare=not slot or not slot_tag)
        if sight.new:
            _ROW.pack_into(self.rows, row, key >> 32, sight.url, _tag(slot), sight.sketch)

    def _weigh(self, slot: str, value: str, base: int, *, same: bool, bare: bool) -> None:
        evidence = self.evidence.get(slot)
        if evidence is None:
            return
        if not same:
            evidence.different += 1
            return
        evidence.same += 1
        evidence.bare |= bare
        _note(evidence.values, xxh3_64_intdigest(value.encode()), VALUES)
        _note(evidence.bases, base, PAGES)

    def _slot(self, tag: int) -> str:
        return next((slot for slot in self.evidence if _tag(slot) == tag), "")

    def _found_out(self) -> list[str]:
        found = [slot for slot, each in self.evidence.items() if each.is_idle and slot not in self.idle]
        for slot in found:
            evidence = self.evidence[slot]
            self.idle[slot] = None if evidence.bare and slot[0] != "/" else evidence.value
        return found


def _note(marks: list[int], mark: int, limit: int) -> None:
    if len(marks) < limit and mark & 0xFFFF not in marks:
        marks.append(mark & 0xFFFF)


def _tag(slot: str) -> int:
    return xxh3_64_intdigest(slot.encode()) & 0xFFFF or 1 if slot else 0


def _equal_bins(a: int, b: int) -> int:
    """How many of 16 bins of 4 bits two sketches have in common, as `parse.likeness` counts them."""
    different = a ^ b
    different |= different >> 1
    different |= different >> 2
    return 16 - (different & 0x1111_1111_1111_1111).bit_count()
