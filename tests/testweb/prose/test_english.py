import pytest

from joro.testweb.prose.english import inflect


@pytest.mark.parametrize(
    ("deed", "form", "expected"),
    [
        ("bake {what.a}", "past", "baked {what.a}"),
        ("stop smoking", "ing", "stopping smoking"),
        ("study {theme}", "past", "studied {theme}"),
        ("study {theme}", "s", "studies {theme}"),
        ("watch the race", "s", "watches the race"),
        ("write a song", "pp", "written a song"),
        ("take a picture", "ing", "taking a picture"),
        ("play the flute", "past", "played the flute"),
    ],
)
def test_the_first_word_of_a_deed_bends(deed: str, form: str, expected: str) -> None:
    assert inflect("do", deed, form) == expected


def test_nouns_have_plurals_and_articles() -> None:
    assert [inflect("what", noun, "pl") for noun in ("cake", "pastry", "dish", "loaf/loaves")] == [
        "cakes",
        "pastries",
        "dishes",
        "loaves",
    ]
    assert [inflect("what", noun, "a") for noun in ("cake", "apple", "university", "loaf/loaves")] == [
        "a cake",
        "an apple",
        "a university",
        "a loaf",
    ]


def test_long_adjectives_are_compared_with_more() -> None:
    assert [
        inflect("quality", word, "er") for word in ("old", "big", "large", "happy", "quiet", "modern")
    ] == [
        "older",
        "bigger",
        "larger",
        "happier",
        "quieter",
        "more modern",
    ]


def test_a_place_loses_its_preposition() -> None:
    assert inflect("where", "at the market", "np") == "the market"
