import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.testweb.prose import LANGUAGES, TOPICS, Prose, rare_word
from joro.testweb.prose.rare import CAPACITY


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_hundred_thousand_rare_words_are_distinct(language: str) -> None:
    assert len({rare_word(language, number) for number in range(100_000)}) == 100_000


@given(
    number=st.integers(0, CAPACITY - 1),
    other=st.integers(0, CAPACITY - 1),
    language=st.sampled_from(LANGUAGES),
)
def test_no_rare_word_hides_in_another(number: int, other: int, language: str) -> None:
    assert (rare_word(language, number) in rare_word(language, other)) == (number == other)


@given(number=st.integers(0, 10**15), other=st.integers(0, 10**15))
def test_beyond_the_capacity_words_grow_longer_but_stay_distinct(number: int, other: int) -> None:
    assert (rare_word("ja", number) == rare_word("ja", other)) == (number == other)


def test_languages_do_not_share_rare_words() -> None:
    assert len({rare_word(language, 12) for language in LANGUAGES}) == len(LANGUAGES)


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "iso2022_jp", "utf-8"])
def test_japanese_rare_words_survive_every_japanese_encoding(encoding: str) -> None:
    text = "".join(rare_word("ja", number) for number in range(2_000))
    assert text.encode(encoding).decode(encoding) == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_ordinary_text_holds_no_rare_word(language: str) -> None:
    text = "".join(sentence for topic in TOPICS for sentence in Prose(language, 1).pool(topic, 100)).lower()
    assert not any(rare_word(language, number) in text for number in range(300))


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="no rare word -1"):
        rare_word("en", -1)
