"""A newcomer collects a web and finds a page in it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joro.archive.read import records
from tests.archive.facts import facts_in
from tests.scenarios.archived import responses
from tests.scenarios.stage import JORO, Web, done, joro, serve_web

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serve_web(tmp_path_factory.mktemp("web"), "--hosts", 60, "--pages", 600, "--roles", "normal") as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = web.collection(tmp_path_factory.mktemp("journey") / "collection", politeness={"interval_s": 0.0})
    done("crawl", "-C", path, *web.seeds)
    done("index", "-C", path)
    return path


def test_every_page_that_links_lead_to_is_archived_once(web: Web, collection: Path) -> None:
    found = responses(collection)
    assert set(found.values()) == {1}
    assert len(found) >= 500
    fetched = {url for url in web.oracle.get("/fetched") if not url.endswith("/robots.txt")}
    assert fetched == set(found)


def test_no_server_saw_two_requests_at_once(web: Web, collection: Path) -> None:
    verdict = web.oracle.get("/politeness", interval_s=0)
    assert verdict["most_concurrent"] == 1
    assert verdict["disallowed"] == 0


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_word_of_one_page_finds_that_page(web: Web, collection: Path, language: str) -> None:
    archived = set(responses(collection))
    pages = [page for page in web.oracle.get("/pages") if page["language"] == language]
    wanted = [page for page in pages if page["url"] in archived and page["needle"]][:5]
    assert len(wanted) == 5
    for page in wanted:
        answer = search(collection, page["needle"])
        assert [hit["url"] for hit in answer["results"]] == [page["url"]]


def search(collection: Path, query: str) -> Any:
    return json.loads(done("search", "-C", collection, "--json", query))


def test_links_lie_beside_every_page_if_wished(web: Web, tmp_path: Path) -> None:
    """Only then: see `every_page_that_links_lead_to` for what else is in an archive."""
    path = web.collection(tmp_path / "c", politeness={"interval_s": 0.0}, archive={"metadata": True})
    done("crawl", "-q", "-C", path, "--limit", 20, web.seeds[0])
    (warc,) = (path / "archive").glob("*.warc.gz")
    noted = {each.url: facts_in(each) for each in records(warc) if each.type == "metadata"}
    assert len(noted) >= 20
    for url, facts in noted.items():
        others = {link for link, _ in facts.links} - {url}
        assert others == set(web.truth(url)["links"]) - {url}


def test_stats_agree_with_the_archive(collection: Path) -> None:
    stats = json.loads(done("stats", "-C", collection, "--json"))
    assert sum(stats["outcomes"].values()) == stats["visited"] == stats["found"]
    assert stats["outcomes"]["ok"] <= len(responses(collection)) <= stats["visited"]


@pytest.mark.parametrize("reader", ["warcio", "fastwarc"])
def test_independent_readers_accept_every_record(collection: Path, reader: str) -> None:
    for warc in (collection / "archive").glob("*.warc.gz"):
        command = [str(Path(sys.executable).parent / reader), "check", str(warc)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr


def test_collecting_again_asks_for_nothing_that_is_known(web: Web, collection: Path) -> None:
    before = web.oracle.get("/summary")["requests"]
    done("crawl", "-C", collection, *web.seeds)
    assert web.oracle.get("/summary")["requests"] == before


def test_crawl_needs_a_seed_only_once(web: Web, tmp_path: Path) -> None:
    path = web.collection(tmp_path / "new")
    result = joro("crawl", "-C", path)
    assert result.returncode == 2
    assert "give a seed" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_collects_indexes_serves_and_ends_at_once_when_told(
    web: Web, tmp_path: Path, number: signal.Signals
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    path = web.collection(tmp_path / "run", politeness={"interval_s": 0.0}, portal={"port": port})
    command = [*JORO, "run", "-C", str(path), "--limit", "40", *web.seeds]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    assert any("until Ctrl-C" in line for line in iter(process.stdout.readline, ""))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
        assert answer.status == 200
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    assert "Traceback" not in rest
