"""`joro index` and `joro search`, as they are typed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from joro.index.segment import place
from joro.store.collection import Collection
from tests.index.archived import START, answer, archive, collection_in, page


def joro(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "joro", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = collection_in(tmp_path_factory.mktemp("commands"))
    archive(
        made,
        page("http://a.jp/%E3%81%82", "題名", "日本語の検索を試す。"),
        page(
            "http://b.example/",
            "\x1b[31mred\x1b]0;owned\x07",
            "hostile \x1b[2J words [bold]not markup[/bold]",
        ),
        page("http://b.example/", "old", "old", time=START - 1),
        answer("http://b.example/robots.txt", "User-agent: *", content_type="text/plain"),
    )
    result = joro("index", "-C", str(made.path))
    assert result.stdout == (
        "4 captures: 2 indexed, 1 older than the searchable version, 1 not HTML; 2 pages searchable\n"
    )
    return made


def test_indexing_again_says_that_there_is_nothing_new(collection: Collection) -> None:
    assert joro("index", "-C", str(collection.path)).stdout == "nothing new; 2 pages searchable\n"


def test_quiet_prints_nothing(collection: Collection) -> None:
    result = joro("index", "-q", "-C", str(collection.path))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_result_has_title_readable_address_and_snippet(collection: Collection) -> None:
    lines = joro("search", "-C", str(collection.path), "検索").stdout.splitlines()
    assert [line.strip() for line in lines[:3]] == ["題名", "http://a.jp/あ", "日本語の検索を試す。"]
    assert lines[-1].startswith("1 page matches; 2 searchable, ")


def test_finding_nothing_is_an_answer(collection: Collection) -> None:
    result = joro("search", "-C", str(collection.path), "unheardof")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("no page matches; 2 searchable")


def test_a_page_cannot_command_the_terminal(collection: Collection) -> None:
    output = joro("search", "-C", str(collection.path), "hostile").stdout
    assert "\x1b" not in output
    assert "[bold]not markup[/bold]" in output


def test_json_is_for_programs(collection: Collection) -> None:
    found = json.loads(joro("search", "--json", "-C", str(collection.path), "検索", "lang:ja").stdout)
    assert found["total"] == 1
    assert found["results"][0]["url"] == "http://a.jp/%E3%81%82"


def test_n_limits_the_results(collection: Collection) -> None:
    found = json.loads(joro("search", "--json", "-n", "1", "-C", str(collection.path), "--", "-zzz").stdout)
    assert (found["total"], len(found["results"])) == (2, 1)


def test_searching_before_indexing_names_the_command_to_run(tmp_path: Path) -> None:
    result = joro("search", "-C", str(collection_in(tmp_path).path), "word")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert f"run: joro index -C {tmp_path}" in result.stderr


def test_follow_ends_politely(collection: Collection) -> None:
    command = [sys.executable, "-m", "joro", "index", "--follow", "-C", str(collection.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (collection.path / "indexer.lock").read_text().startswith(str(process.pid)):
            assert process.poll() is None
        process.terminate()
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "nothing new; 2 pages searchable\n", "")


#: Loaded before, because the source may be somebody's alone.
AS_NOBODY = """
import os, joro.cli.search
os.setgid(65534)
os.setuid(65534)
joro.cli.main()
"""


@pytest.fixture
def lent(collection: Collection) -> Iterator[Collection]:
    """A collection that others may look into; nothing above it keeps them out."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        shutil.copytree(collection.path, Path(directory, "lent"))
        yield Collection.open(Path(directory, "lent"))


def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *words], capture_output=True, text=True, check=False, cwd="/"
    )


def test_who_may_only_read_a_collection_may_search_it(lent: Collection) -> None:
    before = {path: path.stat().st_mtime_ns for path in lent.index.rglob("*")}
    result = as_nobody("search", "-C", str(lent.path), "検索")
    assert (result.returncode, result.stderr) == (0, "")
    assert "http://a.jp/あ" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in lent.index.rglob("*")} == before


def test_who_may_not_read_a_collection_is_told_to_get_permission(lent: Collection) -> None:
    for path in place(lent.index).iterdir():
        path.chmod(0o600)
    result = as_nobody("search", "-C", str(lent.path), "検索")
    assert result.returncode == 1
    assert "run it as the owner of the files there, or get permission" in result.stderr
    assert "--rebuild" not in result.stderr
