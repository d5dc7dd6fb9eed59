import pytest

from tests.portal.conftest import Ask

NEW, OLD = "20261116055500", "20261115055500"


def test_a_capture_is_the_archived_page_byte_for_byte(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/sjis")
    assert answer.body == "<title>題</title><p>漢字①".encode("cp932")
    assert answer.headers["content-type"] == "text/html; charset=Shift_JIS"


def test_a_capture_can_neither_run_nor_load_anything(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://evil.example/")
    assert b"<script>" in answer.body
    rules = answer.headers["content-security-policy"].split("; ")
    assert rules[:4] == ["sandbox", "default-src 'none'", "img-src data:", "style-src 'unsafe-inline'"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_each_version_is_shown_under_its_own_time(get: Ask) -> None:
    assert "古い文章" in get(f"/archive/{OLD}/http://a.jp/").text
    assert "新しい文章" in get(f"/archive/{NEW}/http://a.jp/").text


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("1999", OLD), ("2026", OLD), ("20261116", NEW), ("2099", NEW), ("20261115175959", NEW)],
)
def test_any_other_time_leads_to_the_nearest_version(get: Ask, asked: str, nearest: str) -> None:
    answer = get(f"/archive/{asked}/http://a.jp/")
    assert (answer.status, answer.headers["location"]) == (302, f"/archive/{nearest}/http://a.jp/")


def test_a_url_keeps_its_query_and_its_escapes(get: Ask) -> None:
    assert "With a query" in get(f"/archive/{NEW}/http://a.jp/p?x=1&y=%E3%81%82").text
    assert get(f"/archive/{NEW}/http://a.jp/p?x=1").status == 404


def test_a_url_whose_slashes_were_merged_on_the_way_is_understood(get: Ask) -> None:
    assert get(f"/archive/{NEW}/http:/a.jp/").status == 200


def test_a_capture_tells_its_time_and_original(get: Ask) -> None:
    headers = get(f"/archive/{NEW}/http://a.jp/").headers
    assert headers["memento-datetime"] == "Mon, 16 Nov 2026 05:55:00 GMT"
    assert headers["link"] == '<http://a.jp/>; rel="original"'


def test_an_archived_redirect_is_explained_and_leads_into_the_archive(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/moved")
    assert answer.status == 200
    assert f'href="/archive/{NEW}/http://a.jp/p"' in answer.text


def test_a_redirect_to_a_script_is_only_text(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/strange")
    assert "javascript:alert(1)" in answer.text
    assert 'href="javascript' not in answer.text


def test_an_archived_error_keeps_its_status(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/gone")
    assert (answer.status, answer.body) == (404, b"not here")
    assert answer.headers["content-security-policy"].startswith("sandbox")


def test_other_types_are_served_as_what_they_are_in_the_same_sandbox(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/a.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"].startswith("sandbox")


def test_a_type_that_is_none_becomes_plain_bytes(get: Ask) -> None:
    assert get(f"/archive/{NEW}/http://a.jp/odd").headers["content-type"] == "application/octet-stream"


def test_what_is_not_archived_gets_a_page_with_ways_on(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/never")
    assert answer.status == 404
    assert 'href="/search?q=site%3Aa.jp"' in answer.text


@pytest.mark.parametrize(
    "target",
    [
        "/archive/x/http://a.jp/",
        "/archive/20261399/http://a.jp/",
        "/archive/123456789012345/http://a.jp/",
        f"/archive/{NEW}/ftp://a.jp/",
        f"/archive/{NEW}/javascript:alert(1)",
        f"/archive/{NEW}/",
        f"/archive/{NEW}/http://",
        "/archive/*/nothing",
        "/archive/*/http://never.example/",
    ],
)
def test_what_cannot_be_a_capture_is_not_found(get: Ask, target: str) -> None:
    assert get(target).status == 404


def test_all_versions_are_listed_newest_first(get: Ask) -> None:
    text = get("/archive/*/http://a.jp/").text
    assert "<strong>2</strong> captures" in text
    assert text.index(NEW) < text.index(OLD)
