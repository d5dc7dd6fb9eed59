"""The text decides; the declaration where the text cannot; nothing where neither does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.parse.language import language_of

SENTENCES = {
    "en": "The archive keeps every version of a page, and the index finds what was written there.",
    "de": "Das Archiv bewahrt jede Fassung einer Seite auf, und der Index findet, was dort stand.",
    "fr": "L'archive conserve chaque version d'une page, et l'index retrouve ce qui a été écrit.",
    "es": "El archivo guarda cada versión de una página y el índice encuentra lo que se escribió.",
    "it": "L'archivio conserva ogni versione di una pagina e l'indice trova ciò che è stato scritto.",
    "pt": "O arquivo guarda todas as versões de uma página e o índice encontra o que foi escrito.",
    "nl": "Het archief bewaart elke versie van een pagina en de index vindt wat er geschreven is.",
    "ru": "Архив хранит каждую версию страницы, а указатель находит то, что было написано.",
    "ja": "この資料は研究の記録です。",
    "ko": "이 자료는 연구의 기록입니다.",
    "zh": "本资料是研究记录，欢迎访问我们的网站。",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_recognised_whatever_the_page_declares(language: str) -> None:
    assert language_of(SENTENCES[language]) == language
    assert language_of(SENTENCES[language], "tlh") == language


def test_kana_makes_a_page_japanese_though_its_menu_is_english() -> None:
    assert (
        language_of("Home About Contact Sitemap 株式会社のご案内とお知らせをこちらに掲載しています。") == "ja"
    )


def test_some_kana_in_a_chinese_page_leave_it_chinese() -> None:
    assert language_of("日本的动画片在中国很受欢迎，例如「の」这个字经常出现在商店的招牌上面。") == "zh"


def test_a_title_of_kanji_is_japanese_where_the_page_says_so() -> None:
    assert language_of("東京大学情報基盤", "ja") == "ja"
    assert language_of("東京大学情報基盤", "zh-TW") == "zh"


@pytest.mark.parametrize(
    ("declared", "language"), [("de-DE", "de"), (" EN_us ", "en"), ("haw", "haw"), ("!", "")]
)
def test_too_little_text_leaves_it_to_the_declaration(declared: str, language: str) -> None:
    assert language_of("Home 12", declared) == language


@settings(deadline=None)
@given(st.text(), st.text(max_size=10))
def test_the_answer_is_a_language_tag_or_nothing(text: str, declared: str) -> None:
    assert language_of(text, declared) == "" or 2 <= len(language_of(text, declared)) <= 3
