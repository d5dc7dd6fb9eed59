"""A web of slow, broken, forbidding and hostile servers: the crawl ends, politely, and keeps the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.stage import Web, done, serve_web

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    roles = "restricted,redirecting,dead,flaky,hostile,throttling"
    with serve_web(tmp_path_factory.mktemp("web"), "--hosts", 150, "--pages", 1500, "--roles", roles) as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = web.collection(
        tmp_path_factory.mktemp("neighbours") / "c",
        politeness={"interval_s": 0.0, "retry_wait_s": 0.5, "crawl_delay_limit_s": 0.3},
        fetch={"timeout_s": 2.0, "body_limit_bytes": 2_000_000},
    )
    done("crawl", "-C", path, "--limit", 4000, *web.seeds)
    return path


def test_nothing_forbidden_was_asked_for_and_nobody_was_asked_twice_at_once(
    web: Web, collection: Path
) -> None:
    verdict = web.oracle.get("/politeness", interval_s=0)
    assert (verdict["most_concurrent"], verdict["disallowed"]) == (1, 0)


def test_the_well_behaved_servers_were_collected_whole(web: Web, collection: Path) -> None:
    archived = responses(collection)
    normal = [host["url"].rstrip("/") for host in web.oracle.get("/hosts") if host["role"] == "normal"]
    wanted = [page["url"] for page in web.oracle.get("/pages") if page["url"].startswith(tuple(normal))]
    missing = set(wanted) - set(archived)
    assert len(missing) <= len(wanted) // 20, sorted(missing)[:10]


def test_every_record_is_whole_all_the_same(collection: Path) -> None:
    done("archive", "check", "-C", collection)


def test_failures_are_told_apart(collection: Path) -> None:
    outcomes: dict[str, Any] = json.loads(done("stats", "-C", collection, "--json"))["outcomes"]
    assert {"ok", "redirect", "disallowed", "unreachable", "malformed"} <= set(outcomes)
