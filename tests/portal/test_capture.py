import re

import pytest
from starlette.requests import Request

from joro.model import Capture, Response
from joro.portal.capture import Captures
from joro.portal.find import Finder
from joro.portal.look import Look
from joro.portal.opened import Opener, Refused
from joro.store.collection import Collection
from tests.portal.album import NEWEST, OLDEST, SECOND, TOWN, UNCHANGED
from tests.portal.conftest import Ask

NEW, OLD = "20261116055500", "20261115055500"


def test_a_capture_stands_in_a_frame_that_lets_nothing_out(turn: Ask) -> None:
    answer = turn(f"/archive/{SECOND}/{TOWN}")
    (frame,) = re.findall("<iframe[^>]*>", answer.text)
    assert f'src="/replay/{SECOND}/{TOWN}"' in frame
    assert 'sandbox="allow-forms allow-top-navigation-by-user-activation"' in frame
    assert answer.headers["content-security-policy"].endswith("frame-src 127.0.0.1:8765/replay/")
    assert "広場" not in answer.text


def test_the_banner_tells_which_version_it_is_and_leads_to_the_others(turn: Ask) -> None:
    text = turn(f"/archive/{SECOND}/{TOWN}").text
    assert "2025-12-31 08:00</time> UTC" in text
    assert "version 2 of 4" in text
    assert f'rel="prev" href="/archive/{OLDEST}/{TOWN}"' in text
    assert f'rel="next" href="/archive/{UNCHANGED}/{TOWN}"' in text
    assert f'href="/archive/*/{TOWN}"' in text
    assert f"from={OLDEST}&amp;to={SECOND}" in text
    assert f'href="/raw/{SECOND}/{TOWN}"' in text


def test_the_banner_says_what_one_cannot_see(turn: Ask) -> None:
    assert "not whole: the connection broke off" in turn(f"/archive/{NEWEST}/{TOWN}cut").text
    assert "answered 404" in turn(f"/archive/{NEWEST}/{TOWN}gone").text
    unchanged = turn(f"/archive/{UNCHANGED}/{TOWN}").text
    assert f'Found unchanged since <a href="/archive/{SECOND}/{TOWN}">' in unchanged
    onward = turn(f"/archive/{NEWEST}/{TOWN}refresh").text
    assert f'sent its readers on to <a href="/archive/{NEWEST}/{TOWN}sjis">' in onward
    assert "not whole" not in unchanged


def test_what_no_browser_shows_is_offered_to_be_saved(turn: Ask) -> None:
    text = turn(f"/archive/{NEWEST}/{TOWN}paper.pdf").text
    assert "<iframe" not in text
    assert "(<code>application/pdf</code>) are not shown here: 4 bytes" in text


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("1999", OLD), ("2026", OLD), ("20261116", NEW), ("2099", NEW), ("20261115175959", NEW)],
)
def test_any_other_time_leads_to_the_nearest_version(get: Ask, asked: str, nearest: str) -> None:
    for place in ("archive", "replay", "raw"):
        answer = get(f"/{place}/{asked}/http://a.jp/")
        assert (answer.status, answer.headers["location"]) == (302, f"/{place}/{nearest}/http://a.jp/")


def test_a_url_keeps_its_query_and_its_escapes(get: Ask) -> None:
    assert "With a query" in get(f"/replay/{NEW}/http://a.jp/p?x=1&y=%E3%81%82").text
    assert get(f"/replay/{NEW}/http://a.jp/p?x=1").status == 404


def test_a_url_whose_slashes_were_merged_on_the_way_is_understood(get: Ask) -> None:
    assert get(f"/archive/{NEW}/http:/a.jp/").status == 200


def test_an_archived_redirect_is_explained_and_leads_into_the_archive(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/moved")
    assert answer.status == 200
    assert f'href="/archive/{NEW}/http://a.jp/p"' in answer.text


def test_a_redirect_to_a_script_is_only_text(get: Ask) -> None:
    answer = get(f"/archive/{NEW}/http://a.jp/strange")
    assert "javascript:alert(1)" in answer.text
    assert 'href="javascript' not in answer.text


def test_what_is_not_archived_gets_a_page_with_ways_on(turn: Ask) -> None:
    answer = turn(f"/archive/{NEWEST}/{TOWN}never")
    assert answer.status == 404
    assert 'href="/search?q=site%3Atown.example.jp"' in answer.text
    assert f'href="/archive/{NEWEST}/{TOWN}sjis"' in answer.text


def test_a_page_archived_under_another_spelling_is_named(turn: Ask) -> None:
    answer = turn(f"/archive/{NEWEST}/http://slash.example/page")
    assert answer.status == 404
    assert f'href="/archive/{NEWEST}/https://www.slash.example/page/"' in answer.text


def test_a_capture_whose_original_is_lost_says_so(turn: Ask) -> None:
    answer = turn(f"/archive/{NEWEST}/{TOWN}lost")
    assert answer.status == 404
    assert "found to be as before" in answer.text


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
        "/archive/x*/http://a.jp/",
        "/archive/20261399*/http://a.jp/",
        f"/replay/{NEW}/http://never.example/",
        f"/raw/{NEW}/http://never.example/",
        "/replay/*/http://a.jp/",
    ],
)
def test_what_cannot_be_a_capture_is_not_found(get: Ask, target: str) -> None:
    assert get(target).status == 404


def test_the_calendar_shows_the_newest_year_and_leads_to_the_others(turn: Ask) -> None:
    text = turn(f"/archive/*/{TOWN}").text
    assert "<strong>4</strong> captures, <strong>3</strong> new or changed" in text
    assert f'href="/archive/2026*/{TOWN}" aria-current="page"' in text
    assert f'href="/archive/2024*/{TOWN}">' in text
    assert f'<a class="day changed" href="/archive/{NEWEST}/{TOWN}"' in text
    assert 'aria-label="16 November 2026: 1 capture, changed"' in text


def test_a_day_with_several_versions_leads_to_their_list(turn: Ask) -> None:
    text = turn(f"/archive/2025*/{TOWN}").text
    assert f'href="/archive/20251231*/{TOWN}#listed"' in text
    day = turn(f"/archive/20251231*/{TOWN}").text
    assert "2 captures in 2025-12-31" in day
    assert day.index(f'href="/archive/{UNCHANGED}/') < day.index(f'href="/archive/{SECOND}/')
    assert '<span class="dot identical"></span>identical' in day
    assert '<span class="dot changed"></span>changed' in day


def test_two_versions_that_differ_are_chosen_to_be_compared(turn: Ask) -> None:
    text = turn(f"/archive/*/{TOWN}").text
    assert "<button" not in text.split("<main>")[1]
    day = turn(f"/archive/2025*/{TOWN}").text
    assert re.search(f'name="from" value="{SECOND}"[^>]* checked', day)
    assert re.search(f'name="to" value="{UNCHANGED}"[^>]* checked', day)


def test_a_year_without_captures_is_still_a_page(turn: Ask) -> None:
    answer = turn(f"/archive/2020*/{TOWN}")
    assert (answer.status, "No capture in 2020" in answer.text) == (200, True)


def test_a_capture_withheld_is_neither_shown_nor_listed(album: Collection) -> None:
    hidden = Finder(album.archive, withheld=lambda capture: capture.time > 1_790_000_000)
    assert [capture.time for capture in hidden.versions(TOWN)] == [
        1_709_208_000,
        1_767_168_000,
        1_767_171_600,
    ]
    assert hidden.versions(TOWN + "sjis") == []


def test_a_capture_refused_gets_a_page_that_says_why(album: Collection) -> None:
    def refusal(capture: Capture, response: Response) -> str:
        return "Its owner asked for it." if capture.time > 1_790_000_000 else ""

    opener = Opener(Finder(album.archive), refusal)
    assert opener.at(TOWN, 0.0).capture.time == 1_709_208_000
    with pytest.raises(Refused) as refused:
        opener.at(TOWN, 2e9)
    assert (refused.value.status_code, refused.value.reason) == (451, "Its owner asked for it.")
    request = Request({"type": "http", "path": "/archive/", "headers": [], "server": ("x", 80)})
    page = Captures(Finder(album.archive), opener, Look("x")).problem(request, refused.value)
    assert page.status_code == 451
    assert b"Its owner asked for it." in page.body
