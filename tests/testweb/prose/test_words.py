import re

import pytest

from joro.testweb.prose import LANGUAGES, TOPICS
from joro.testweb.prose.grammar import read_lexicon
from joro.testweb.prose.japanese import parse

#: Symbols that `Prose` asks for, and those that japanese.py puts in front of adjectives.
ASKED_FOR = {"sentence", "start", "title", "name", "person", "place", "company", "degree", "hardly"}


def symbols(language: str) -> tuple[set[str], set[str]]:
    """Those a word file defines, and those it uses."""
    sections = read_lexicon(language).sections.values()
    entries = [entry for section in sections for words in section.values() for entry in words]
    used = {name for entry in entries for name in re.findall(r"\{([^{}#=.]+)", entry)}
    taken_over = {entry[1:] for entry in entries if entry.startswith("@")}
    return {name.partition("@")[0] for section in sections for name in section}, used | taken_over


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_topic(language: str) -> None:
    assert set(TOPICS) | {"general"} == set(read_lexicon(language).sections)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_symbol_is_used_and_every_used_symbol_is_defined(language: str) -> None:
    defined, used = symbols(language)
    assert defined - used <= ASKED_FOR
    assert used <= defined


def test_japanese_is_rich() -> None:
    sections = read_lexicon("ja").sections
    nouns = {
        word
        for section in sections.values()
        for name in ("who", "where", "what", "theme", "event")
        for word in section.get(name, [])
    }
    bending = [
        word
        for section in sections.values()
        for name in ("act", "go", "make", "happen", "quality", "good", "bad", "state")
        for word in section.get(name, [])
    ]
    words = {(parse(entry).stem.rpartition("}")[2], parse(entry).kind) for entry in bending}
    assert len(nouns) >= 700
    assert sum(kind in ("five", "one", "する", "来る") for _, kind in words) >= 300
    assert sum(kind in ("い", "な", "の") for _, kind in words) >= 150
    assert len(set(sections["general"]["story"] + sections["general"]["remark"])) >= 100


def test_japanese_says_one_thing_in_two_words() -> None:
    sections = read_lexicon("ja").sections
    deeds = {word for section in sections.values() for word in section.get("act", [])}
    assert {"{what}を 買う", "{what}を 購入する", "代金を 払う", "代金を 支払う"} <= deeds
    assert {"病院", "医院"} <= set(sections["health"]["where"])
