import pytest

from joro.testweb.prose.japanese import inflector

plain, polite = inflector("plain"), inflector("polite")


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("買う", "買った 買って 買わない 買えば 買おう 買われる 買える 買わせる"),
        ("書く", "書いた 書いて 書かない 書けば 書こう 書かれる 書ける 書かせる"),
        ("行く", "行った 行って 行かない 行けば 行こう 行かれる 行ける 行かせる"),
        ("泳ぐ", "泳いだ 泳いで 泳がない 泳げば 泳ごう 泳がれる 泳げる 泳がせる"),
        ("話す", "話した 話して 話さない 話せば 話そう 話される 話せる 話させる"),
        ("待つ", "待った 待って 待たない 待てば 待とう 待たれる 待てる 待たせる"),
        ("遊ぶ", "遊んだ 遊んで 遊ばない 遊べば 遊ぼう 遊ばれる 遊べる 遊ばせる"),
        ("読む", "読んだ 読んで 読まない 読めば 読もう 読まれる 読める 読ませる"),
        ("作る", "作った 作って 作らない 作れば 作ろう 作られる 作れる 作らせる"),
        ("食べ|る", "食べた 食べて 食べない 食べれば 食べよう 食べられる 食べられる 食べさせる"),
        ("購入する", "購入した 購入して 購入しない 購入すれば 購入しよう 購入される 購入できる 購入させる"),
        ("来る", "来た 来て 来ない 来れば 来よう 来られる 来られる 来させる"),
    ],
)
def test_verbs_bend_by_their_class(verb: str, forms: str) -> None:
    names = "ta te nai ba let passive.dict potential.dict causative.dict".split()
    assert [plain("", verb, name) for name in names] == forms.split()


def test_polite_endings_follow_the_style() -> None:
    names = "pres past neg negpast let".split()
    assert [polite("", "{what}を 買う", name) for name in names] == [
        "{what}を買います",
        "{what}を買いました",
        "{what}を買いません",
        "{what}を買いませんでした",
        "{what}を買いましょう",
    ]
    assert plain("", "{what}を 買う", "negpast") == "{what}を買わなかった"


def test_steps_build_on_each_other() -> None:
    assert polite("", "作る", "passive.progressive.past") == "作られていました"
    assert plain("", "食べ|る", "want.past") == "食べたかった"
    assert polite("", "書く", "causative.want.neg") == "書かせたくありません"


def test_the_negation_of_existence_is_irregular() -> None:
    assert plain("", "時間が ある", "nai") == "時間がない"
    assert polite("", "時間が ある", "neg") == "時間がありません"


def test_adjectives_bend_by_their_class() -> None:
    assert [plain("", "高い", form) for form in ("te", "ba", "past", "neg")] == [
        "高くて",
        "高ければ",
        "高かった",
        "高くない",
    ]
    assert [plain("", "静かな", form) for form in ("te", "mod", "pres", "neg")] == [
        "静かで",
        "静かな",
        "静かだ",
        "静かではない",
    ]
    assert [polite("", "無料の", form) for form in ("mod", "no", "past")] == [
        "無料の",
        "無料な",
        "無料でした",
    ]


def test_an_adverb_stands_before_the_word_that_bends() -> None:
    assert polite("", "味が 良い", "very.pres") == "味が{degree}良いです"
    assert plain("", "値段が 高い", "never.neg") == "値段が{hardly}高くない"
