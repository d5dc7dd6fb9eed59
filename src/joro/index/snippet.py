"""Which piece of a text shows best why it was found?

In:    a document's text as it was written, and the words or phrases asked for.
Out:   a short piece of it, and the places in it that match.
Never: makes HTML; whoever shows a snippet escapes its text.

Matches are searched in the *folded* text, as the index did, and shown in the original one. Where both
differ in length (full-width letters, ligatures) only the lines shown are mapped back, character by
character, because that is slow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from joro.index.terms import LETTER, MARK, PAIRED, WORD_LIMIT_CHARS, fold, runs

#: Columns of a snippet on a screen; a kanji takes two. About two lines of a result list.
WIDTH_COLUMNS = 220
#: Matches looked at per word: a text that says one word a thousand times needs no more to be judged.
_MATCH_LIMIT = 100

_LETTER, _MARK, _IN_WORD = re.compile(LETTER), re.compile(MARK), re.compile(f"{LETTER}|{MARK}")
_PAIRED = re.compile(f"[{PAIRED}]")
_STOP = re.compile(r"[。．！？\n]|[.!?]\s")
#: Characters that melt into the one before them when a text is folded, beside combining marks.
_MELTING = frozenset(chr(c) for c in (0xFF9E, 0xFF9F, *range(0x1160, 0x1200)))


@dataclass(frozen=True, slots=True)
class Marked:
    """A text and the places in it to highlight: in order, apart, inside it."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The text cut at its marks, as (piece, highlighted)."""
        at = 0
        for start, end in self.spans:
            if at < start:
                yield self.text[at:start], False
            yield self.text[start:end], True
            at = end
        if at < len(self.text):
            yield self.text[at:], False


@dataclass(frozen=True, slots=True)
class Pattern:
    """What finds one query word or phrase in a folded text, just where the index found its terms.

    That a word ends at its ends is checked apart: written into the expression, the many ranges of what
    is a letter would make compiling it cost more than the rest of a search (2 ms).
    """

    regex: re.Pattern[str]
    starts_word: bool
    ends_word: bool

    def spans(self, folded: str) -> Iterator[tuple[int, int]]:
        at = 0
        while found := self.regex.search(folded, at):
            start, end = found.span()
            if self._is_whole(folded, found):
                yield start, end
                at = end
            else:
                at = start + 1

    def _is_whole(self, folded: str, found: re.Match[str]) -> bool:
        start, end = found.span()
        if self.ends_word and _IN_WORD.match(folded, end):
            return False
        if self.starts_word and _goes_on_before(folded, start):
            return False
        return not any(_says_more(folded, *found.span(gap + 1)) for gap in range(self.regex.groups))


def _goes_on_before(folded: str, at: int) -> bool:
    """Does a word, with any marks at its end, reach up to here?"""
    while at and _MARK.match(folded, at - 1):
        at -= 1
    return at > 0 and bool(_LETTER.match(folded, at - 1))


def _says_more(folded: str, start: int, end: int) -> bool:
    """Does what lies between two runs belong to one of them, or is it one?

    Accents that stand alone, and vowel signs, are no characters of a word to `re`, but to the index.
    """
    return bool(_PAIRED.search(folded, start, end)) or (
        bool(_MARK.match(folded, start, end)) and bool(_IN_WORD.match(folded, start - 1))
    )


def pattern(word: str) -> Pattern | None:
    """The pattern of one query word or phrase; none when it holds no letter or digit."""
    parts: list[str] = []
    kinds: list[bool] = []  # is the run a word?
    for letters, paired in runs(fold(word)):
        if parts:
            parts.append(r"([\W_]+?)" if kinds[-1] == bool(letters) else r"([\W_]*?)")
        parts.append(re.escape(letters[:WORD_LIMIT_CHARS] or paired))
        kinds.append(bool(letters))
    if not parts:
        return None
    return Pattern(re.compile("".join(parts)), kinds[0], kinds[-1] and len(parts[-1]) < WORD_LIMIT_CHARS)


def mark(text: str, patterns: Sequence[Pattern]) -> Marked:
    """The whole text (a title) with its matches."""
    folded = fold(text)
    matches = [span for _, span in _matches(folded, patterns)]
    places = _Places(text, folded, 0, len(folded))
    return Marked(text, tuple(_merged(map(places.of, matches))))


def snippet(text: str, patterns: Sequence[Pattern]) -> Marked:
    """The piece of a text with the most different matches, or its beginning when nothing matches."""
    folded = fold(text)
    matches = sorted(_matches(folded, patterns), key=lambda match: match[1])
    start, end = _best_window(folded, matches)
    spans = [(max(a, start), min(b, end)) for _, (a, b) in matches if a < end and b > start]
    places = _Places(text, folded, start, end)
    return _cut(text, places.of((start, end)), _merged(map(places.of, spans)))


def _matches(folded: str, patterns: Sequence[Pattern]) -> Iterator[tuple[int, tuple[int, int]]]:
    for which, each in enumerate(patterns):
        for span in islice(each.spans(folded), _MATCH_LIMIT):
            yield which, span


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def _best_window(folded: str, matches: Sequence[tuple[int, tuple[int, int]]]) -> tuple[int, int]:
    """Start and end of the piece to show; of equally good ones the first."""
    width = _width(folded, matches[0][1][0] if matches else 0)
    if not matches:
        return 0, min(width, len(folded))
    best = (0, 0, 0, 0)  # different matches, matches, start, end
    last = 0
    for first, (_, (start, _)) in enumerate(matches):
        while last < len(matches) and matches[last][1][1] <= start + width * 4 // 5:
            last += 1
        inside = matches[first : max(last, first + 1)]
        score = (len({which for which, _ in inside}), min(len(inside), 5))
        if score > best[:2]:
            best = (*score, start, inside[-1][1][1])
    return _settled(folded, best[2], best[3], width)


def _settled(folded: str, first: int, last: int, width: int) -> tuple[int, int]:
    """Give the matches from `first` to `last` some context, beginning where a sentence or word does."""
    last = min(last, first + width)
    start = earliest = max(0, first - (width - (last - first)) // 2)
    if earliest:
        stop = _STOP.search(folded, earliest, first)
        start = stop.end() if stop else folded.find(" ", earliest, first) + 1 or earliest
    while start < first and folded[start].isspace():
        start += 1
    end = min(start + width, len(folded))
    if end < len(folded) and not _PAIRED.match(folded[end]):
        space = folded.rfind(" ", last, end)
        end = space if space > 0 else end
    return start, end


def _width(folded: str, start: int) -> int:
    """How many characters of the text around `start` fill the columns of a snippet."""
    sample = folded[max(0, start - 50) : start + 100]
    wide = len(_PAIRED.findall(sample)) / max(len(sample), 1)
    return int(WIDTH_COLUMNS / (1 + wide))


class _Places:
    """Where spans of a folded text, from `start` to `end`, lie in the original one."""

    def __init__(self, text: str, folded: str, start: int, end: int) -> None:
        self._same = len(text) == len(folded) and unicodedata.is_normalized("NFKC", text)
        if not self._same:
            self._from = folded.rfind("\n", 0, start) + 1
            at = _line_start(text, folded.count("\n", 0, start))
            self._begins, self._ends = _offsets(text, at, end - self._from)

    def of(self, span: tuple[int, int]) -> tuple[int, int]:
        if self._same:
            return span
        begin, end = (min(at - self._from, len(self._begins) - 1) for at in span)
        return self._begins[begin], max(self._begins[begin], self._ends[end])


def _line_start(text: str, number: int) -> int:
    at = 0
    for _ in range(number):
        at = text.find("\n", at) + 1
    return at


def _offsets(text: str, at: int, count: int) -> tuple[list[int], list[int]]:
    """For the first `count` folded characters from `at` on: where a span beginning with that one begins
    in the original text, and where a span ending before it ends."""
    begins: list[int] = []
    ends: list[int] = [at]
    while len(begins) <= count and at < len(text):
        after = at + 1
        while after < len(text) and _melts(text[after]):
            after += 1
        length = len(fold(text[at:after]))
        begins += [at] * length
        ends += [after] * length
        at = after
    return [*begins, at], ends


def _melts(character: str) -> bool:
    return unicodedata.combining(character) > 0 or character in _MELTING


def _cut(text: str, window: tuple[int, int], spans: Iterable[tuple[int, int]]) -> Marked:
    """The piece of `text`, on one line, with … where something was left out."""
    start, end = window
    before = "…" if start > 0 else ""
    after = "…" if end < len(text) else ""
    piece = text[start:end].replace("\n", " ").replace("\t", " ")
    shift = len(before) - start
    return Marked(f"{before}{piece}{after}", tuple((a + shift, b + shift) for a, b in spans))
