import tomllib
from pathlib import Path

import pytest

from scripts import core

MODULES: list[str] = tomllib.loads((core.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "hatch"
]["build"]["targets"]["wheel"]["hooks"]["custom"]["modules"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/joro/url.py", *core.RECIPE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["src/joro/url.py", "src/joro/new.py", "pyproject.toml"])
def test_a_core_of_other_source_lies_elsewhere(tree: Path, name: str) -> None:
    before = core.fingerprint(tree)
    (tree / name).write_text("pass  # or not\n", encoding="utf-8")
    assert core.fingerprint(tree) != before


def test_the_same_source_has_the_same_core(tree: Path) -> None:
    assert core.fingerprint(tree) == core.fingerprint(tree)


@pytest.mark.parametrize("name", MODULES)
def test_what_is_compiled_is_there_and_has_no_structs(name: str) -> None:
    assert "msgspec.Struct" not in (core.ROOT / "src" / name).read_text(encoding="utf-8")


def test_nobody_is_told_to_compile_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no C compiler (no-such-compiler)" in core.why_not()


def test_no_twin_lies_beside_its_source() -> None:
    assert list((core.ROOT / "src").rglob("*.so")) == []
