"""`joro retry` of what the collection does not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from joro.cli import joro
from joro.config import from_tables
from joro.errors import UsageError
from joro.model import Outcome, Visit
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import set_share_count, shares
from joro.store.records import RobotsRecord

A, B = "http://a.example", "http://b.example"
VISITED, WAITING, STRANGE = f"{A}/", f"{A}/waits", f"{A}/strange"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Of one server a page was visited and another waits; of another only robots.txt was read."""
    made = Collection.create(tmp_path / "c", from_tables({}))
    set_share_count(made.frontier, 2)
    folder = shares(made.frontier, 2)[1]
    frontier = Frontier(folder)
    frontier.add([VISITED], 0)
    frontier.settle(lambda _: 100)
    page = frontier.take(A)
    assert page is not None
    frontier.done(Visit(page, 7.0, Outcome.OK))
    frontier.add([WAITING], 1)
    frontier.settle(lambda _: 100)
    frontier.keep_robots(B, RobotsRecord(7.0, 200, b""))
    frontier.commit(None)
    frontier.close()
    Frontier(made.frontier / "0-of-2").close()
    return made.path


def retried(collection: Path, *words: str) -> Result:
    return CliRunner().invoke(joro, ["retry", "-C", str(collection), *words])


def test_a_url_nobody_knows_is_named_with_the_remedy(collection: Path) -> None:
    words = [sys.executable, "-m", "joro", "retry", "-C", str(collection), STRANGE]
    result = subprocess.run(words, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"not known here: {STRANGE};" in result.stderr
    assert f"joro crawl -C {collection} URL" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_those_known_wait_again_beside_one_that_is_not(collection: Path) -> None:
    result = retried(collection, STRANGE, VISITED)
    assert result.exit_code == 0
    assert f"not known here: {STRANGE};" in result.stderr
    assert "1 page waits again" in result.stdout


@pytest.mark.parametrize("url", [WAITING, VISITED, "HTTP://A.example:80/#top"])
def test_a_page_that_waits_or_is_written_otherwise_is_known(collection: Path, url: str) -> None:
    result = retried(collection, url)
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("words", [["--server", "nobody.example"], ["--failed", "--server", "b.example"]])
def test_a_server_nobody_knows_is_named(collection: Path, words: list[str]) -> None:
    result = retried(collection, *words)
    assert isinstance(result.exception, UsageError)
    assert f"no server known here is like --server {words[-1]};" in str(result.exception)


def test_pages_of_a_known_server_wait_beside_one_that_is_not(collection: Path) -> None:
    result = retried(collection, "--server", "nobody.example", "--server", "*.example")
    assert result.exit_code == 0
    assert "--server nobody.example;" in result.stderr
    assert "*.example" not in result.stderr
    assert "1 page waits again" in result.stdout
