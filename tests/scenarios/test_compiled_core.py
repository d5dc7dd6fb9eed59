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


def test_both_collect_the_same_pages(compiled: dict[str, str], tmp_path: Path) -> None:
    with serve_web(tmp_path, "--hosts", 20, "--pages", 300, "--roles", "normal") as web:
        pure = collected(web, tmp_path / "pure", None)
        assert len(pure) > 250
        assert collected(web, tmp_path / "compiled", compiled) == pure
