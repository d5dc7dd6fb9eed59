import os
import re
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.testweb.prose import LANGUAGES, STYLES, TOPICS, Prose

SHOW = """
from random import Random
from joro.testweb.prose import LANGUAGES, TOPICS, Prose
for number, language in enumerate(LANGUAGES):
    prose, rng = Prose(language, number), Random(number)
    print(prose.title(rng, "music"), prose.paragraph(rng, "science", 5), prose.name(rng))
    print(ascii(prose.pool("shop", 30)))
"""


def written(prose: Prose, count: int) -> list[str]:
    rng = Random(1)
    return [prose.sentence(rng, TOPICS[number % len(TOPICS)]) for number in range(count)]


def shown(hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-c", SHOW], env=environment, check=True, capture_output=True
    ).stdout


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    assert shown("1") == shown("2")


@given(seed=st.integers(0, 10_000), language=st.sampled_from(LANGUAGES), topic=st.sampled_from(TOPICS))
@settings(deadline=None)
def test_equal_random_states_write_equal_paragraphs(seed: int, language: str, topic: str) -> None:
    first, second = Prose(language, seed), Prose(language, seed)
    assert first.paragraph(Random(seed), topic, 4) == second.paragraph(Random(seed), topic, 4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_of_ten_thousand_sentences_95_percent_are_distinct(language: str) -> None:
    assert len(set(written(Prose(language, 0), 10_000))) >= 9_500


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_topic_has_a_pool_of_400_distinct_sentences(language: str) -> None:
    prose = Prose(language, 3)
    assert all(len(set(prose.pool(topic))) == 400 for topic in TOPICS)


def test_a_pool_is_made_once_and_differs_between_seeds_and_topics() -> None:
    prose = Prose("ja", 3)
    assert prose.pool("music") is prose.pool("music")
    assert not set(prose.pool("music")) & set(prose.pool("sports"))
    assert len(set(prose.pool("music")) & set(Prose("ja", 5).pool("music"))) < 40


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "iso2022_jp", "utf-8"])
def test_japanese_survives_every_japanese_encoding(encoding: str, style: str) -> None:
    text = "".join(written(Prose("ja", 0, style=style), 3_000))
    assert text.encode(encoding).decode(encoding) == text


def test_japanese_reads_the_same_when_shift_jis_is_decoded_the_windows_way() -> None:
    text = "".join(written(Prose("ja", 0), 3_000))
    assert text.encode("shift_jis").decode("cp932") == text


def test_only_vendor_text_holds_characters_outside_the_standard() -> None:
    text = "".join(written(Prose("ja", 0, vendor=True), 3_000))
    assert {"①", "㈱", "№", "℡"} < set(text)
    assert text.encode("cp932").decode("cp932") == text


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        *((language, "latin-1") for language in ("de", "fr", "es", "it", "pt", "nl")),
        ("en", "ascii"),
        ("ru", "koi8-r"),
        ("zh", "gb2312"),
        ("ko", "euc-kr"),
    ],
)
def test_other_languages_fit_the_old_encoding_of_their_region(language: str, encoding: str) -> None:
    text = "".join(written(Prose(language, 0), 2_000))
    assert text.encode(encoding).decode(encoding) == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_end_properly_and_start_with_a_capital(language: str) -> None:
    for sentence in written(Prose(language, 0), 2_000):
        assert sentence.rstrip('"”').endswith(("。", "？", ".", "?"))
        letter = next(character for character in sentence if character.isalnum())
        assert not letter.islower()


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_mark_of_the_word_files_reaches_the_page(language: str) -> None:
    prose, rng = Prose(language, 0), Random(2)
    titles = [prose.title(rng, topic) for topic in TOPICS for _ in range(50)]
    assert not set("{}|@^*#=/") & set("".join(written(prose, 2_000) + titles))


def test_plain_pages_are_not_polite_and_polite_pages_are() -> None:
    plain, polite = (written(Prose("ja", 0, style=style), 2_000) for style in STYLES)
    endings = ("です。", "ません。", "でした。")
    assert sum(sentence.endswith(endings) for sentence in plain) == 0
    assert sum(sentence.endswith((*endings, "ます。", "ました。")) for sentence in polite) > 1_500


def test_paragraphs_have_the_sentences_asked_for() -> None:
    paragraph = Prose("ja", 0).paragraph(Random(1), "travel", 7)
    assert re.sub("「[^」]*」", "", paragraph).count("。") == 7


def test_a_name_is_of_the_kind_asked_for() -> None:
    prose = Prose("en", 0)
    assert len(prose.name(Random(1), "person").split()) == 2
    assert prose.name(Random(1)) == prose.name(Random(1))


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="no word lists for language 'xx'"):
        Prose("xx", 0)
