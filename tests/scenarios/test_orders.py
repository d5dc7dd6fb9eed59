"""What orders keep a robot from asking for, by the servers' own log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.crawls import look_back
from tests.scenarios.stage import Web, done, serve_web

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    options = ("--seed", 11, "--hosts", 20, "--pages", 300, "--roles", "normal", "--latency", 5)
    with serve_web(tmp_path_factory.mktemp("web"), *options) as web:
        yield web


@pytest.mark.parametrize("act", ["exclude", "add"])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_host_that_an_order_forbids_is_not_asked_for_anything(
    web: Web, tmp_path: Path, act: str, processes: int
) -> None:
    """Not even for its robots.txt, before and after it became known."""
    web.oracle.get("/reset")
    seed = web.seeds[0]
    collection = web.collection(tmp_path / "c", politeness={"interval_s": 0.0})
    done("crawl", "-q", "-C", collection, "-p", processes, "--limit", 30, seed)
    asked = {row["host"] for row in look_back(web, collection).rows if row["host"] not in seed}
    other = max(web.oracle.get("/hosts"), key=lambda host: (host["name"] in asked, host["pages"]))["name"]
    assert other in asked
    web.oracle.get("/reset")
    done("takedown", act, "-C", collection, "--host", other)
    done("crawl", "-q", "-C", collection, "-p", processes, seed)
    seen = look_back(web, collection)
    assert len(seen.rows) > 100
    assert [row["url"] for row in seen.rows if row["host"] == other] == []
    if act == "add":
        done("takedown", "collect", "-C", collection)
        assert not any(other in capture for capture in map(str, responses(collection)))


def test_every_server_is_asked_once_what_it_reserves_if_wished(web: Web, tmp_path: Path) -> None:
    web.oracle.get("/reset")
    collection = web.collection(tmp_path / "c", politeness={"interval_s": 0.0}, archive={"tdmrep": True})
    for _ in range(2):
        done("crawl", "-q", "-C", collection, *web.seeds)
    rows = look_back(web, collection).rows
    asked = [row["host"] for row in rows if row["path"] == "/.well-known/tdmrep.json"]
    assert sorted(asked) == sorted({row["host"] for row in rows})
