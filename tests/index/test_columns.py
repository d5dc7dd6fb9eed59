import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joro.index.columns import WORTHWHILE_CHARS, joined
from joro.index.terms import terms

#: Words, pairs and gaps of every width, with what is odd only now and then, so that columns are really used.
USUAL = "abZ19 ._-\n。、・東京都のＡｶﾞﾊﾟ가ไทยहि\U00020000"


def long(text: str) -> str:
    return text * (WORTHWHILE_CHARS // max(len(text), 1) + 1)


@given(st.text(alphabet=USUAL, min_size=1))
@example("東京a都 b。c")
@example("a" * 65)
@example("a" * 64 + " ")
def test_long_texts_have_the_terms_of_the_plain_way(text: str) -> None:
    assert joined(long(text)).split() == terms(long(text))


@given(st.text(min_size=1) | st.text(alphabet=USUAL + "e\u0301\ud800\U000e0041\U0010ffff", min_size=1))
def test_odd_texts_do_too(text: str) -> None:
    assert joined(long(text)).split() == terms(long(text))


@pytest.mark.parametrize("text", ["", " ", "東", "a", "Two words"])
def test_short_texts_do_too(text: str) -> None:
    assert joined(text).split() == terms(text)


def test_every_character_is_of_the_same_kind_in_both_ways() -> None:
    for start in range(0, 0x110000, 0x800):
        text = " ".join(map(chr, range(start, start + 0x800)))
        assert joined(text).split() == terms(text)
