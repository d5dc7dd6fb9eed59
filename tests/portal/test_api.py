import json
from typing import Any

import pytest

from tests.portal.album import STAMPS, TOWN
from tests.portal.conftest import Ask


def asked(get: Ask, target: str) -> Any:
    answer = get(target)
    assert answer.headers["content-type"] == "application/json"
    return json.loads(answer.body)


def test_search_answers_with_spans_and_the_archived_capture(get: Ask) -> None:
    answer = asked(get, "/api/search?q=%E6%A4%9C%E7%B4%A2")
    assert answer["total"] == 1
    (result,) = answer["results"]
    (start, end), *_ = result["snippet_spans"]
    assert result["snippet"][start:end] == "検索"
    assert result["time"] == "2026-11-16T05:55:00Z"
    assert result["archive"] == "/archive/20261116055500/http://a.jp/"


def test_offset_and_n_choose_the_results(get: Ask) -> None:
    everything = asked(get, "/api/search?q=many&n=100")["results"]
    assert len(everything) == 35
    assert asked(get, "/api/search?q=many&offset=30&n=3")["results"] == everything[30:33]


@pytest.mark.parametrize("query", ["", "q=", "q=-", "q=many&n=0", "q=many&n=x&offset=-3"])
def test_nonsense_is_answered_too(get: Ask, query: str) -> None:
    assert get(f"/api/search?{query}").status == 200


def test_stats_count_pages_and_archived_bytes(get: Ask) -> None:
    stats = asked(get, "/api/stats")
    assert stats["searchable_pages"] == 39
    assert stats["warc_files"] == 1
    assert stats["warc_bytes"] > 5_000


def test_captures_are_listed_by_url_oldest_first(turn: Ask) -> None:
    found = asked(turn, f"/api/captures?url={TOWN}")["captures"]
    assert [capture["timestamp"] for capture in found] == STAMPS
    assert found[0]["archive"] == f"/archive/{STAMPS[0]}/{TOWN}"
    assert (found[0]["status"], found[0]["mime"]) == (200, "text/html")
    assert found[2]["mime"] == "warc/revisit"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("from=2025", 3),
        ("to=2024", 1),
        ("from=2025&to=2025", 2),
        ("from=20251231090000&to=20251231090000", 1),
        ("to=202402", 1),
        ("to=20240228", 0),
        ("status=404", 0),
        ("mime=warc/revisit", 1),
        ("digest=sha1:X", 0),
        ("limit=3", 3),
        ("offset=3", 1),
    ],
)
def test_captures_are_chosen_by_time_and_kind(turn: Ask, query: str, count: int) -> None:
    assert len(asked(turn, f"/api/captures?url={TOWN}&{query}")["captures"]) == count


@pytest.mark.parametrize(
    ("match", "url", "count"),
    [
        ("prefix", TOWN + "fra", 2),
        ("host", TOWN, 27),
        ("domain", "http://example.jp/", 27),
        ("domain", TOWN, 27),
    ],
)
def test_captures_of_many_pages_are_found(turn: Ask, match: str, url: str, count: int) -> None:
    assert len(asked(turn, f"/api/captures?url={url}&matchType={match}")["captures"]) == count


def test_a_long_answer_names_the_next_one(turn: Ask) -> None:
    first = asked(turn, f"/api/captures?url={TOWN}&limit=3")
    second = asked(turn, first["next"].removeprefix("http://127.0.0.1:8765"))
    assert [capture["timestamp"] for capture in second["captures"]] == STAMPS[3:]
    assert "next" not in second


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 404), ("url=x", 404), (f"url={TOWN}&matchType=x", 400), (f"url={TOWN}&from=x", 404)],
)
def test_questions_without_sense_are_refused(turn: Ask, query: str, status: int) -> None:
    assert turn(f"/api/captures?{query}").status == status


@pytest.mark.parametrize("target", ["/api/nowhere", "/api/captures", "/api/captures?url=a.jp&matchType=x"])
def test_programs_are_told_their_mistakes_in_json(get: Ask, target: str) -> None:
    assert get(target).status in (400, 404)
    assert asked(get, target)["problem"]
