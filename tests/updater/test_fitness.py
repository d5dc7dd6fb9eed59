import subprocess
import sys
from pathlib import Path

import pytest

from joro.config import Config
from joro.errors import ReleaseError
from joro.store.collection import Collection
from joro.updater.fitness import read_archive
from tests.scenarios.stage import done, joro

pytestmark = pytest.mark.slow


def test_this_tree_works_here() -> None:
    said = done("self-check").splitlines()
    assert [line.split(":")[0] for line in said[:-1]] == [
        "imports",
        "scratch collection",
        "crawl",
        "archive",
        "frontier",
    ]
    assert said[-1].startswith("joro ")


def test_a_collection_is_opened_and_left_as_it_was(tmp_path: Path) -> None:
    Collection.create(tmp_path / "web", Config())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "web").rglob("*")}
    assert f"{tmp_path / 'web'}: opened, read only; 0 pages visited" in done(
        "self-check", "-C", tmp_path / "web"
    )
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "web").rglob("*")} == before


def test_settings_that_this_version_does_not_know_are_found_before_the_switch(tmp_path: Path) -> None:
    Collection.create(tmp_path / "web", Config())
    (tmp_path / "web" / "joro.toml").write_text("[fetch]\nold_setting = 1\n")
    told = joro("self-check", "-C", tmp_path / "web")
    assert told.returncode == 1
    assert "unknown key fetch.old_setting" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_library_that_is_an_extra_may_be_missing() -> None:
    code = (
        "import sys; sys.modules['duckdb'] = None; from joro.updater.fitness import import_all; import_all()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_archive_without_the_pages_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no capture of /"):
        read_archive(Collection.create(tmp_path / "web", Config()))
