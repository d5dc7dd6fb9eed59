import json
from typing import Any

import pytest

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
