import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from joro.index.terms import Wanted, fold, legible, terms, wanted


def test_words_are_terms_and_case_and_width_do_not_matter() -> None:
    assert terms("The Web, ＷＥＢ and STRASSE/Straße") == ["the", "web", "web", "and", "strasse", "strasse"]


def test_japanese_becomes_overlapping_pairs_and_the_last_character() -> None:
    assert terms("東京都") == ["東京", "京都", "都"]


def test_half_width_kana_are_the_same_as_full_width_ones() -> None:
    assert terms("ｶﾞﾗｽ") == terms("ガラス") == ["ガラ", "ラス", "ス"]


def test_a_run_ends_where_the_script_changes() -> None:
    assert terms("iPhoneを買う") == ["iphone", "を買", "買う", "う"]


def test_the_middle_dot_separates_katakana_words() -> None:
    assert terms("ウェブ・ページ") == [*terms("ウェブ"), *terms("ページ")]


def test_marks_stay_inside_their_word() -> None:
    assert terms("e\u0323\u0301ko\u0301") == ["ẹ́kó"]


def test_a_query_does_not_ask_for_the_end_of_its_last_run() -> None:
    assert wanted("東京都") == Wanted(("東京", "京都"))
    assert wanted("東京 tower") == Wanted(("東京", "京", "tower"))


def test_a_single_kanji_asks_for_any_pair_that_begins_with_it() -> None:
    assert wanted("犬") == Wanted(("犬",), open=True)


def test_punctuation_asks_for_nothing() -> None:
    assert wanted("!? 。_") is None


def test_endless_words_are_cut_alike_in_document_and_query() -> None:
    assert wanted("x" * 1000) == Wanted(("x" * 64,))
    assert terms("x" * 1000) == ["x" * 64]


def test_controls_direction_overrides_and_half_surrogates_are_not_legible() -> None:
    assert legible("a\x1b[2Jb\u202ec\ud800d\ne\t") == "a [2Jb c d\ne\t"


@given(st.text())
def test_no_term_is_empty_or_holds_a_space(text: str) -> None:
    assert " ".join(terms(text)).split() == terms(text)


@given(st.text(alphabet="aZ１ 。_東京のｶﾞé\u0301"))
def test_a_text_finds_itself(text: str) -> None:
    sought = wanted(text)
    if sought is not None:
        found = terms(text)
        assert tuple(found[: len(sought.terms)]) == sought.terms


@given(st.text())
def test_the_spelling_does_not_matter(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(text)


@given(st.text())
def test_folding_by_lines_is_folding_the_whole(text: str) -> None:
    assert fold(text) == unicodedata.normalize("NFKC", text).casefold()
