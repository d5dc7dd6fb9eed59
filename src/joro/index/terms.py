"""Which terms does a text consist of?

In:    any text, of a document or of a query.
Out:   its terms in order; the place in the list is the position the index keeps.
Never: tells documents and queries apart, except at a query's very end (see `Wanted`).

Two kinds of runs make up a text. *Words* of scripts that put spaces between them are one term each.
Scripts without spaces (kanji, kana, Thai …), and Korean and Indic ones, whose endings cling to the
word, are cut into overlapping pairs of characters: 東京都 → 東京 京都 都. The last character also
stands alone, so every character begins exactly one term: a single 都 is found as "any term
beginning with 都", a longer word as the phrase of its pairs, and no dictionary is needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

#: Longer words (keys, encoded bytes) are cut here, in documents and queries alike.
WORD_LIMIT_CHARS = 64

#: Characters of scripts cut into pairs: Indic without its full stops, Thai, Lao, Burmese, Khmer, Korean,
#: kana without the middle dot, kanji with their repetition marks.
PAIRED = (
    "\u0900-\u0963\u0966-\u0dff\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
#: One character of a word: a letter or digit of any other script.
LETTER = rf"[^\W_{PAIRED}]"
#: Marks that stay inside a word although Python does not count them as its characters.
MARK = "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]"

_RUN = re.compile(rf"({LETTER}+(?:{MARK}+{LETTER}*)*)|([{PAIRED}]+)")
#: What no text for people holds: control characters, overrides of the writing direction, half surrogates.
_ILLEGIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The terms one query word or phrase asks for, next to each other and in order."""

    terms: tuple[str, ...]
    open: bool = False  # the last term is a single paired character: whatever begins with it will do


def legible(text: str) -> str:
    """The same text without characters that could fool a terminal or break an encoder."""
    return _ILLEGIBLE.sub(" ", text)


def fold(text: str) -> str:
    """One spelling per word: full-width and half-width, upper and lower case become the same.

    Neither step looks across a line break, so lines are folded one by one: most need none of it, and that is
    seen quickly. A whole page in one go takes three times as long.
    """
    lines = [unicodedata.normalize("NFKC", line) for line in text.split("\n")]
    return "\n".join(lines).casefold()


def runs(folded: str) -> Iterator[tuple[str, str]]:
    """Each run of a folded text as (word, "") or ("", paired characters)."""
    for found in _RUN.finditer(folded):
        yield found[1] or "", found[2] or ""


def terms(text: str) -> list[str]:
    """The terms of a text; `columns.joined` gives those of long ones faster."""
    result: list[str] = []
    for word, paired in _RUN.findall(fold(text)):
        if word:
            result.append(word[:WORD_LIMIT_CHARS])
        else:
            result += [paired[i : i + 2] for i in range(len(paired))]
    return result


def wanted(text: str) -> Wanted | None:
    """The terms of one query word or phrase; nothing when it holds no letter or digit.

    The text of a document may go on where the query ends, so the last character of a final paired run
    is not asked for as a term of its own.
    """
    sequence = terms(text)
    if not sequence:
        return None
    *_, (_, paired) = runs(fold(text))
    if len(paired) > 1:
        sequence.pop()
    return Wanted(tuple(sequence), open=len(paired) == 1)
