"""The compiled core, made into a wheel, collects the same pages as the source it was made from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts import core
from tests.scenarios.archived import responses
from tests.scenarios.stage import Web, done, serve_web

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compiled() -> dict[str, str]:
    """An environment in which `joro` is compiled."""
    if reason := core.why_not():
        pytest.skip(reason)
    command = [sys.executable, "-m", "scripts.core"]
    said = subprocess.run(command, cwd=core.ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {**os.environ, "PYTHONPATH": said.strip()}


def collected(web: Web, folder: Path, env: dict[str, str] | None) -> Counter[str]:
    collection = web.collection(folder, politeness={"interval_s": 0.0})
    done("crawl", "-q", "-C", collection, *web.seeds, env=env)
    done("archive", "check", "-C", collection)
    return responses(collection)


def test_each_says_what_it_is(compiled: dict[str, str]) -> None:
    assert "(compiled core)" in done("--version", env=compiled)
    assert "(pure Python)" in done("--version")


def test_the_core_was_made_by_the_profile_of_a_crawl(compiled: dict[str, str]) -> None:
    assert Path(compiled["PYTHONPATH"], core.TRAINED).exists()


def test_both_collect_the_same_pages(compiled: dict[str, str], tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 20, "--pages", 300, "--roles", "normal") as web:
        pure = collected(web, tmp_path / "pure", None)
        assert len(pure) > 250
        assert collected(web, tmp_path / "compiled", compiled) == pure


def test_a_wheel_holds_the_core_and_works(compiled: dict[str, str], tmp_path: Path) -> None:
    packed = {"JORO_CORE": compiled["PYTHONPATH"], "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"}
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    into = ["install", "--no-deps", "--no-build-isolation", "--target", str(tmp_path), str(core.ROOT)]
    subprocess.run([*pip, *into], env={**os.environ, **packed}, check=True)
    assert list(tmp_path.glob("joro/parse/scan.*.so"))
    assert "(compiled core)" in done("--version", env={**os.environ, "PYTHONPATH": str(tmp_path)})


def test_a_wheel_without_a_core_says_how_to_make_one(tmp_path: Path) -> None:
    environment = {**os.environ, "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1", "JORO_CORE": str(tmp_path)}
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(tmp_path / "to"), str(core.ROOT)]
    run = subprocess.run([*command, *options], env=environment, capture_output=True, text=True)
    assert run.returncode
    assert "use make wheel" in run.stdout + run.stderr
