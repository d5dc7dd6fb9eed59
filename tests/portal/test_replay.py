from base64 import b32decode
from hashlib import sha1

import pytest
from starlette.requests import Request

from joro.archive.index import CaptureIndex
from joro.portal.replay import rules
from joro.store.collection import Collection
from tests.portal.album import NEWEST, OLDEST, PIXEL, SECOND, SHIFT_JIS, TOWN, UNCHANGED
from tests.portal.conftest import Ask


def test_a_replayed_page_loads_and_leads_to_captures_of_its_time(turn: Ask) -> None:
    text = turn(f"/replay/{OLDEST}/{TOWN}").text
    assert f'href="/replay/{OLDEST}/{TOWN}town.css"' in text
    assert f'<a href="/archive/{OLDEST}/{TOWN}" target="_top">' in text


def test_what_a_page_shows_is_the_capture_nearest_to_it(turn: Ask) -> None:
    answer = turn(f"/replay/{OLDEST}/{TOWN}town.css")
    assert (answer.status, answer.headers["location"]) == (302, f"/replay/{NEWEST}/{TOWN}town.css")


def test_a_style_sheet_is_rewritten_and_read_in_its_own_charset(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}town.css")
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert f'@import "/replay/{NEWEST}/{TOWN}more.css"' in answer.text
    assert f'url("/replay/{NEWEST}/{TOWN}pixel.png")' in answer.text
    assert "/* 漢字 */" in answer.text


@pytest.mark.parametrize("name", ["sjis", "euc"])
def test_japanese_charsets_are_replayed_as_utf_8(turn: Ask, name: str) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}{name}")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "漢字①㈱" in answer.text


def test_a_link_from_a_shift_jis_page_asks_in_shift_jis(turn: Ask) -> None:
    text = turn(f"/replay/{NEWEST}/{TOWN}sjis").text
    assert f'href="/archive/{NEWEST}/{TOWN}q?%8C%EA=%96%D8"' in text


def test_nothing_of_a_capture_is_allowed_but_to_be_looked_at(turn: Ask) -> None:
    directives = turn(f"/replay/{OLDEST}/{TOWN}").headers["content-security-policy"].split("; ")
    assert directives[:2] == [
        "sandbox allow-forms allow-top-navigation-by-user-activation",
        "default-src 'none'",
    ]
    assert "img-src data: 127.0.0.1:8765/replay/" in directives
    assert "form-action 127.0.0.1:8765/archive/" in directives
    assert not any("script" in directive or "connect" in directive for directive in directives)


@pytest.mark.parametrize("name", ["drawing.svg", "feed", "run.js", "pixel.png", "odd", "paper.pdf"])
def test_what_is_no_page_may_not_even_change_the_window(turn: Ask, name: str) -> None:
    headers = turn(f"/replay/{NEWEST}/{TOWN}{name}").headers
    assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("drawing.svg", "image/svg+xml"),
        ("feed", "text/plain; charset=windows-1252"),
        ("run.js", "text/plain; charset=windows-1252"),
        ("pixel.png", "image/png"),
        ("font.woff2", "font/woff2"),
        ("font", "font/woff"),
        ("otto", "text/plain; charset=windows-1252"),
        ("paper.pdf", "application/octet-stream"),
        ("odd", "text/plain; charset=windows-1252"),
    ],
)
def test_each_kind_is_replayed_as_something_that_does_no_harm(turn: Ask, name: str, kind: str) -> None:
    assert turn(f"/replay/{NEWEST}/{TOWN}{name}").headers["content-type"] == kind


def test_what_a_browser_cannot_show_is_saved(turn: Ask) -> None:
    headers = turn(f"/replay/{NEWEST}/{TOWN}paper.pdf").headers
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''paper.pdf"


def test_a_font_may_be_read_by_a_page_without_a_name(turn: Ask) -> None:
    assert turn(f"/replay/{NEWEST}/{TOWN}font.woff2").headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in turn(f"/replay/{NEWEST}/{TOWN}sjis").headers


def test_fields_of_the_capture_stay_behind(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}packed")
    assert "<p>packed" in answer.text
    assert not {"set-cookie", "content-encoding", "x-archive-orig-set-cookie"} & set(answer.headers)


def test_an_encoding_that_is_not_there_does_no_harm(turn: Ask) -> None:
    assert "<p>not packed" in turn(f"/replay/{NEWEST}/{TOWN}lying").text


def test_a_redirect_is_followed_inside_the_archive(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}moved")
    assert (answer.status, answer.headers["location"]) == (302, f"/replay/{NEWEST}/{TOWN}sjis")


def test_a_redirect_to_a_script_leads_nowhere(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}strange")
    assert answer.status == 200
    assert "location" not in answer.headers


def test_an_archived_error_keeps_its_status(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}gone")
    assert answer.status == 404
    assert "not here" in answer.text


def test_a_version_found_unchanged_is_replayed_from_its_original(turn: Ask) -> None:
    answer = turn(f"/replay/{UNCHANGED}/{TOWN}")
    assert "広場の木は赤です。" in answer.text
    assert answer.headers["memento-datetime"] == "Wed, 31 Dec 2025 09:00:00 GMT"


def test_a_capture_that_is_not_whole_says_so(turn: Ask) -> None:
    assert turn(f"/replay/{NEWEST}/{TOWN}cut").headers["joro-truncated"] == "disconnect"


def test_a_reader_who_opens_the_frame_alone_is_led_to_the_page_with_the_banner(turn: Ask) -> None:
    answer = turn(f"/replay/{OLDEST}/{TOWN}?a=1", sec_fetch_dest="document")
    assert (answer.status, answer.headers["location"]) == (302, f"/archive/{OLDEST}/{TOWN}?a=1")


def test_no_service_worker_comes_out_of_the_archive(turn: Ask) -> None:
    assert turn(f"/replay/{NEWEST}/{TOWN}run.js", service_worker="script").status == 404


def test_an_image_may_be_found_under_another_spelling(turn: Ask) -> None:
    answer = turn(f"/replay/{NEWEST}/http://slash.example/page")
    assert answer.headers["location"] == f"/replay/{NEWEST}/https://www.slash.example/page/"


def test_a_redirect_to_another_spelling_of_itself_is_no_endless_way(turn: Ask) -> None:
    assert (
        turn(f"/replay/{NEWEST}/http://loop.example/").headers["location"].endswith("/https://loop.example/")
    )
    assert turn(f"/replay/{NEWEST}/https://loop.example/").status == 404


@pytest.mark.parametrize(
    ("asked", "status", "body", "place"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=4-2", 416, b"", "bytes */10"),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_a_player_may_ask_for_a_part_of_a_film(
    turn: Ask, asked: str, status: int, body: bytes, place: str | None
) -> None:
    answer = turn(f"/replay/{NEWEST}/{TOWN}film.mp4", range=asked)
    assert (answer.status, answer.body, answer.headers.get("content-range")) == (status, body, place)


def test_a_missing_frame_is_a_small_page_and_a_missing_image_none(turn: Ask) -> None:
    frame = turn(f"/replay/{NEWEST}/{TOWN}never", sec_fetch_dest="iframe")
    assert (frame.status, "Not archived" in frame.text) == (404, True)
    assert frame.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert turn(f"/replay/{NEWEST}/{TOWN}never", sec_fetch_dest="image").text == "not archived\n"


def test_a_frame_that_cannot_be_shown_says_why_in_a_few_words(turn: Ask) -> None:
    lost = turn(f"/replay/{NEWEST}/{TOWN}lost")
    assert (lost.status, "Not in the archive any more" in lost.text) == (404, True)
    assert "<form" not in lost.text


def test_raw_is_what_the_server_sent_byte_for_byte(turn: Ask, album: Collection) -> None:
    assert turn(f"/raw/{NEWEST}/{TOWN}sjis").body == SHIFT_JIS.encode("cp932")
    assert turn(f"/raw/{NEWEST}/{TOWN}pixel.png").body == PIXEL
    assert turn(f"/raw/{SECOND}/{TOWN}").body == turn(f"/raw/{UNCHANGED}/{TOWN}").body
    packed = turn(f"/raw/{NEWEST}/{TOWN}packed")
    assert packed.headers["content-encoding"] == "gzip"
    assert sha1(packed.body).digest() == _digest(album, TOWN + "packed")


def _digest(album: Collection, url: str) -> bytes:
    (capture,) = CaptureIndex(album.archive).versions(url)
    return b32decode(capture.digest.removeprefix("sha1:"))


def test_raw_is_saved_never_opened(turn: Ask) -> None:
    headers = turn(f"/raw/{OLDEST}/{TOWN}").headers
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''town.example.jp"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_raw_tells_the_fields_it_was_sent_with_but_no_cookies(turn: Ask) -> None:
    headers = turn(f"/raw/{NEWEST}/{TOWN}packed").headers
    assert headers["x-archive-orig-content-encoding"] == "gzip"
    assert not any("cookie" in name for name in headers)


def test_a_host_that_no_policy_can_name_is_called_self() -> None:
    scope = {"type": "http", "headers": [(b"host", b"[::1]:80; script-src *")]}
    assert "frame-src 'self'; form-action 'self'" in rules(Request(scope), is_page=True)
