"""Which word stands on one page only?

In:    a language and a number.
Out:   an invented, pronounceable word in that language's script; another number gives another word, and
       so does another language.
Never: a word of the word lists; no word of a language holds another (below `CAPACITY` numbers all have
       the same length), so a search for one finds one.
"""

from __future__ import annotations

from dataclasses import dataclass

from joro.testweb.prose.topics import LANGUAGES


@dataclass(frozen=True, slots=True)
class _Script:
    syllables: tuple[str, ...]
    length: int
    endings: tuple[str, ...]

    @property
    def capacity(self) -> int:
        return int(len(self.syllables) ** self.length)


def _syllables(consonants: str, vowels: str) -> tuple[str, ...]:
    return tuple(consonant + vowel for consonant in consonants for vowel in vowels)


# Voiced and p-sounds: rare enough in native words that five in a row mean nothing.
_KATAKANA = tuple("ガギグゲゴザズゼゾダデドバビブベボパピプペポヌムモルレロワ")
# What the invented thing is: a stone, a herb, a bird, a fish, a method, a feast …
_KANJI = tuple("石草鳥魚式祭酒丸山島川村法派貝茶")
_HANZI = tuple("曦翊珞钰瑾璇琨璞晗曜煜烨熠沅浔泠湛澜淼霁霖岚峤嵘崧昶晏栩梓榕楠樾笙筠箬荻蕙芷蓼菱杳桢柘槿琬")
_HANGUL = tuple("갈겔골굴글날넬놀눌늘달델돌둘들랄렐롤룰를말멜몰물밀발벨볼불빌살셀솔술슬")
_LATIN = _syllables("bdfgklmnprstvz", "aeiou")
_CYRILLIC = _syllables("бвгджзклмнпрст", "аеиоу")

_SCRIPTS = {
    "ja": _Script(_KATAKANA, 5, _KANJI),
    "zh": _Script(_HANZI, 4, ("",)),
    "ko": _Script(_HANGUL, 4, ("",)),
    "ru": _Script(_CYRILLIC, 4, ("х",)),
    # The last letter tells the languages apart, and no stemmer takes it for an ending.
    **{
        language: _Script(_LATIN, 4, (letter,))
        for language, letter in {
            "en": "x",
            "de": "k",
            "fr": "c",
            "es": "z",
            "it": "b",
            "pt": "g",
            "nl": "p",
        }.items()
    },
}

#: So many numbers give words of equal length in every language.
CAPACITY = min(script.capacity for script in _SCRIPTS.values())

#: A prime that divides no capacity: counting by it visits every word once, far from the one before.
_STEP = 2_654_435_761
#: Where the counting begins, so that number 0 looks like any other.
_SHIFT = 1_234_577


def rare_word(language: str, number: int) -> str:
    """The invented word of `language` with that number, counted from 0."""
    if language not in LANGUAGES or number < 0:
        raise ValueError(
            f"no rare word {number} in {language!r}; numbers start at 0, languages are {LANGUAGES}"
        )
    script = _SCRIPTS[language]
    more, place = divmod(number, script.capacity)
    place = (place * _STEP + _SHIFT) % script.capacity
    word = _spell(place, script, script.length)
    while more:
        more, digit = divmod(more - 1, len(script.syllables))
        word += script.syllables[digit]
    return word + script.endings[place % len(script.endings)]


def _spell(place: int, script: _Script, length: int) -> str:
    letters: list[str] = []
    for _ in range(length):
        place, digit = divmod(place, len(script.syllables))
        letters.append(script.syllables[digit])
    return "".join(letters)
