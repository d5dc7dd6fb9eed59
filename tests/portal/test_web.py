import re
from pathlib import Path

import pytest

from joro.indexer import index_new
from joro.portal.web import application
from joro.store.collection import Collection
from tests.index.archived import START, archive, collection_in, page
from tests.portal.conftest import Ask, ask

SEARCH_JA = "/search?q=%E6%A4%9C%E7%B4%A2"  # 検索


def test_the_first_page_tells_how_much_is_searchable(get: Ask) -> None:
    answer = get("/")
    assert answer.status == 200
    assert "<strong>39</strong> pages of <strong>my-web</strong>" in answer.text


def test_a_japanese_result_has_title_snippet_language_and_archived_capture(get: Ask) -> None:
    text = get(SEARCH_JA).text
    assert "<strong>1</strong> result" in text
    assert "新しい文章で<mark>検索</mark>を試す。" in text
    assert 'href="/archive/20261116055500/http://a.jp/"' in text
    assert "<span>Japanese</span>" in text
    assert 'lang="ja"' in text


def test_results_come_in_pages(get: Ask) -> None:
    first, second, last = (get(f"/search?q=many&page={n}").text for n in (1, 2, 4))
    assert first.count("<li>") == 10
    assert last.count("<li>") == 5
    assert 'href="/search?q=many&amp;page=2"' in first
    assert 'rel="prev"' in second
    assert 'rel="next"' not in last


def test_a_page_behind_the_last_one_says_so(get: Ask) -> None:
    assert "only 35 results" in get("/search?q=many&page=9").text


@pytest.mark.parametrize("page", ["0", "-1", "abc", "1e9", "99999999999999999999", "²", ""])
def test_nonsense_page_numbers_do_no_harm(get: Ask, page: str) -> None:
    assert get(f"/search?q=many&page={page}").status == 200


def test_finding_nothing_explains_how_to_search(get: Ask) -> None:
    answer = get("/search?q=unheardof")
    assert answer.status == 200
    assert "No page matches" in answer.text
    assert "site:example.org" in answer.text


def test_an_empty_query_leads_back_to_the_first_page(get: Ask) -> None:
    assert get("/search?q=+").text == get("/").text


def test_a_hostile_title_and_snippet_are_shown_not_run(get: Ask) -> None:
    text = get("/search?q=hostile").text
    assert "<script" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(3)&lt;/script&gt;" in text


@pytest.mark.parametrize(
    "query", ["%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "%3Cscript%3E+many", "many+%22%3E%3Cscript%3E"]
)
def test_a_hostile_query_is_shown_not_run(get: Ask, query: str) -> None:
    assert "<script" not in get(f"/search?q={query}").text


@pytest.mark.parametrize("query", ["%00", "%ff%fe", "%ED%A0%80", "a" * 50_000, "%22" * 999, "-" * 999])
def test_odd_and_long_queries_are_answered(get: Ask, query: str) -> None:
    assert get(f"/search?q={query}").status == 200


def test_every_page_forbids_scripts_and_foreign_content(get: Ask) -> None:
    for target in ("/", SEARCH_JA, "/nowhere", "/archive/*/http://a.jp/", "/api/stats"):
        answer = get(target)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_pages_ask_for_nothing_but_our_own_style_and_icon(get: Ask) -> None:
    loaded = set(re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', get(SEARCH_JA).text))
    assert {target.partition("?")[0] for target in loaded} == {"/style.css", "/icon.svg"}
    assert all(get(target).status == 200 for target in loaded)


def test_style_and_icon_come_with_their_types(get: Ask) -> None:
    assert get("/style.css").headers["content-type"].startswith("text/css")
    assert get("/icon.svg").headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize("target", ["/nowhere", "/archive", "/archive/", "/../../etc/passwd", "/base.html"])
def test_an_unknown_address_gets_a_helpful_page(get: Ask, target: str) -> None:
    answer = get(target)
    assert answer.status == 404
    assert 'action="/search"' in answer.text


@pytest.mark.parametrize("target", ["//evil.example/..", "/search/", "/archive/2026//evil.example/"])
def test_no_address_of_ours_leads_to_another_site(get: Ask, target: str) -> None:
    assert "://evil" not in get(target).headers.get("location", "").replace("/archive/", "")


def test_health_is_one_word(get: Ask) -> None:
    assert get("/healthz").text == "ok\n"


def test_without_an_index_the_pages_say_what_to_do(empty: Collection) -> None:
    app = application(empty)
    assert "joro index" in ask(app, "/").text
    assert "joro index" in ask(app, SEARCH_JA).text


def test_new_pages_appear_without_a_restart(empty: Collection) -> None:
    app = application(empty)
    archive(empty, page("http://a.jp/", "", "first words"))
    index_new(empty)
    assert "<strong>1</strong> result" in ask(app, "/search?q=words").text
    archive(empty, page("http://b.jp/", "", "second words"))
    index_new(empty)
    assert "<strong>2</strong> results" in ask(app, "/search?q=words").text


def test_a_broken_index_is_told_with_its_remedy(empty: Collection) -> None:
    index_new(empty)
    next(empty.index.glob("pages-*/meta.json")).write_text("{")
    answer = ask(application(empty), "/search?q=words")
    assert answer.status == 500
    assert "joro index --rebuild" in answer.text


def test_a_form_sent_to_the_past_is_told_why_nothing_happens(get: Ask) -> None:
    answer = get("/archive/20261116055500/http://a.jp/", method="POST")
    assert answer.status == 405
    assert "only shows what was collected" in answer.text


def test_near_copies_stand_below_their_original_and_missing_pages_behind_a_link(tmp_path: Path) -> None:
    text = " ".join(f"Sentence number {word} is about rivers." for word in "abcdefghij")
    collection = collection_in(tmp_path)
    archive(
        collection,
        page("http://a.example/", "Rivers", text),
        page("http://b.example/?sid=1", "Rivers", f"{text} And an advertisement.", time=START + 1),
        page("http://c.example/x", "Page not found", "No rivers here."),
    )
    index_new(collection)
    usual = ask(application(collection), "/search?q=rivers").text
    assert "<strong>1</strong> result" in usual
    assert "<summary>1 similar page</summary>" in usual
    assert 'href="/archive/*/http://b.example/?sid=1"' in usual
    assert '1 page says that there is no such page (soft 404): <a href="/search?q=rivers&amp;all=1">' in usual
    every = ask(application(collection), "/search?q=rivers&all=1").text
    assert "<strong>3</strong> results" in every
    assert "says it is missing (soft 404)" in every


def test_where_only_missing_pages_match_that_is_said(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    archive(collection, page("http://c.example/x", "Page not found", "No rivers here."))
    index_new(collection)
    text = ask(application(collection), "/search?q=rivers").text
    assert "No page matches" in text
    assert "1 page says that there is no such page" in text
