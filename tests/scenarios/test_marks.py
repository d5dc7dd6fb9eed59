"""A web full of copies and of pages that are none, from the first visit to the last result."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from joro.index.query import search
from joro.index.segment import Entry, Reader, Writer, place
from tests.scenarios.stage import Web, done, serve_web

pytestmark = pytest.mark.slow

ROLES = "normal,copy,soft404,trap"
#: The same page under other addresses: with a session, or told where a visitor came from.
ALIAS = re.compile(r"[?&](?:sid=\w+|from=\d+)$")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with serve_web(tmp_path_factory.mktemp("web"), "--hosts", 240, "--pages", 2_400, "--roles", ROLES) as web:
        yield web


@pytest.fixture(scope="module")
def collection(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = web.collection(
        tmp_path_factory.mktemp("marks") / "collection",
        politeness={"interval_s": 0.0},
        scope={"pages_per_server": 200},
    )
    done("crawl", "-q", "-C", path, *web.seeds)
    done("index", "-q", "-C", path)
    done("tables", "-q", "-C", path)
    return path


@pytest.fixture(scope="module")
def entries(collection: Path) -> dict[str, Entry]:
    """What is searchable, by URL."""
    writer = Writer(place(collection / "index"))
    found = {entry.url: entry for segment in writer.segments() for entry in segment}
    writer.close()
    return found


@pytest.fixture(scope="module")
def needles(web: Web, entries: dict[str, Entry]) -> dict[str, str]:
    """For each searchable page that the web planned, the word that stands on it and its copies only."""
    planned = {page["url"]: page["needle"] for page in web.oracle.get("/pages")}
    return {url: planned[name] for url in entries if (name := ALIAS.sub("", url)) in planned}


@pytest.fixture(scope="module")
def groups(entries: dict[str, Entry]) -> list[list[str]]:
    """Pages that say nearly the same, the one known first in front."""
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries.values():
        if entry.group:
            found[entry.group].append(entry)
    return [
        [entry.url for entry in sorted(group, key=lambda entry: entry.since)]
        for group in found.values()
        if len(group) > 1
    ]


def asked(collection: Path, *words: str) -> Any:
    return json.loads(done(words[0], "-C", collection, "--json", *words[1:]))


def test_every_needle_is_found_and_nearly_all_of_them_as_one_result(
    collection: Path, needles: dict[str, str]
) -> None:
    reader = Reader(place(collection / "index"))
    copies: defaultdict[str, set[str]] = defaultdict(set)
    for url, needle in needles.items():
        copies[needle].add(url)
    doubled = []
    for needle, urls in copies.items():
        every = {hit.url for hit in search(reader, f'"{needle}"', limit=500, every=True).hits}
        folded = search(reader, f'"{needle}"', limit=500)
        assert every >= urls
        assert sum(1 + hit.similar for hit in folded.hits) == len(every)
        if folded.total > 1:
            doubled.append((needle, sorted(urls)))
            assert len(urls) > 1, urls
    assert len(copies) > 1_500
    assert len(doubled) <= 0.005 * len(copies), doubled


def test_pages_marked_as_near_copies_are_copies(needles: dict[str, str], groups: list[list[str]]) -> None:
    wrong = [urls for urls in groups if len({needles.get(url, urlsplit(url).hostname) for url in urls}) > 1]
    assert wrong == []
    assert sum(len(urls) - 1 for urls in groups) > 80


def test_pages_that_say_they_are_missing_are_marked_and_no_others(
    web: Web, entries: dict[str, Entry]
) -> None:
    liars = {host["name"] for host in web.oracle.get("/hosts") if host["role"] == "soft404"}
    missing = {url for url in entries if urlsplit(url).hostname in liars and "/missing/" in url}
    assert {url for url, entry in entries.items() if entry.soft_404} == missing
    assert len(missing) >= 10


def test_what_search_leaves_out_is_said_and_can_be_asked_for(
    collection: Path, entries: dict[str, Entry]
) -> None:
    url = next(url for url, entry in entries.items() if entry.soft_404)
    site = f"site:{urlsplit(url).hostname}"
    usual, every = (
        asked(collection, "search", "-n1000", site),
        asked(collection, "search", "-n1000", "--all", site),
    )
    assert url not in {hit["url"] for hit in usual["results"]}
    assert url in {hit["url"] for hit in every["results"] if hit["soft_404"]}
    assert usual["left_out"] == sum(hit["soft_404"] for hit in every["results"])
    assert "looks like a missing page" in done("explain", "-C", collection, url)


def test_a_near_copy_is_named_below_the_page_known_first(
    collection: Path, needles: dict[str, str], groups: list[list[str]]
) -> None:
    first, *copies = next(urls for urls in groups if len(urls) == 2 and urls[0] in needles)
    (hit,) = asked(collection, "search", needles[first])["results"]
    assert (hit["url"], hit["copies"]) == (first, copies)
    assert f"near copy of {first}" in done("explain", "-C", collection, copies[0])
    assert asked(collection, "explain", first)["search"]["similar"] == 1


def test_accounts_and_tables_agree_with_the_index(
    collection: Path, entries: dict[str, Entry], groups: list[list[str]]
) -> None:
    copies = {url: urls[0] for urls in groups for url in urls[1:]}
    assert asked(collection, "stats")["search"] == {
        "searchable": len(entries),
        "near_copies": len(copies),
        "soft_404": sum(entry.soft_404 for entry in entries.values()),
    }
    rows = done("sql", "-C", collection, "--json", "select url, copy_of from near_copies").splitlines()
    table = {row["url"]: row["copy_of"] for row in map(json.loads, rows) if row["url"] in entries}
    agreeing = sum(table.get(url) in urls for urls in groups for url in urls[1:])
    assert agreeing >= 0.97 * len(copies)
    assert len(table) <= 1.03 * len(copies)
