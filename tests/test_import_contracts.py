"""Do the import contracts bite? Each is broken in a copy of the source, and must be named as broken."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

FLOORS = "Four floors; rooms on one floor do not know each other"
PURE = "Deciding is pure: no network, no threads, no clock, no tables"
BREAKER = "The breaker shares no code with what it guards"
FETCH = "Only fetch talks to other people's servers"


@pytest.fixture
def house(tmp_path: Path, root: Path) -> Path:
    """A copy of the source and its contracts, free to be broken."""
    shutil.copytree(
        root / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


def contracts(house: Path) -> tuple[int, str]:
    """What lint-imports says about the copy: exit code and text on one line, as it wraps at any width."""
    run = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house / "src"), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    return run.returncode, " ".join((run.stdout + run.stderr).split())


def test_every_contract_is_broken_once_below(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    names = {contract["name"] for contract in project["tool"]["importlinter"]["contracts"]}
    assert names == {FLOORS, PURE, FETCH, BREAKER}


def test_the_house_as_it_stands_keeps_its_contracts(house: Path) -> None:
    code, text = contracts(house)
    assert code == 0, text
    assert "0 broken" in text


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        pytest.param(FLOORS, "parse/__init__.py", "import joro.archive", id="a stage knows another stage"),
        pytest.param(FLOORS, "testweb/__init__.py", "import joro.portal", id="a program knows another"),
        pytest.param(FLOORS, "store/__init__.py", "import joro.fetch", id="a lower floor knows an upper"),
        pytest.param(FLOORS, "model.py", "import joro.errors", id="the vocabulary knows anything of ours"),
        pytest.param(FLOORS, "utils.py", "", id="a room nobody listed"),
        pytest.param(PURE, "parse/__init__.py", "import asyncio", id="parse waits"),
        pytest.param(PURE, "parse/__init__.py", "import socket", id="parse has a network"),
        pytest.param(PURE, "schedule/__init__.py", "import time", id="schedule looks at a clock"),
        pytest.param(
            BREAKER, "breaker/__init__.py", "import joro.schedule", id="the breaker trusts the schedule"
        ),
        pytest.param(FETCH, "archive/__init__.py", "import pycurl", id="archive asks other people's servers"),
        pytest.param(FETCH, "coordinate/__init__.py", "import pycares", id="coordinate asks name servers"),
    ],
)
def test_a_broken_contract_is_named(house: Path, contract: str, module: str, line: str) -> None:
    with (house / "src" / "joro" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    code, text = contracts(house)
    assert code == 1, text
    assert f"{contract} BROKEN" in text
