"""What stands written on the pages of the test web?

In:    a language, a seed, a topic and a `random.Random`.
Out:   titles, sentences, paragraphs and names; equal arguments give equal text on every machine.
Never: reads a clock or a random source of its own, or `hash`, which differs from run to run.

Japanese text fits Shift_JIS, EUC-JP, ISO-2022-JP and UTF-8 alike, and keeps clear of characters that
these spell in two ways (〜, −, ‖). With `vendor=True` it also holds ①, ㈱, ℡ and their kind, which
Windows added to Shift_JIS: cp932 and UTF-8 can spell them, the standard codes cannot.
"""

from __future__ import annotations

import re
from functools import cache
from random import Random

from joro.testweb.prose import columns, english, japanese, korean
from joro.testweb.prose.grammar import Grammar, Inflect, Rule, read_lexicon
from joro.testweb.prose.topics import LANGUAGES, STYLES, TOPICS

#: `^` in a word file: the next letter is a capital one.
_CAPITAL = re.compile(r"\^([^\w^]*)\^?(\w)")
#: Languages that put no space between sentences, and know no capitals.
_UNSPACED = frozenset({"ja", "zh"})
#: A grammar gives up after so many repetitions for each sentence of a pool; ours need fewer than two.
_PATIENCE = 50


class Prose:
    """Writes one language. Every method that takes an `rng` draws from nothing else."""

    def __init__(self, language: str, seed: int, *, style: str | None = None, vendor: bool = False) -> None:
        """`style` is one of STYLES; without it, even seeds write plainly and odd ones politely."""
        if language not in LANGUAGES:
            raise ValueError(f"no word lists for language {language!r}; there are {', '.join(LANGUAGES)}")
        self.language = language
        self.seed = seed
        self.style = style or STYLES[seed % len(STYLES)]
        self._tags = frozenset({self.style, "vendor"} if vendor else {self.style})
        self._pools: dict[tuple[str, int], list[str]] = {}

    def title(self, rng: Random, topic: str) -> str:
        """A page title, without a full stop."""
        return self._write("title", rng, topic)

    def sentence(self, rng: Random, topic: str) -> str:
        """One sentence with its full stop; may lean on a sentence before it (しかし、… / However, …)."""
        return self._write("sentence", rng, topic)

    def paragraph(self, rng: Random, topic: str, sentences: int) -> str:
        """So many sentences; the first stands on its own."""
        written = [
            self._write("start" if number == 0 else "sentence", rng, topic) for number in range(sentences)
        ]
        return ("" if self.language in _UNSPACED else " ").join(written)

    def name(self, rng: Random, kind: str = "name") -> str:
        """A name; `kind` may ask for a "person", a "place" or a "company"."""
        return self._write(kind, rng, TOPICS[0])

    def pool(self, topic: str, size: int = 400) -> list[str]:
        """`size` distinct sentences, the same for equal language, seed, style and topic; made once."""
        key = (topic, size)
        if key not in self._pools:
            self._pools[key] = self._make_pool(topic, size)
        return self._pools[key]

    def _make_pool(self, topic: str, size: int) -> list[str]:
        rng = Random(f"{self.language} {self.seed} {sorted(self._tags)} {topic}")
        found: dict[str, None] = {}
        for _ in range(size * _PATIENCE):
            if len(found) == size:
                return list(found)
            found[self.sentence(rng, topic)] = None
        raise ValueError(f"cannot write {size} different sentences in {self.language!r} about {topic!r}")

    def _write(self, symbol: str, rng: Random, topic: str) -> str:
        text = _rule(self.language, topic, self._tags, symbol).write(rng)
        return text if self.language in _UNSPACED else _CAPITAL.sub(_capital, "^" + text)


def _capital(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()


@cache
def _rule(language: str, topic: str, tags: frozenset[str], symbol: str) -> Rule:
    return _grammar(language, topic, tags).rule(symbol)


@cache
def _grammar(language: str, topic: str, tags: frozenset[str]) -> Grammar:
    return Grammar(read_lexicon(language), topic, tags, _inflect(language, tags))


def _inflect(language: str, tags: frozenset[str]) -> Inflect:
    if language == "ja":
        return japanese.inflector("polite" if "polite" in tags else "plain")
    if language == "en":
        return english.inflect
    if language == "ko":
        return korean.inflect
    return columns.inflector(read_lexicon(language).forms)
