"""What a shell sees of a command: its exit code, and one line for every mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from joro.config import Config
from joro.store.collection import Collection
from tests.archive.examples import only, visit, writer


def joro(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "joro", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """A collection with one capture."""
    collection = Collection.create(tmp_path / "web", Config())
    archive = writer(collection.archive)
    archive.append(visit())
    archive.close()
    return collection


def test_the_shell_learns_that_a_check_found_a_bad_file(collection: Collection) -> None:
    assert joro("archive", "check", "-C", collection.path).returncode == 0
    warc = only(collection.archive)
    warc.write_bytes(warc.read_bytes()[:-5])
    checked = joro("archive", "check", "-C", collection.path)
    assert (checked.returncode, checked.stderr) == (1, "")
    assert checked.stdout.endswith("; bad files: 1\n")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["archive", "--help"], ["index", "-h"]])
def test_to_ask_for_help_is_no_failure(words: list[str]) -> None:
    assert joro(*words).returncode == 0


@pytest.mark.parametrize("words", [[], ["archive"], ["nonsense"], ["index", "--nonsense"]])
def test_a_command_that_is_none_is_a_mistake(words: list[str]) -> None:
    assert joro(*words).returncode == 2


@pytest.mark.parametrize("name", ["file/below", "x" * 300, "circle/below"])
def test_a_path_that_cannot_be_is_one_line_that_names_it(
    collection: Collection, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    done = joro("export", "-C", collection.path, "--to", tmp_path / name, "--format", "warc")
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert str(tmp_path) in line
    assert "check the path" in line
