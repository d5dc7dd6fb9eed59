from random import Random

import pytest

from joro.testweb.prose.grammar import Grammar, GrammarError, Lexicon


def shout(symbol: str, entry: str, form: str) -> str:
    return entry.upper()


def grammar(*tags: str, **general: list[str]) -> Grammar:
    return Grammar(
        Lexicon({"general": general, "music": {"what": ["drum"]}}), "music", frozenset(tags), shout
    )


def test_a_topic_adds_to_what_is_general() -> None:
    assert grammar(what=["hat"]).entries("what") == ["hat", "drum"]


def test_tagged_entries_count_only_under_their_tag() -> None:
    words = {"be": ["is"], "be@polite": ["would be"]}
    assert grammar(**words).entries("be") == ["is"]
    assert grammar("polite", **words).entries("be") == ["is", "would be"]


def test_a_reference_may_ask_for_a_form() -> None:
    assert grammar(start=["a {what.loud}, {=hat.loud}"]).rule("start").write(Random(1)) == "a DRUM, HAT"


def test_entries_are_taken_over_by_name() -> None:
    assert grammar(thing=["@what", "hat"]).entries("thing") == ["drum", "hat"]


def test_one_sentence_never_says_a_word_twice() -> None:
    rule = grammar(word=["a", "b", "c", "d"], start=["{word}{word}"]).rule("start")
    rng = Random(1)
    assert all(len(set(rule.write(rng))) == 2 for _ in range(200))


def test_numbers_come_in_both_widths() -> None:
    assert grammar(start=["{#7-7}, {##12-12}"]).rule("start").write(Random(1)) == "7, １２"


def test_a_symbol_without_entries_is_refused() -> None:
    with pytest.raises(GrammarError, match="no entries for 'hat'"):
        grammar(start=["{hat}"]).rule("start")
