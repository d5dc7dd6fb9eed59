import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro.index.query import Clause, parse, search
from joro.index.segment import Entry, Reader, Writer
from tests.index.conftest import Filled


def urls(reader: Reader, query: str) -> set[str]:
    return {hit.url.removeprefix("http://a.jp/") for hit in search(reader, query, limit=100).hits}


def test_english_words_are_found_in_any_case(filled: Filled) -> None:
    reader = filled("A Search Engine", "an engineer")
    assert urls(reader, "engine") == {"0"}
    assert urls(reader, "ENGINE search") == {"0"}


def test_all_words_must_be_there(filled: Filled) -> None:
    reader = filled("red green", "red blue")
    assert urls(reader, "red") == {"0", "1"}
    assert urls(reader, "red blue") == {"1"}
    assert urls(reader, "green blue") == set()


def test_a_japanese_word_is_found_inside_a_sentence(filled: Filled) -> None:
    reader = filled("東京都で検索エンジンを作る。", "京都の東にある都")
    assert urls(reader, "検索エンジン") == {"0"}
    assert urls(reader, "東京") == {"0"}
    assert urls(reader, "京都") == {"0", "1"}


def test_a_japanese_word_is_not_a_bag_of_its_pairs(filled: Filled) -> None:
    reader = filled("日本語", "本語と日本")
    assert urls(reader, "日本語") == {"0"}


def test_one_kanji_is_found_at_the_beginning_in_the_middle_and_at_the_end(filled: Filled) -> None:
    assert urls(filled("犬と猫", "大犬座", "白い犬", "猫"), "犬") == {"0", "1", "2"}


def test_a_word_of_two_scripts_is_a_phrase(filled: Filled) -> None:
    reader = filled("iPhoneを買う", "をiPhone")
    assert urls(reader, "iphoneを") == {"0"}
    assert urls(reader, "iphoneを買") == {"0"}


def test_a_phrase_wants_its_words_in_order_and_words_do_not(filled: Filled) -> None:
    reader = filled("full text search", "search the text in full")
    assert urls(reader, '"full text"') == {"0"}
    assert urls(reader, "full text") == {"0", "1"}


@pytest.mark.parametrize("query", ["“full text”", '"full text', "full-text", "ｆｕｌｌ-ｔｅｘｔ"])
def test_phrases_may_be_typed_in_many_ways(filled: Filled, query: str) -> None:
    assert urls(filled("full text search", "search the text in full"), query) == {"0"}


def test_minus_leaves_pages_out(filled: Filled) -> None:
    reader = filled("red green", "red blue", "blue")
    assert urls(reader, "red -blue") == {"0"}
    assert urls(reader, '-"red blue"') == {"0", "2"}
    assert urls(reader, "-red") == {"2"}


def test_site_keeps_a_host_and_those_below_it() -> None:
    assert parse("site:example.jp word") == [Clause("site", "example.jp"), Clause("", "word")]


def test_site_filters(filled: Filled) -> None:
    reader = filled(
        Entry("http://www.example.jp/", "", "word", 0.0),
        Entry("http://example.jp:81/", "", "word", 0.0),
        Entry("http://xn--wgv71a.jp/", "", "word", 0.0),
    )
    assert urls(reader, "word site:example.jp") == {"http://www.example.jp/", "http://example.jp:81/"}
    assert urls(reader, "word -site:example.jp") == {"http://xn--wgv71a.jp/"}
    assert urls(reader, "site:example.jp:81") == {"http://example.jp:81/"}
    assert urls(reader, "site:https://WWW.example.jp/path") == {"http://www.example.jp/"}
    assert urls(reader, "site:日本.jp") == {"http://xn--wgv71a.jp/"}
    assert urls(reader, "site:ample.jp") == set()


def test_lang_filters(filled: Filled) -> None:
    reader = filled(
        Entry("http://a.jp/0", "", "word", 0.0, "ja"), Entry("http://a.jp/1", "", "word", 0.0, "zh-Hant")
    )
    assert urls(reader, "word lang:ja") == {"0"}
    assert urls(reader, "LANG:ZH") == {"1"}
    assert urls(reader, "word -lang:ja") == {"1"}


def test_a_word_in_the_title_counts_more(filled: Filled) -> None:
    reader = filled(
        Entry("http://a.jp/0", "other", "about spiders", 0.0),
        Entry("http://a.jp/1", "spiders", "about other", 0.0),
    )
    assert [hit.url[-1] for hit in search(reader, "spiders").hits] == ["1", "0"]


def test_results_come_in_pages_and_the_total_stays(filled: Filled) -> None:
    reader = filled(*["word"] * 25)
    pages = [search(reader, "word", offset=offset, limit=10) for offset in (0, 10, 20, 30)]
    assert [len(page.hits) for page in pages] == [10, 10, 5, 0]
    assert {page.total for page in pages} == {25}
    assert len({hit.url for page in pages for hit in page.hits}) == 25


def test_title_and_snippet_show_the_matches_but_not_what_was_excluded(filled: Filled) -> None:
    reader = filled(Entry("http://a.jp/0", "検索の本", "本を読む", 0.0))
    (hit,) = search(reader, "本 -雑誌").hits
    assert list(hit.title.pieces()) == [("検索の", False), ("本", True)]
    assert hit.snippet.spans == ((0, 1),)


@pytest.mark.parametrize("query", ["", "   ", '"', "-", '""', "site:", "!!!", "。", "AND", "\x00"])
def test_a_query_without_meaning_finds_nothing(filled: Filled, query: str) -> None:
    assert search(filled("some words"), query).total == 0


def test_an_unknown_field_is_just_words(filled: Filled) -> None:
    assert urls(filled("see rfc:2616", "2616 rfc"), "rfc:2616") == {"0"}


def test_a_novel_as_a_query_is_cut_not_refused(filled: Filled) -> None:
    assert search(filled("word"), "word " * 10_000).total == 1


def test_no_index_means_no_results(filled: Filled) -> None:
    reader = Reader(filled("word").directory / "elsewhere")
    assert search(reader, "word").total == 0


@pytest.fixture(scope="module")
def two_pages(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    directory = tmp_path_factory.mktemp("index")
    writer = Writer(directory)
    writer.put(Entry("http://a.jp/0", "ab", "ab 東京の site lang", 0.0, "ja"))
    writer.put(Entry("http://a.jp/1", "", "a b", 0.0))
    writer.commit()
    writer.close()
    return Reader(directory)


@given(
    query=st.text() | st.text(alphabet='ab 東京ｶﾞ"-:.*?[](){}\\^~+|&!/siteglan_\ud800'),
    offset=st.integers(-5, 10**12),
)
def test_no_query_fails(two_pages: Reader, query: str, offset: int) -> None:
    results = search(two_pages, query, offset=offset)
    assert len(results.hits) <= results.total <= 2
