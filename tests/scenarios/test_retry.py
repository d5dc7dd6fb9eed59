"""Servers fail, an operator tries again: nothing collected is lost meanwhile."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.archived import responses
from tests.scenarios.stage import done, joro, serve_web

pytestmark = pytest.mark.slow

WEB = ("--hosts", 12, "--pages", 120, "--roles", "normal")
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": {"interval_s": 0.0, "retry_limit": 0, "retry_wait_s": 0.0}
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def pages(collection: Path) -> Any:
    return json.loads(done("stats", "-C", collection, "--json"))["coverage"]["pages"]


def found_by(collection: Path, word: str) -> list[str]:
    done("index", "-C", collection)
    return [hit["url"] for hit in json.loads(done("search", "-C", collection, "--json", word))["results"]]


def test_pages_that_failed_are_collected_when_their_servers_are_back(tmp_path: Path) -> None:
    port, dns = free_port(), free_port()
    options = (*WEB, "--port", port, "--dns-port", dns)
    with serve_web(tmp_path, *options) as web:
        path = web.collection(tmp_path / "c", **SETTINGS)
        seeds = web.seeds
        done("crawl", "-q", "-C", path, *seeds)
        collected = pages(path)["collected"]
        needle = web.truth(seeds[0])["needle"]
        assert found_by(path, needle) == [seeds[0]]
    (tmp_path / "ready").unlink()

    assert f"{sum(pages(path).values())} pages wait again" in done("retry", "-C", path, "--all")
    done("crawl", "-q", "-C", path)
    assert pages(path)["collected"] == 0
    assert found_by(path, needle) == [seeds[0]]

    with serve_web(tmp_path, *options):
        assert "pages wait again" in done("retry", "-C", path, "--failed")
        done("crawl", "-q", "-C", path)
    assert pages(path)["collected"] == collected
    assert set(responses(path).values()) == {2}


def test_pages_are_visited_again_by_a_process_that_was_not_needed_for_a_while(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web:
        path = web.collection(tmp_path / "c", **SETTINGS)
        done("crawl", "-q", "-p", 2, "-C", path, *web.seeds)
        done("crawl", "-q", "-p", 1, "-C", path)
        done("retry", "-C", path, "--all")
        told = done("crawl", "-q", "-p", 2, "-C", path)
        assert "visited again" not in told  # of a few it is known, and that is no number
        assert set(responses(path).values()) == {2}


def test_one_site_can_be_collected_again(tmp_path: Path) -> None:
    with serve_web(tmp_path, *WEB) as web:
        path = web.collection(tmp_path / "c", **SETTINGS)
        done("crawl", "-q", "-p", 2, "-C", path, *web.seeds)
        host = web.seeds[0].split("/")[2]
        done("retry", "-C", path, "--server", host)
        done("crawl", "-q", "-p", 2, "-C", path)
        again = {url for url, count in responses(path).items() if count == 2}
        assert again == {url for url in responses(path) if url.split("/")[2] == host}
        assert again


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--failed"),
        (["--all", "--failed"], "give one of them"),
        (["--server", "http://a.example/x"], "is no server"),
        (["ftp://a.example/"], "http://"),
        (["--all"], "joro crawl SEED"),
    ],
)
def test_a_wish_that_cannot_be_is_one_line(tmp_path: Path, words: list[str], says: str) -> None:
    done("init", tmp_path / "c")
    result = joro("retry", "-C", tmp_path / "c", *words)
    assert result.returncode in (1, 2)
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr
