"""An operator asks why a page is there, why another is not, and where everything found has gone."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joro.url import server_of
from tests.scenarios.stage import JORO, Web, done, joro, serve_web
from tests.scenarios.village import linking, village

pytestmark = pytest.mark.slow

ROLES = "restricted,dead,redirecting"
SETTINGS: dict[str, dict[str, Any]] = {
    "politeness": {"interval_s": 0.0, "retry_limit": 0, "retry_wait_s": 0.0},
    "fetch": {"connect_timeout_s": 2.0, "timeout_s": 10.0},
    "scope": {"pages_per_server": 12},
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serve_web(tmp_path_factory.mktemp("web"), "--hosts", 60, "--pages", 700, "--roles", ROLES) as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = web.collection(tmp_path_factory.mktemp("explain") / "collection", **SETTINGS)
    done("crawl", "-q", "-p", 2, "-C", path, *web.seeds)
    return path


@pytest.fixture(scope="module")
def answers(web: Web, collection: Path) -> dict[str, int]:
    """The last status with which the servers answered each page, by their own log."""
    entries = web.oracle.get("/log")
    return {each["url"]: each["status"] for each in entries if "/robots" not in each["url"]}


def explained(collection: Path, url: str) -> Any:
    return json.loads(done("explain", "-C", collection, "--json", url))


def coverage(collection: Path) -> Any:
    return json.loads(done("stats", "-C", collection, "--json"))["coverage"]


def test_every_page_found_is_in_one_account_and_the_servers_own_log_agrees(
    collection: Path, answers: dict[str, int]
) -> None:
    pages = coverage(collection)["pages"]
    assert pages["collected"] == sum(200 <= status < 400 for status in answers.values())
    assert pages["missing"] == sum(400 <= status < 500 for status in answers.values())
    facts = json.loads(done("stats", "-C", collection, "--json"))
    over_quota = facts["coverage"]["reasons"]["refused"]["over quota"]
    assert over_quota > 0
    assert sum(pages.values()) == facts["found"] == facts["visited"] + over_quota


def test_every_server_is_in_one_account_and_the_servers_own_log_agrees(
    web: Web, collection: Path, answers: dict[str, int]
) -> None:
    servers = coverage(collection)["servers"]
    good = {server_of(url) for url, status in answers.items() if status < 400}
    assert servers["collected"] == len(good)
    assert servers["unreachable"] >= len(web.oracle.get("/hosts", role="dead")) > 0
    assert sum(servers.values()) == json.loads(done("stats", "-C", collection, "--json"))["servers"]


def test_the_way_to_a_page_is_a_chain_of_links_that_exist(web: Web, collection: Path) -> None:
    hops = web.oracle.get("/reachable")
    far = [url for url, count in hops.items() if count >= 3]
    found = next(each for url in far if len((each := explained(collection, url))["chain"]) >= 3)
    urls = [step["url"] for step in found["chain"]]
    assert urls[0] in web.seeds
    assert [step["hops"] for step in found["chain"]] == list(range(len(urls)))
    for source, target in itertools.pairwise(urls):
        if source in hops and target in hops:  # redirects lead on without being a planned page
            assert target in web.truth(source)["links"]


def test_a_forbidden_page_is_explained_by_the_line_that_forbids_it(web: Web, collection: Path) -> None:
    forbidden = [page["url"] for page in web.oracle.get("/pages") if page["disallowed"]]
    found = [explained(collection, url) for url in forbidden[:8]]
    lines = [each["reason"] for one in found for each in one["decisions"] if each["rule"] == "robots.txt"]
    assert any("Disallow:" in line for line in lines)
    assert not any(one["captures"] for one in found)


def test_people_get_sentences(web: Web, collection: Path) -> None:
    text = done("explain", "-C", collection, web.seeds[0])
    assert f"  {web.seeds[0]}  is a seed" in text
    assert "1 version is archived:" in text
    assert "Its change interval is not estimated yet." in text


@pytest.mark.parametrize("url", ["ftp://a.example/", "nonsense", "http://a b/"])
def test_what_is_no_url_is_one_line(collection: Path, url: str) -> None:
    result = joro("explain", "-C", collection, url)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_robot_at_work_does_not_mind(web: Web, tmp_path: Path) -> None:
    path = web.collection(tmp_path / "busy", politeness={"interval_s": 0.5})
    robot = subprocess.Popen([*JORO, "crawl", "-q", "-C", str(path), *web.seeds], stdout=subprocess.DEVNULL)
    try:
        while not _is_visited(path, web.seeds[0]):
            assert robot.poll() is None
        assert coverage(path)["pages"]["waiting"] > 0
    finally:
        robot.send_signal(signal.SIGINT)
        assert robot.wait(timeout=60) == 0


def _is_visited(collection: Path, url: str) -> bool:
    """A robot that has just been started may not have a frontier yet: that is said, too."""
    result = joro("explain", "-C", collection, "--json", url)
    if result.returncode != 0:
        assert "holds no frontier yet" in result.stderr
        return False
    return str(json.loads(result.stdout)["state"]) == "visited"


def test_a_server_at_a_private_address_is_refused_and_not_called_unreachable(tmp_path: Path) -> None:
    inside = ["http://inside.example/", "http://inside.example/2"]
    with village({"outside.example": {"/": linking(*inside)}}) as place:
        hosts = {"outside.example": "127.0.0.1", "inside.example": "10.0.0.1"}
        path = place.collection(tmp_path / "c", fetch={"hosts": hosts}, politeness={"interval_s": 0.0})
        done("crawl", "-q", "-C", path, "http://outside.example/")
    found = coverage(path)
    assert (found["pages"]["refused"], found["pages"]["unreachable"]) == (2, 0)
    assert (found["servers"]["refused"], found["reasons"]["refused"]) == (1, {"forbidden address": 2})
    said = done("explain", "-C", path, inside[1])
    assert "address     no    its name led to a private or special address" in said
    assert "status -1" not in said
