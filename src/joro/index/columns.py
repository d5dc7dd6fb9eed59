"""How are long texts cut into terms quickly?

In:    the text of a document.
Out:   the same terms as `terms.terms` gives, in the same order, as one string with spaces between them.
Never: gives other terms than the plain way, which short and odd texts take, and which the tests compare.

Cutting was up to half of all indexing. Here all characters of a text are looked at together, as columns of
numbers: two to three times as fast on 2,000 characters, four to nine times on 40,000.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import numpy.typing as npt

from joro.index.terms import LETTER, MARK, PAIRED, WORD_LIMIT_CHARS, fold, terms

#: Below, setting up the columns costs more than it saves.
WORTHWHILE_CHARS = 700

#: What a character is to us. ODD ones take the plain way: combining marks, and planes without letters.
_GAP, _LETTER, _PAIRED, _ODD = 0, 1, 2, 3
#: From here on to the odd ones there are only kanji, so one place in the table stands for all of them.
_RARE_KANJI, _BEYOND = 0x20000, 0x40000
_SPACE = 0x20
_UTF32 = "utf-32-le"


def joined(text: str) -> str:
    """The terms of a text, for a tokenizer that only splits at spaces (five times as fast as handing over
    each term with its position)."""
    folded = fold(text)
    if len(folded) < WORTHWHILE_CHARS:
        return " ".join(terms(text))
    characters = np.frombuffer(folded.encode(_UTF32, "surrogatepass"), np.uint32)
    kinds = _kinds()[np.minimum(characters, _RARE_KANJI)]
    if (kinds == _ODD).any() or characters.max() >= _BEYOND:
        return " ".join(terms(text))
    result = _spread(characters, kinds)
    if _longest(result) > WORD_LIMIT_CHARS:
        return " ".join(terms(text))
    return result.tobytes().decode(_UTF32)


def _spread(characters: npt.NDArray[np.uint32], kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """Each character gives up to three: itself, the one it is paired with, a space where a term ends."""
    letter, paired = kinds == _LETTER, kinds == _PAIRED
    places = np.full((len(characters), 3), _SPACE, np.uint32)
    places[:, 0] = characters
    places[:-1, 1] = characters[1:]
    used = np.zeros((len(characters), 3), np.bool_)
    used[:, 0] = letter | paired
    used[:-1, 1] = paired[:-1] & paired[1:]
    used[:, 2] = paired | letter
    used[:-1, 2] &= ~(letter[:-1] & letter[1:])
    return places[used]


def _longest(result: npt.NDArray[np.uint32]) -> int:
    ends = np.flatnonzero(result == _SPACE)
    return int(np.diff(ends, prepend=-1).max(initial=1)) - 1


@functools.cache
def _kinds() -> npt.NDArray[np.uint8]:
    """The kind of each character, by the patterns of `terms`."""
    kinds = np.zeros(_RARE_KANJI + 1, np.uint8)
    everything = "".join(map(chr, range(len(kinds))))
    for pattern, kind in ((f"{LETTER}+", _LETTER), (f"[{PAIRED}]+", _PAIRED), (f"{MARK}+", _ODD)):
        for run in re.finditer(pattern, everything):
            kinds[run.start() : run.end()] = kind
    return kinds
