from hypothesis import example, given
from hypothesis import strategies as st

from joro.index.snippet import Marked, Pattern, mark, pattern, snippet
from joro.index.terms import terms, wanted

#: Characters at which folding, runs and boundaries behave differently from each other.
AWKWARD = st.text(alphabet="abB1 ._-\n。、東京都のＡｶﾞﾊﾟﬃ㌔é\u0301ßİ㈱ㄅ가각\u1100\u1161", max_size=60)


def patterns(*words: str) -> list[Pattern]:
    return [p for word in words if (p := pattern(word))]


def marked(shown: Marked) -> list[str]:
    return [piece for piece, highlighted in shown.pieces() if highlighted]


def test_the_original_spelling_is_highlighted() -> None:
    assert marked(mark("ＷＥＢ検索とWeb", patterns("web"))) == ["ＷＥＢ", "Web"]


def test_half_width_kana_are_highlighted_whole() -> None:
    assert marked(mark("赤いｶﾞﾗｽの器", patterns("ガラス"))) == ["ｶﾞﾗｽ"]


def test_a_word_is_not_highlighted_inside_another() -> None:
    assert marked(mark("a cat concatenates", patterns("cat"))) == ["cat"]


def test_a_japanese_word_is_highlighted_inside_a_sentence() -> None:
    assert marked(mark("東京都民の検索エンジン", patterns("検索"))) == ["検索"]


def test_a_phrase_is_highlighted_as_one() -> None:
    assert marked(mark("full-text search; full moon", patterns("full text"))) == ["full-text"]


def test_marks_that_touch_or_overlap_become_one() -> None:
    assert marked(mark("東京都庁", patterns("東京", "京都", "庁"))) == ["東京都庁"]


def test_the_snippet_is_where_most_words_meet() -> None:
    text = "one here. " + "filler words. " * 50 + "one and two together. " + "filler words. " * 50
    shown = snippet(text, patterns("one", "two"))
    assert marked(shown) == ["one", "two"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")


def test_a_short_text_is_shown_whole_and_on_one_line() -> None:
    assert snippet("first\nsecond", patterns("second")) == Marked("first second", ((6, 12),))


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet("The beginning of it. " * 100, []).text.startswith("The beginning")


def test_the_empty_text_has_an_empty_snippet() -> None:
    assert snippet("", patterns("word")) == Marked("")


def test_a_kanji_counts_as_two_columns() -> None:
    assert len(snippet("漢" * 1000, []).text) == 111
    assert len(snippet("a" * 1000, []).text) == 221


def test_a_phrase_with_a_huge_gap_does_not_make_a_huge_snippet() -> None:
    assert len(snippet("one" + "." * 10_000 + "two", patterns("one two")).text) < 250


@given(AWKWARD, st.lists(AWKWARD, max_size=4))
def test_spans_lie_inside_the_text_in_order_and_apart(text: str, words: list[str]) -> None:
    for shown in (mark(text, patterns(*words)), snippet(text * 20, patterns(*words))):
        edges = [edge for span in shown.spans for edge in span]
        assert edges == sorted(set(edges))
        assert all(0 <= edge <= len(shown.text) for edge in edges)
        assert "".join(piece for piece, _ in shown.pieces()) == shown.text


@given(st.text(), st.text())
def test_no_text_and_no_query_breaks_the_snippet(text: str, word: str) -> None:
    snippet(text, patterns(word))
    mark(text, patterns(word))


@given(AWKWARD, AWKWARD)
@example("1ﾞ\u1100", "1\u1100")  # an accent of kana between the two is a term to the index
@example("1ﾞﾞ", "1ﾞ")
@example("b\u0301 a", "b a")
@example("東ﾞ.京", "東 京")
def test_what_is_highlighted_is_what_the_index_finds(text: str, word: str) -> None:
    sought = wanted(word)
    found = sought is not None and any(
        terms_match(terms(text)[i:], sought.terms, sought.open) for i in range(len(terms(text)))
    )
    assert bool(marked(mark(text, patterns(word)))) == found


def terms_match(here: list[str], sought: tuple[str, ...], open_end: bool) -> bool:
    head = tuple(here[: len(sought)])
    if open_end and len(head) == len(sought):
        return head[:-1] == sought[:-1] and head[-1].startswith(sought[-1])
    return head == sought
