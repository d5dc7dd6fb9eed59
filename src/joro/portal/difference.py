"""What does a text say that an earlier one did not?

In:    two texts, one block per line.
Out:   rows, each a line of one text beside that of the other, cut where they differ.
Never: takes long, whatever the texts are: what cannot be compared within a budget counts as replaced.

Lines that occur once in both texts hold the two together ("patience"); between them, lines are paired by the
words they share, and pairs are compared word by word. Scripts without spaces are compared character by
character, except for runs of katakana: no dictionary is needed, and short agreements amid changes,
which only confuse, are not shown.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from joro.index.terms import LETTER, MARK, PAIRED

#: Longer texts are compared as far as this.
TEXT_LIMIT_CHARS = 400_000
#: Cells of tables that one comparison may fill: one to three seconds.
BUDGET = 3_000_000
#: Lines are shown as changed, not as removed and added, when they share this part of their words.
LIKE = 0.4
#: Unchanged characters between two changes that are not worth an eye movement.
SHORT_CHARS = 1

Op = Literal["same", "removed", "added"]
#: A stretch of text, and whose it is.
Piece = tuple[Op, str]

_TOKEN = re.compile(
    rf"[\u30a1-\u30fa\u30fc-\u30ff]+|[{PAIRED}]|{LETTER}+(?:{MARK}+{LETTER}*)*|\s+|.", re.DOTALL
)
_Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Row:
    """A line of both texts, or of one of them."""

    pieces: tuple[Piece, ...]

    @property
    def kind(self) -> str:
        """`same`, `removed`, `added`, or `changed` where there is more than one of them."""
        ops = {op for op, _ in self.pieces}
        return ops.pop() if len(ops) == 1 else "changed"

    @property
    def old(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece[0] != "added"]

    @property
    def new(self) -> list[Piece]:
        return [piece for piece in self.pieces if piece[0] != "removed"]


class _Budget:
    """What is left of the cells that may be filled."""

    def __init__(self, cells: int) -> None:
        self._cells = cells

    def allows(self, rows: int, columns: int) -> bool:
        if rows * columns > self._cells:
            return False
        self._cells -= rows * columns
        return True


def compared(old: str, new: str, budget: int = BUDGET) -> list[Row]:
    """The two texts side by side."""
    before, after = old[:TEXT_LIMIT_CHARS].splitlines(), new[:TEXT_LIMIT_CHARS].splitlines()
    left = _Budget(budget)
    rows: list[Row] = []
    for lines, others in _stretches(before, after, common(before, after, left)):
        if lines == others:
            rows += [Row((("same", line),)) for line in lines]
        else:
            rows += _between(lines, others, left)
    return rows


def _stretches(
    old: Sequence[str], new: Sequence[str], pairs: _Pairs
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Both texts in parts, equal ones and what lies between them."""
    i = j = 0
    for at, other in [*pairs, (len(old), len(new))]:
        if i < at or j < other:
            yield old[i:at], new[j:other]
        if at < len(old):
            yield old[at : at + 1], new[other : other + 1]
        i, j = at + 1, other + 1


def common(old: Sequence[Hashable], new: Sequence[Hashable], budget: _Budget) -> _Pairs:
    """Places of what both sequences have, in the order of both."""
    found: _Pairs = []
    waiting = [(0, len(old), 0, len(new))]
    while waiting:
        i, i_end, j, j_end = waiting.pop()
        while i < i_end and j < j_end and old[i] == new[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and old[i_end - 1] == new[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
            found.append((i_end, j_end))
        if i == i_end or j == j_end or not budget.allows(i_end - i + j_end - j, 1):
            continue
        here, there = old[i:i_end], new[j:j_end]
        anchors = _anchors(here, there)
        if not anchors and budget.allows(len(here), len(there)):
            found += [(i + a, j + b) for a, b in _longest(here, there)]
        elif anchors:
            found += [(i + a, j + b) for a, b in anchors]
            starts = [(0, 0), *((a + 1, b + 1) for a, b in anchors)]
            ends = [*anchors, (len(here), len(there))]
            waiting += [
                (i + a, i + a_end, j + b, j + b_end)
                for (a, b), (a_end, b_end) in zip(starts, ends, strict=True)
            ]
    return sorted(found)


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> _Pairs:
    """The longest series, rising in both, of what occurs exactly once in both."""
    once = {value for value, count in Counter(old).items() if count == 1}
    once &= {value for value, count in Counter(new).items() if count == 1}
    place = {value: at for at, value in enumerate(new) if value in once}
    tops: list[int] = []  # the lowest end of a rising series of each length
    ends: list[tuple[int, int, int]] = []  # (place in old, place in new, index of the one before)
    series: list[int] = []  # by length, the index in `ends` of that end
    for at, value in enumerate(old):
        if value not in place:
            continue
        length = bisect_left(tops, place[value])
        ends.append((at, place[value], series[length - 1] if length else -1))
        tops[length : length + 1] = [place[value]]
        series[length : length + 1] = [len(ends) - 1]
    found: _Pairs = []
    step = series[-1] if series else -1
    while step >= 0:
        at, other, step = ends[step]
        found.append((at, other))
    return found[::-1]


def _longest(old: Sequence[Hashable], new: Sequence[Hashable]) -> _Pairs:
    """The longest common subsequence, by the table of its lengths."""
    below = [0] * (len(new) + 1)
    table = [below]
    for value in reversed(old):
        line = [0] * (len(new) + 1)
        for j in range(len(new) - 1, -1, -1):
            if value == new[j]:
                line[j] = below[j + 1] + 1
            else:
                line[j] = below[j] if below[j] > line[j + 1] else line[j + 1]
        table.append(line)
        below = line
    table.reverse()
    found: _Pairs = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _between(old: Sequence[str], new: Sequence[str], budget: _Budget) -> list[Row]:
    """Rows for lines of which none is in both texts."""
    rows: list[Row] = []
    i = j = 0
    for at, other in [*_alike(old, new, budget), (len(old), len(new))]:
        rows += [Row((("removed", line),)) for line in old[i:at]]
        rows += [Row((("added", line),)) for line in new[j:other]]
        if at < len(old):
            rows.append(Row(tuple(_pieces(old[at], new[other], budget))))
        i, j = at + 1, other + 1
    return rows


def _alike(old: Sequence[str], new: Sequence[str], budget: _Budget) -> _Pairs:
    """Pairs of lines that share much, in the order of both; together they share most."""
    old_words, new_words = (
        [Counter(filter(str.strip, words(line))) for line in lines] for lines in (old, new)
    )
    size = sum(map(len, old_words)) * len(new) + len(old) * len(new)
    if not budget.allows(size, 1):
        return []
    share = [[_likeness(line, other) for other in new_words] for line in old_words]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], share[i][j] + best[i + 1][j + 1])
    found: _Pairs = []
    i = j = 0
    while i < len(old) and j < len(new):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            found.append((i, j))
            i, j = i + 1, j + 1
    return found


def _likeness(words: Counter[str], others: Counter[str]) -> float:
    """The part of their words that two lines share, 0 where that is little."""
    shared = 2 * sum((words & others).values()) / max(1, words.total() + others.total())
    return shared if shared >= LIKE else 0.0


def words(line: str) -> list[str]:
    """A line in pieces that are compared whole; joined they are the line."""
    return _TOKEN.findall(line)


def _pieces(old: str, new: str, budget: _Budget) -> list[Piece]:
    """Two lines in one, cut where they differ."""
    if old == new:  # the budget was spent before they were found to be
        return [("same", old)]
    before, after = words(old), words(new)
    pieces: list[Piece] = []
    i = j = 0
    for at, other in [*common(before, after, budget), (len(before), len(after))]:
        pieces += [("removed", "".join(before[i:at])), ("added", "".join(after[j:other]))]
        pieces += [("same", word) for word in before[at : at + 1]]
        i, j = at + 1, other + 1
    return _readable([piece for piece in pieces if piece[1]])


def _readable(pieces: list[Piece]) -> list[Piece]:
    """The same with neighbours joined, and short agreements between two changes told as changed, too."""
    groups: list[list[str]] = [["", "", ""]]  # removed, added, and the same behind both
    for op, text in pieces:
        if op == "same":
            groups[-1][2] += text
        elif groups[-1][2]:
            groups.append([text, ""] if op == "removed" else ["", text])
            groups[-1].append("")
        else:
            groups[-1][0 if op == "removed" else 1] += text
    told: list[list[str]] = []
    for removed, added, same in groups:
        if told and any(told[-1][:2]) and len(told[-1][2].strip()) <= SHORT_CHARS:
            before = told.pop()
            removed, added = before[0] + before[2] + removed, before[1] + before[2] + added
        told.append([removed, added, same])
    ops: tuple[Op, ...] = ("removed", "added", "same")
    return [(op, text) for group in told for op, text in zip(ops, group, strict=True) if text]
