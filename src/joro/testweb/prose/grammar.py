"""How do word lists and rules become sentences, fast?

In:    the word files of one language (`words/<language>/*.txt`), a topic, and tags such as a style.
Out:   `Rule`s whose `write(rng)` strings together one text; the same `rng` state gives the same text.
Never: draws from anything but the `rng` it is given, or knows a particular language.

A word file has sections, `[general]` for every topic and one per topic, which add up. In a section

    what: cake, soup            names a symbol and its entries, parted by commas
    sentence:                   the same with one entry per indented line,
      3* {who} likes {what.a}.  here one that counts three times
    copula@polite: です          entries that count only under the tag `polite`
    food: @what, bread          takes over the entries of `what`
    form what.acc: $2           (at the top of a file) form `acc` of `what` is its second column

and inside an entry `{what}` stands for any entry of `what`, `{what.a}` for its form `a` (the language's
`Inflect` makes it), `{=ある.past}` for a form of the word written there, `{#2-9}` for a number and
`{##2-9}` for one in full-width digits. A symbol that stands twice in one entry is dealt out like
cards, so that `{what}と{what}` never says the same word twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from random import Random

#: (symbol, entry, form) to the entry in that form; the result may again hold `{…}`.
Inflect = Callable[[str, str, str], str]

_REFERENCE = re.compile(r"\{([^{}]+)\}")
_WEIGHT = re.compile(r"(\d+)\* ")
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


class GrammarError(ValueError):
    """A word file refers to something that does not exist."""


@dataclass(slots=True)
class Lexicon:
    """The word files of one language, read but not yet understood."""

    sections: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)


@cache
def read_lexicon(language: str) -> Lexicon:
    """All word files of `language`, in the order of their names."""
    lexicon = Lexicon()
    folder = resources.files("joro.testweb.prose").joinpath("words", language)
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        _read(file.read_text(encoding="utf-8").splitlines(), lexicon)
    return lexicon


def _read(lines: Iterable[str], lexicon: Lexicon) -> None:
    section: dict[str, list[str]] = {}
    symbol = ""
    for line in lines:
        text = line.strip()
        if not text or text.startswith("# "):
            continue
        if text.startswith("[") and text.endswith("]"):
            section = lexicon.sections.setdefault(text[1:-1], {})
        elif line.startswith("  "):
            section[symbol] += _weighted(text)
        elif text.startswith("form "):
            name, _, pattern = text.removeprefix("form ").partition(": ")
            lexicon.forms[name] = pattern
        else:
            symbol, _, words = text.partition(":")
            section.setdefault(symbol, []).extend(word.strip() for word in words.split(",") if word.strip())


def _weighted(entry: str) -> list[str]:
    weight = _WEIGHT.match(entry)
    return [entry[weight.end() :]] * int(weight[1]) if weight else [entry]


class Rule:
    """The productions of one symbol; each is a row of literals, word lists and further rules."""

    __slots__ = ("productions",)

    def __init__(self, productions: tuple[tuple[Part, ...], ...]) -> None:
        self.productions = productions

    def write(self, rng: Random) -> str:
        """One text, chosen by `rng`."""
        pieces: list[str] = []
        _expand(self, rng.random, pieces.append)
        return "".join(pieces)

    def part(self, number: int, of: int) -> Rule:
        """Every `of`-th production from `number` on; the whole rule when it is too small to share."""
        return Rule(self.productions[number::of]) if len(self.productions) >= 2 * of else self


#: A literal, a list of words to choose from, or a rule to follow.
Part = str | tuple[str, ...] | Rule


def _expand(rule: Rule, random: Callable[[], float], append: Callable[[str], object]) -> None:
    productions = rule.productions
    for part in productions[int(random() * len(productions))]:
        if isinstance(part, tuple):
            append(part[int(random() * len(part))])
        elif isinstance(part, str):
            append(part)
        else:
            _expand(part, random, append)


class Grammar:
    """One language's lexicon seen from one topic: symbols, with their forms, as rules."""

    def __init__(self, lexicon: Lexicon, topic: str, tags: frozenset[str], inflect: Inflect) -> None:
        self._sections = (lexicon.sections["general"], lexicon.sections[topic])
        self._tags = ("", *(f"@{tag}" for tag in sorted(tags)))
        self._inflect = inflect
        self._parts: dict[str, Part] = {}

    def rule(self, symbol: str) -> Rule:
        """The rule of `symbol`, ready to write."""
        part = self._part(symbol)
        return part if isinstance(part, Rule) else Rule(((part,),))

    def entries(self, symbol: str) -> list[str]:
        """All entries of `symbol` under this topic and these tags, taken-over ones included."""
        found = [
            entry
            for section in self._sections
            for tag in self._tags
            for entry in section.get(symbol + tag, ())
        ]
        if not found:
            raise GrammarError(f"no entries for {symbol!r}")
        return [word for entry in found for word in self._taken_over(entry)]

    def _taken_over(self, entry: str) -> list[str]:
        return self.entries(entry[1:]) if entry.startswith("@") else [entry]

    def _part(self, reference: str) -> Part:
        """What `{reference}` stands for, made once."""
        if reference not in self._parts:
            self._parts[reference] = self._make(reference)
        return self._parts[reference]

    def _make(self, reference: str) -> Part:
        if reference.startswith("#"):
            return _numbers(reference)
        symbol, _, form = reference.partition(".")
        entries = [symbol[1:]] if symbol.startswith("=") else self.entries(symbol)
        if form:
            entries = [self._inflect(symbol, entry, form) for entry in entries]
        productions = tuple(self._production(entry) for entry in entries)
        if all(len(row) == 1 and isinstance(row[0], str) for row in productions):
            words = tuple(str(row[0]) for row in productions)
            return words if len(words) > 1 else words[0]
        return Rule(productions)

    def _production(self, entry: str) -> tuple[Part, ...]:
        """The entry as a row of parts, neighbouring literals joined."""
        pieces = _REFERENCE.split(entry)
        references = pieces[1::2]
        row: list[Part] = []
        for position, piece in enumerate(pieces):
            part = piece
            if position % 2:
                part = _share(
                    self._part(piece), references[: position // 2].count(piece), references.count(piece)
                )
            if isinstance(part, str) and row and isinstance(row[-1], str):
                row[-1] += part
            elif part != "":
                row.append(part)
        return tuple(row) or ("",)


def _share(part: Part, number: int, of: int) -> Part:
    """The `number`-th user's share of a part that `of` places in one production use."""
    if of == 1 or isinstance(part, str):
        return part
    if isinstance(part, Rule):
        return part.part(number, of)
    return part[number::of] if len(part) >= 2 * of else part


def _numbers(reference: str) -> tuple[str, ...]:
    first, last = (int(bound) for bound in reference.strip("#").split("-"))
    words = tuple(str(number) for number in range(first, last + 1))
    return tuple(word.translate(_FULL_WIDTH) for word in words) if reference.startswith("##") else words
