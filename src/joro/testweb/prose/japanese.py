"""How do Japanese verbs and adjectives bend?

In:    an entry, "味噌汁を 作る": what stays, a space, and the word that bends (no space: all of it bends).
Out:   the entry in the wished form, "味噌汁を作りました".
Never: guesses a verb's class from its look: one-step (ichidan) verbs are written with a bar, 食べ|る;
       する, 来る and 行く are known; all others ending in an う-sound bend in five steps (godan).
       …い is an adjective, …な and …の a noun-like adjective (静かな, 無料の).

A form is a path, each step made from the one before: `passive.past`, `want.te`. Steps that make a new
word: passive, causative, potential, progressive (ている), want (たい), very, never (adverb put in front).
Last steps that follow the style (plain or polite): pres, past, neg, negpast, let. Last steps that never
do: dict, ta, te, nai, nakatta, ba, tara, nakereba, stem, mod (before a noun), no (before の, ので),
adverb.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from joro.testweb.prose.grammar import Inflect

#: For the last kana of a five-step verb: its あ, い, え, お rows, て-form and た-form.
_FIVE_STEPS = {
    "う": ("わ", "い", "え", "お", "って", "った"),
    "く": ("か", "き", "け", "こ", "いて", "いた"),
    "ぐ": ("が", "ぎ", "げ", "ご", "いで", "いだ"),
    "す": ("さ", "し", "せ", "そ", "して", "した"),
    "つ": ("た", "ち", "て", "と", "って", "った"),
    "ぬ": ("な", "に", "ね", "の", "んで", "んだ"),
    "ぶ": ("ば", "び", "べ", "ぼ", "んで", "んだ"),
    "む": ("ま", "み", "め", "も", "んで", "んだ"),
    "る": ("ら", "り", "れ", "ろ", "って", "った"),
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word that bends: its unbending front, its stem, and how the rest behaves."""

    front: str
    stem: str
    kind: str  # one of: five, one, する, 来る, い, な, の
    ending: str = ""  # the last kana of a five-step verb


def parse(entry: str) -> Word:
    """The entry, taken apart."""
    front, _, word = entry.rpartition(" ")
    if word.endswith("|る"):
        return Word(front, word[:-2], "one")
    for kind in ("する", "来る"):
        if word.endswith(kind):
            return Word(front, word.removesuffix(kind), kind)
    if word[-1] in "いなの":
        return Word(front, word[:-1], word[-1])
    return Word(front, word[:-1], "five", word[-1])


def verb_forms(word: Word) -> dict[str, str]:
    """The endings from which every form of a verb is built."""
    if word.kind == "one":
        return _endings("る", "", "", "れ", "よ", "て", "た", "られ", "られ", "させ")
    if word.kind == "する":
        return _endings("する", "し", "し", "すれ", "しよ", "して", "した", "され", "でき", "させ")
    if word.kind == "来る":
        return _endings("来る", "来", "来", "来れ", "来よ", "来て", "来た", "来られ", "来られ", "来させ")
    a, i, e, o, te, ta = _FIVE_STEPS[word.ending]
    if word.stem.endswith("行"):
        te, ta = "って", "った"
    return _endings(word.ending, a, i, e, o, te, ta, a + "れ", e, a + "せ")


def _endings(*endings: str) -> dict[str, str]:
    names = ("dict", "a", "i", "e", "o", "te", "ta", "passive", "potential", "causative")
    return dict(zip(names, endings, strict=True))


def _verb(word: Word, form: str) -> str:
    ending = verb_forms(word)
    if form in ("nai", "nakatta", "nakereba") and word.stem == "あ" and word.ending == "る":
        return {"nai": "ない", "nakatta": "なかった", "nakereba": "なければ"}[form]
    table = {
        "dict": ending["dict"],
        "mod": ending["dict"],
        "no": ending["dict"],
        "stem": ending["i"],
        "te": ending["te"],
        "ta": ending["ta"],
        "tara": ending["ta"] + "ら",
        "ba": ending["e"] + "ば",
        "nai": ending["a"] + "ない",
        "nakatta": ending["a"] + "なかった",
        "nakereba": ending["a"] + "なければ",
        "let": ending["o"] + "う",
        "masu": ending["i"] + "ます",
        "mashita": ending["i"] + "ました",
        "masen": ending["i"] + "ません",
        "masendeshita": ending["i"] + "ませんでした",
        "mashou": ending["i"] + "ましょう",
    }
    return word.stem + table[form]


_ADJECTIVE = {
    "dict": "い",
    "no": "い",
    "mod": "い",
    "adverb": "く",
    "te": "くて",
    "ta": "かった",
    "tara": "かったら",
    "ba": "ければ",
    "nai": "くない",
    "nakatta": "くなかった",
    "masu": "いです",
    "mashita": "かったです",
    "masen": "くありません",
    "masendeshita": "くありませんでした",
}

_NOUN_LIKE = {
    "dict": "だ",
    "no": "な",
    "adverb": "に",
    "te": "で",
    "ta": "だった",
    "tara": "だったら",
    "ba": "であれば",
    "nai": "ではない",
    "nakatta": "ではなかった",
    "masu": "です",
    "mashita": "でした",
    "masen": "ではありません",
    "masendeshita": "ではありませんでした",
}


def _end(word: Word, form: str) -> str:
    if word.kind == "い":
        return word.stem + _ADJECTIVE[form]
    if word.kind in ("な", "の"):
        return word.stem + (word.kind if form == "mod" else _NOUN_LIKE[form])
    return _verb(word, form)


def _one_step(word: Word, ending: str) -> Word:
    return Word(word.front, word.stem + ending, "one")


_DERIVE: dict[str, Callable[[Word], Word]] = {
    "passive": lambda word: _one_step(word, verb_forms(word)["passive"]),
    "causative": lambda word: _one_step(word, verb_forms(word)["causative"]),
    "potential": lambda word: _one_step(word, verb_forms(word)["potential"]),
    "progressive": lambda word: _one_step(word, verb_forms(word)["te"] + "い"),
    "want": lambda word: Word(word.front, word.stem + verb_forms(word)["i"] + "た", "い"),
    "very": lambda word: Word(word.front + "{degree}", word.stem, word.kind, word.ending),
    "never": lambda word: Word(word.front + "{hardly}", word.stem, word.kind, word.ending),
}

#: Last steps that follow the style.
_STYLED = {
    "plain": {"pres": "dict", "past": "ta", "neg": "nai", "negpast": "nakatta", "let": "let"},
    "polite": {"pres": "masu", "past": "mashita", "neg": "masen", "negpast": "masendeshita", "let": "mashou"},
}


def inflector(style: str) -> Inflect:
    """The `Inflect` of Japanese in a style, "plain" or "polite"."""
    styled = _STYLED[style]

    def inflect(symbol: str, entry: str, form: str) -> str:
        word = parse(entry)
        *steps, last = form.split(".")
        for step in steps:
            word = _DERIVE[step](word)
        return word.front + _end(word, styled.get(last, last))

    return inflect
