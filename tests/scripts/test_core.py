import ast
import tomllib
from collections.abc import Iterator
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


def heirs(module: Path) -> Iterator[tuple[str, str]]:
    """Each class of a module, and the file of each of its bases that comes from another one of ours."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    origin = {
        name.asname or name.name: node.module.replace(".", "/") + ".py"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (
                (node.name, origin.get(base.id, "")) for base in node.bases if isinstance(base, ast.Name)
            )


def test_heirs_of_compiled_classes_are_compiled_too() -> None:
    source = core.ROOT / "src"
    interpreted = [path for path in source.rglob("*.py") if str(path.relative_to(source)) not in MODULES]
    assert [heir for path in interpreted for heir, home in heirs(path) if home in MODULES] == []


def test_nobody_is_told_to_compile_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no C compiler (no-such-compiler)" in core.why_not()


def test_no_twin_lies_beside_its_source() -> None:
    assert list((core.ROOT / "src").rglob("*.so")) == []
