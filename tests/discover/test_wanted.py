from __future__ import annotations

import re

import pytest

from joro.config import Scope
from joro.discover.wanted import Wanted
from joro.errors import ConfigError

JAPANESE = Scope(everything_under=(".jp", "example.org"), languages_elsewhere=("ja", "KO-kr"))


@pytest.mark.parametrize(
    ("url", "language", "keep"),
    [
        ("http://www.example.jp/", "en", True),
        ("http://example.org:8080/", "en", True),
        ("http://example.com/", "ja", True),
        ("http://example.com/", "ja-JP", True),
        ("http://example.com/", "ko", True),
        ("http://example.com/", "en", False),
        ("http://jp.example.com/", "en", False),
        ("http://notexample.org/", "en", False),
        ("http://example.com/", "", True),
    ],
)
def test_everything_in_jp_and_only_japanese_elsewhere(url: str, language: str, keep: bool) -> None:
    verdict = Wanted(JAPANESE).verdict(url, 3, language)
    assert (verdict.keep, verdict.follow) == (keep, keep)


@pytest.mark.parametrize("written", ["jp", ".jp", "*.JP", "日本語.jp"])
def test_a_place_for_all_languages_may_be_written_as_people_do(written: str) -> None:
    wanted = Wanted(Scope(everything_under=(written,), languages_elsewhere=("ja",)))
    assert wanted.verdict("http://www.xn--wgv71a119e.jp/", 3, "en").keep


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (Scope(languages_elsewhere=("ja", "jp")), "'jp' is no language; did you mean ja?"),
        (Scope(languages_elsewhere=("Japanese",)), "'Japanese' is no language; write it like"),
        (Scope(everything_under=("http://a.jp/",)), "'http://a.jp/' is no domain; write it like"),
    ],
)
def test_what_would_let_no_page_in_is_told_at_once(scope: Scope, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        Wanted(scope)


def test_a_seed_is_followed_whatever_its_language() -> None:
    verdict = Wanted(JAPANESE).verdict("http://example.com/", 0, "en")
    assert (verdict.refusal, verdict.follow) == ("language en", True)


def test_without_languages_every_page_is_kept() -> None:
    wanted = Wanted(Scope(everything_under=(".jp",)))
    assert not wanted.needs_language
    assert wanted.verdict("http://example.com/", 3, "en").keep


def refusal(text: str, limit: int = 2) -> str:
    words = ("sex", "カジノ", "Poker", "poker")
    return Wanted(Scope(unwanted_words=words, unwanted_limit=limit)).verdict("http://a/", 1, "", text).refusal


def test_so_many_different_unwanted_words_make_a_page_unwanted() -> None:
    assert refusal("poker, poker and poker") == ""
    assert refusal("POKER in the ｶｼﾞﾉ") == "unwanted words: カジノ, poker"


def test_a_word_inside_another_is_not_that_word() -> None:
    assert refusal("Essex, sextant, Middlesex", limit=1) == ""
    assert refusal("Essex: sex.", limit=1) == "unwanted words: sex"
    assert refusal("日本語sex日本語", limit=1) == "unwanted words: sex"
    assert refusal("新カジノ店", limit=1) == "unwanted words: カジノ"


def test_text_is_only_needed_when_there_are_words() -> None:
    assert not Wanted(Scope()).needs_text
    assert not Wanted(Scope(unwanted_words=(" ", ""))).needs_text
    assert Wanted(Scope(unwanted_words=("x",))).needs_text
