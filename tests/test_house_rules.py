"""Is the house as CONTRIBUTING says? Rules no linter knows, each with the reason it is kept."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src" / "joro"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()

#: Words that say nothing: every module has data, every class handles something. See CONTRIBUTING, vocabulary.
EMPTY_WORDS = {
    "item",
    "job",
    "task",
    "info",
    "data",
    "helper",
    "util",
    "handler",
    "processor",
    "agent",
    "spider",
}

#: Paths that exist on one machine only. URLs such as http://host/home/ are meant to pass.
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:work/(?:main|shared)|root/\.|home/\w+/\w|Users/\w+/\w|tmp/\w)")


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def tracked() -> list[Path]:
    """The files git knows, new ones included; an unpacked release has no git, and nothing to check."""
    git = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return [path for name in git.stdout.splitlines() if (path := ROOT / name).is_file()]


def names(tree: ast.Module) -> Iterator[str]:
    """What a module's author named: classes and functions of the module. Methods may be a library's words."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name


def words(name: str) -> set[str]:
    """The words of an identifier, in the singular: `HTMLTask_jobs` is html, task, job.

    User-Agent is a header's name, one word of HTTP's.
    """
    parts = re.findall(r"user_agent|[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {part.lower().removesuffix("s") for part in parts}


def test_the_word_finder_sees_through_case_and_plural() -> None:
    assert words("HTMLTask_jobs") == {"html", "task", "job"}


def test_no_module_is_longer_than_500_lines() -> None:
    sizes = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in modules("src", "tests", "bench", "scripts")
    }
    assert {str(path): size for path, size in sizes.items() if size > 500} == {}


def test_every_module_opens_with_the_question_it_answers() -> None:
    """Only the package's own two doors and the one-command files of cli/ are statements."""
    asked = [
        path for path in modules("src", "bench", "scripts") if path.parent not in (SOURCE / "cli", SOURCE)
    ]
    asked += [path for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]
    silent = [path for path in asked if "?" not in opening(path)]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def opening(path: Path) -> str:
    """The first paragraph of the module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]


def test_no_module_class_or_function_has_an_empty_word_for_a_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules("src", "bench", "scripts")
        for name in (path.stem, *names(ast.parse(path.read_text(encoding="utf-8"))))
        if words(name) & EMPTY_WORDS
    ]
    assert found == []


def test_every_dependency_says_why_it_is_there() -> None:
    requirements = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        requirements += extra
    for requirement in requirements:
        lines = [line for line in LINES if line.strip().startswith(f'"{requirement}",')]
        assert lines, requirement
        assert all(re.search(r"#\s*\S", line) for line in lines), f"{requirement} gives no reason"


def test_asking_for_help_loads_none_of_the_heavy_libraries() -> None:
    """`joro --help` answers at once because a command's libraries load only when it runs."""
    code = "import sys, joro.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & runtime_libraries() == set()


def runtime_libraries() -> set[str]:
    """The import names of every dependency but click."""
    wanted = {canonical(requirement) for requirement in PROJECT["project"]["dependencies"]} - {"click"}
    found = {
        module
        for module, distributions in packages_distributions().items()
        if wanted & {canonical(name) for name in distributions}
    }
    assert {"tantivy", "numpy", "pycurl", "rich"} <= found
    return found


def canonical(requirement: str) -> str:
    """The distribution's name in the one spelling that pip compares: `can-ada>=3` is can-ada."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=~!\[; ]", requirement)[0]).lower()


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in MACHINE_PATH.finditer(text)]
    assert found == []


@pytest.mark.parametrize("path", ["/tmp/joro", "/home/me/joro", "(/work/main)"])
def test_the_path_finder_sees_machine_paths(path: str) -> None:
    assert MACHINE_PATH.search(f"see {path}")


@pytest.mark.parametrize("path", ["http://a.example/home/me/x", "$TMP/tmp/x", "href=/tmp"])
def test_the_path_finder_lets_urls_pass(path: str) -> None:
    assert not MACHINE_PATH.search(path)


def test_one_python_version_is_claimed_everywhere() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    tools = PROJECT["tool"]
    assert tools["mypy"]["python_version"] == oldest
    assert tools["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    for name in ("README.md", "CONTRIBUTING.md", "Makefile", "scripts/setup.sh"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"Python (\d\.\d+)", text)) <= {oldest}, name
    assert f"({oldest.replace('.', ', ')})" in (ROOT / "scripts/setup.sh").read_text(encoding="utf-8")


def test_a_test_folder_is_named_after_the_room_it_tests() -> None:
    rooms = {path.stem for path in SOURCE.iterdir()} | {"bench", "scripts", "scenarios"}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders <= rooms
