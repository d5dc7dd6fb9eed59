"""A host is taken down while people read it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.scenarios.stage import Web, done, joro, serve_web
from tests.scenarios.views import Shown, serving

pytestmark = pytest.mark.slow


def collected(web: Web, path: Path) -> Path:
    """A collection with everything made of it that can be made."""
    collection = web.collection(path / "web", politeness={"interval_s": 0.0})
    done("crawl", "-q", "-C", collection, *web.seeds)
    done("index", "-q", "-C", collection)
    done("tables", "-q", "-C", collection)
    return collection


def one_page(web: Web, collection: Path) -> tuple[str, str, str]:
    """A page that can be found by a word of its own: URL, word, and the moment of its capture."""
    for page in web.oracle.get("/pages"):
        if page["needle"] and page["language"] == "en":
            hits = json.loads(done("search", "-C", collection, "--json", page["needle"]))["results"]
            if [hit["url"] for hit in hits] == [page["url"]]:
                return page["url"], page["needle"], stamp_of(collection, page["url"])
    raise AssertionError("no page with a word of its own was collected")


def stamp_of(collection: Path, url: str) -> str:
    lines = (line for path in (collection / "archive").rglob("*.cdxj*") for line in text(path).splitlines())
    return next(line.split()[1] for line in lines if f'"{url}"' in line)


def text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8", "replace")


def test_nothing_shows_a_host_from_its_order_on_and_no_byte_is_left_after_collecting(tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 30, "--pages", 300, "--roles", "normal") as web:
        collection = collected(web, tmp_path)
        url, word, stamp = one_page(web, collection)
    with serving(collection) as (portal, service, token):
        page = Shown(collection, portal, service, token, url, word, (stamp, stamp))
        views = {**page.views(), **page.commands()}
        assert {name: view() for name, view in views.items()} == dict.fromkeys(views, True)
        done("takedown", "add", "-C", collection, "--host", url.split("/")[2], "--reason", "asked by mail")
        assert {name: view() for name, view in views.items()} == dict.fromkeys(views, False)
        assert "captures erased" in done("takedown", "collect", "-C", collection)
        assert {name: view() for name, view in views.items()} == dict.fromkeys(views, False)
    files = [path for path in collection.rglob("*") if path.is_file() and path.parent.name != "orders"]
    assert [path.name for path in files if word.encode() in path.read_bytes()] == []
    assert [path.name for path in files if path.suffix == ".gz" and word in text(path)] == []
    assert joro("archive", "check", "-C", collection).returncode == 0
