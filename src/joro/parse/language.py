"""In which language is a text written?

In:    the visible text of a page, and what the page says about itself.
Out:   a BCP 47 language ("ja", "en"), "" when unsure.
Never: believes a declaration against a clear text: half the templates of the world say lang="en".

Scripts first: kana is Japanese, hangul Korean, Han without kana Chinese. Everything else is left to
turbohtml's trigrams, which need some forty letters; below that, the declaration counts.
"""

from __future__ import annotations

import functools
import re
from collections import Counter

from turbohtml.detect import LanguageDetection, detect_language

#: As much of a text as is looked at: pieces from its beginning, middle and end, for menus may differ.
_PIECE_CHARS = 300

#: Fewer letters of an alphabet say too little; below the confidence the nearest relative is as likely.
_ENOUGH_LETTERS = 40
_ENOUGH_CONFIDENCE = 0.5

#: Chinese and Japanese say more with a character than others do with a letter.
_WIDE_WEIGHT = 3

#: Japanese has a kana for every second or third character. A Chinese page that links to Japanese ones has
#: some, and so has a list of Japanese nouns: between the two shares, the declaration decides.
_KANA_SHARE, _SOME_KANA_SHARE = 0.2, 0.02

#: A text of Han characters alone that is no longer than a title may well be Japanese, if the page says so.
_TITLE_CHARS = 60

_DECLARED = re.compile(r"[a-z]{2,3}(?![a-z])")

#: ISO 639-3, as the trigrams speak, to the shorter codes BCP 47 prefers.
_SHORT = {
    pair[:3]: pair[4:]
    for pair in (
        "afr:af ara:ar aze:az bel:be ben:bn bul:bg cat:ca ces:cs cmn:zh cym:cy dan:da deu:de ell:el eng:en "
        "epo:eo est:et fin:fi fra:fr guj:gu heb:he hin:hi hrv:hr hun:hu hye:hy ind:id ita:it jav:jv jpn:ja "
        "kan:kn kat:ka kaz:kk khm:km kor:ko lat:la lav:lv lit:lt mal:ml mar:mr mkd:mk mya:my nep:ne nld:nl "
        "nob:nb ori:or pan:pa pes:fa pol:pl por:pt ron:ro rus:ru sin:si slk:sk slv:sl sna:sn spa:es srp:sr "
        "swe:sv tam:ta tel:te tgl:tl tha:th tuk:tk tur:tr ukr:uk urd:ur uzb:uz vie:vi yid:yi zul:zu"
    ).split()
}

#: Languages so near to a bigger one that short texts of that are taken for them; only if declared.
_NEAR = {"afr": "af", "epo": "eo", "lat": "la", "jav": "jv", "sna": "sn", "zul": "zu"}


def language_of(text: str, declared: str = "") -> str:
    """The language of a text; `declared` decides where the text does not."""
    claim = _primary(declared)
    sample = _sample(text)
    if not sample.isascii() and (language := _by_script(sample, claim)):
        return language
    return _by_trigrams(sample, claim) or claim


def _primary(declared: str) -> str:
    """`ja` of ` JA-jp`; "" for what is no language tag."""
    match = _DECLARED.match(declared.strip().lower())
    return match[0] if match else ""


def _sample(text: str) -> str:
    if len(text) <= 3 * _PIECE_CHARS:
        return text
    middle = len(text) // 2
    return "\n".join((text[:_PIECE_CHARS], text[middle : middle + _PIECE_CHARS], text[-_PIECE_CHARS:]))


def _by_script(sample: str, claim: str) -> str:
    kana = hangul = han = others = 0
    for character, times in Counter(sample).items():
        if character < "\u1100":
            others += times if character.isalpha() else 0
        elif "\u3041" <= character <= "\u30fa" or "\uff66" <= character <= "\uff9d":
            kana += times
        elif (
            "\u4e00" <= character <= "\u9fff"
            or "\u3400" <= character <= "\u4dbf"
            or character >= "\U00020000"
        ):
            han += times
        elif "\uac00" <= character <= "\ud7a3":
            hangul += times
    if (kana + hangul + han) * _WIDE_WEIGHT <= others:
        return ""
    return _of_wide(kana, hangul, han, claim)


def _of_wide(kana: int, hangul: int, han: int, claim: str) -> str:
    if hangul > kana + han:
        return "ko"
    share = kana / (kana + han)
    if share > _KANA_SHARE or (claim == "ja" and (share > _SOME_KANA_SHARE or han < _TITLE_CHARS)):
        return "ja"
    return "zh"


def _by_trigrams(sample: str, claim: str) -> str:
    if sum(map(str.isalpha, sample[:_PIECE_CHARS])) < _ENOUGH_LETTERS:
        return ""
    match = detect_language(sample, _detection(claim))
    if match.language is None or match.confidence < _ENOUGH_CONFIDENCE:
        return ""
    return _SHORT.get(match.language, match.language)


@functools.lru_cache(maxsize=64)
def _detection(claim: str) -> LanguageDetection:
    return LanguageDetection(excluded=frozenset(long for long, short in _NEAR.items() if short != claim))
