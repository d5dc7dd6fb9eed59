import json
import re
from email.utils import parsedate_to_datetime

import pytest

from joro.model import Capture
from joro.portal import memento
from joro.portal.memento import link_field
from tests.portal.album import NEWEST, OLDEST, SECOND, STAMPS, TOWN, UNCHANGED
from tests.portal.conftest import Ask

SITE = "http://127.0.0.1:8765"
#: One link of RFC 8288: its address, and its parameters in quotes.
LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[a-z]+="[^"]*")*)\s*(?:,|\Z)')


def links(text: str) -> list[tuple[str, dict[str, str]]]:
    return [
        (address, dict(re.findall(r'([a-z]+)="([^"]*)"', parameters)))
        for address, parameters in LINK.findall(text.strip())
    ]


def by_role(text: str) -> dict[str, str]:
    return {role: address for address, told in links(text) for role in told["rel"].split()}


@pytest.mark.parametrize(
    ("wished", "stamp"),
    [
        ("Thu, 29 Feb 2024 12:00:00 GMT", OLDEST),
        ("Mon, 01 Jan 1990 00:00:00 GMT", OLDEST),
        ("Wed, 31 Dec 2025 08:20:00 GMT", SECOND),
        ("Wed, 31 Dec 2025 08:40:00 GMT", UNCHANGED),
        ("Fri, 01 Jan 2100 00:00:00 GMT", NEWEST),
    ],
)
def test_the_gate_leads_to_the_capture_nearest_to_the_wish(turn: Ask, wished: str, stamp: str) -> None:
    answer = turn(f"/timegate/{TOWN}", accept_datetime=wished)
    assert (answer.status, answer.headers["location"]) == (302, f"/replay/{stamp}/{TOWN}")
    assert answer.headers["vary"] == "accept-datetime"
    assert "memento-datetime" not in answer.headers


def test_without_a_wish_the_gate_leads_to_the_newest(turn: Ask) -> None:
    assert turn(f"/timegate/{TOWN}").headers["location"] == f"/replay/{NEWEST}/{TOWN}"


def test_a_wish_that_is_no_date_is_a_mistake_of_the_client(turn: Ask) -> None:
    assert turn(f"/timegate/{TOWN}", accept_datetime="yesterday").status == 400


@pytest.mark.parametrize("kind", ["timegate", "timemap/link", "timemap/json", "timemap/link/2"])
def test_what_is_not_archived_has_neither_gate_nor_map(turn: Ask, kind: str) -> None:
    assert turn(f"/{kind}/http://never.example/").status == 404


def test_a_memento_names_its_moment_its_original_and_its_neighbours(turn: Ask) -> None:
    headers = turn(f"/replay/{SECOND}/{TOWN}").headers
    assert headers["memento-datetime"] == "Wed, 31 Dec 2025 08:00:00 GMT"
    roles = by_role(headers["link"])
    assert roles["original"] == TOWN
    assert roles["timegate"] == f"{SITE}/timegate/{TOWN}"
    assert roles["timemap"] == f"{SITE}/timemap/link/{TOWN}"
    assert roles["first"] == roles["prev"] == f"{SITE}/replay/{OLDEST}/{TOWN}"
    assert roles["next"] == f"{SITE}/replay/{UNCHANGED}/{TOWN}"
    assert roles["last"] == f"{SITE}/replay/{NEWEST}/{TOWN}"


def test_the_only_memento_is_first_and_last() -> None:
    only = Capture("http://a.jp/", 0.0, 200, "text/html", "d", "w", 0, 1)
    field = link_field("http://x", [only], only)
    assert 'rel="first last memento";datetime="Thu, 01 Jan 1970 00:00:00 GMT"' in field
    assert "prev" not in field
    assert "next" not in field


def test_the_map_lists_every_memento_with_its_time(turn: Ask) -> None:
    answer = turn(f"/timemap/link/{TOWN}")
    assert answer.headers["content-type"] == "application/link-format"
    found = links(answer.text)
    mementos = [(address, told["datetime"]) for address, told in found if "memento" in told["rel"].split()]
    assert [address for address, _ in mementos] == [f"{SITE}/replay/{stamp}/{TOWN}" for stamp in STAMPS]
    times = [parsedate_to_datetime(date) for _, date in mementos]
    assert [f"{time:%Y%m%d%H%M%S}" for time in times] == STAMPS
    (own,) = [told for _, told in found if told["rel"] == "self"]
    assert (own["from"], own["until"]) == (mementos[0][1], mementos[-1][1])


def test_the_map_as_json_tells_the_same(turn: Ask) -> None:
    answer = json.loads(turn(f"/timemap/json/{TOWN}").body)
    assert answer["original_uri"] == TOWN
    assert [entry["uri"][-len(TOWN) - 15 : -len(TOWN) - 1] for entry in answer["mementos"]["list"]] == STAMPS
    assert answer["mementos"]["last"]["datetime"] == "2026-11-16T05:55:00Z"


def test_a_long_map_comes_in_pages_that_name_each_other(turn: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memento, "LIST_LIMIT", 3)
    first, second = turn(f"/timemap/link/{TOWN}").text, turn(f"/timemap/link/2/{TOWN}").text
    assert by_role(first)["timemap"] == f"{SITE}/timemap/link/2/{TOWN}"
    assert by_role(second)["timemap"] == f"{SITE}/timemap/link/{TOWN}"
    assert (first.count("memento"), second.count("memento")) == (3, 1)
    assert turn(f"/timemap/link/3/{TOWN}").status == 404
    answer = json.loads(turn(f"/timemap/json/{TOWN}").body)
    assert answer["next_timemap_uri"] == f"{SITE}/timemap/json/2/{TOWN}"


def test_the_page_around_a_capture_names_it_but_is_not_a_memento(turn: Ask) -> None:
    headers = turn(f"/archive/{SECOND}/{TOWN}").headers
    assert by_role(headers["link"])["timemap"] == f"{SITE}/timemap/link/{TOWN}"
    assert "memento-datetime" not in headers
