"""How do English words bend?

In:    an entry: a noun ("cake", "loaf/loaves" when the plural is its own), a deed whose first word is the
       verb ("bake {what.a}"), an adjective, or a place with its preposition ("at the market").
Out:   nouns: sg, pl, a, the. Deeds: base, s (bakes), past, pp, ing. Adjectives: a (an old), er (older).
       Places: np (the market).
Never: guesses: verbs that do not follow the rules stand in the tables below.
"""

from __future__ import annotations

from collections.abc import Callable

#: base, past, participle.
_IRREGULAR_VERBS = """
    blow blew blown, break broke broken, broadcast broadcast broadcast, build built built,
    buy bought bought, catch caught caught, choose chose chosen, cut cut cut, dig dug dug,
    draw drew drawn, drink drank drunk, eat ate eaten, feed fed fed, find found found,
    forget forgot forgotten, give gave given, go went gone, grow grew grown, keep kept kept,
    lead led led, leave left left, lose lost lost, meet met met, pay paid paid, put put put,
    read read read, ride rode ridden, run ran run, see saw seen, sell sold sold, send sent sent,
    set set set, show showed shown, sing sang sung, sit sat sat, spread spread spread, swim swam swum,
    take took taken, teach taught taught, think thought thought, throw threw thrown, win won won,
    withdraw withdrew withdrawn, write wrote written
"""
_IRREGULAR = {
    base: (past, participle) for base, past, participle in map(str.split, _IRREGULAR_VERBS.split(","))
}

#: Verbs that double their last letter before -ed and -ing.
_DOUBLING = frozenset(
    "cancel chop cut dig forget hum put repot run set sit stir stop swim travel trim win wrap".split()
)
#: Adjectives of two syllables that still take -er.
_SHORT = frozenset({"quiet", "simple", "narrow", "gentle"})
_VOWELS = "aeiou"
#: Written with a vowel but spoken with a consonant.
_LIKE_CONSONANT = ("uni", "use")


def article(phrase: str) -> str:
    """The phrase with "a" or "an" in front."""
    vowel = phrase[0] in _VOWELS and not phrase.startswith(_LIKE_CONSONANT)
    return f"an {phrase}" if vowel else f"a {phrase}"


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ed"


def _ing(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return (verb + verb[-1] if verb in _DOUBLING else verb) + "ing"


def _more(adjective: str) -> str:
    if adjective.endswith("y") and len(adjective) <= 7:
        return adjective[:-1] + "ier"
    if adjective in _SHORT or _syllables(adjective) == 1:
        doubled = len(adjective) > 2 and adjective[-1] in "tgdnm" and adjective[-2] in _VOWELS
        ends_short = doubled and adjective[-3] not in _VOWELS and adjective not in _SHORT
        return adjective.removesuffix("e") + (adjective[-1] if ends_short else "") + "er"
    return f"more {adjective}"


def _syllables(word: str) -> int:
    groups = sum(
        letter in _VOWELS + "y" and (place == 0 or word[place - 1] not in _VOWELS + "y")
        for place, letter in enumerate(word.removesuffix("e"))
    )
    return max(groups, 1)


def _plural(noun: str) -> str:
    singular, _, plural = noun.partition("/")
    return plural or _with_s(singular)


def _singular(noun: str) -> str:
    return noun.partition("/")[0]


_VERB: dict[str, Callable[[str], str]] = {
    "base": lambda verb: verb,
    "s": _with_s,
    "past": lambda verb: _IRREGULAR[verb][0] if verb in _IRREGULAR else _past(verb),
    "pp": lambda verb: _IRREGULAR[verb][1] if verb in _IRREGULAR else _past(verb),
    "ing": _ing,
}
_WHOLE: dict[str, Callable[[str], str]] = {
    "sg": _singular,
    "pl": _plural,
    "a": lambda entry: article(_singular(entry)),
    "the": lambda entry: f"the {_singular(entry)}",
    "er": _more,
    "np": lambda entry: entry.partition(" ")[2],
}


def inflect(symbol: str, entry: str, form: str) -> str:
    """The `Inflect` of English."""
    if form in _WHOLE:
        return _WHOLE[form](entry)
    verb, space, rest = entry.partition(" ")
    return _VERB[form](verb) + space + rest
