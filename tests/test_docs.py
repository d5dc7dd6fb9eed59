"""Do the documents tell the truth? Links lead somewhere, commands can be typed, references are current."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from joro import cli, config
from joro.discover.traps import WATCHED_FROM
from scripts import reference
from tests.conftest import ROOT

PAGES = [
    page
    for page in sorted(ROOT.rglob("*.md"))
    if not any(
        part.startswith(".") or part in ("demo", "node_modules", "build")
        for part in page.relative_to(ROOT).parts
    )
]
#: The changelog may speak of what no longer exists.
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(text: str) -> str:
    """The text without its code blocks, where brackets mean something else."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made the way GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(read(page)), flags=re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each).lower() for each in headings)
    return {re.sub(r"[^\w\- ]", "", each).strip().replace(" ", "-") for each in plain}


def dead_links(page: Path) -> Iterator[str]:
    for target in LINK.findall(prose(read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        if not goal.exists() or (anchor and goal.suffix == ".md" and anchor not in anchors(goal)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert list(dead_links(page)) == []


def test_a_dead_link_and_a_dead_anchor_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A head: line\n[a](#a-head-line) [b](#b) [c](page.md) [d](gone.md) [e](https://e.example/)\n"
    )
    assert list(dead_links(page)) == ["#b", "gone.md"]


@pytest.mark.parametrize("name", list(reference.PAGES))
def test_the_reference_is_what_make_docs_writes(name: str) -> None:
    assert read(reference.FOLDER / name) == reference.PAGES[name](), "run: make docs"


def test_every_setting_is_in_the_reference() -> None:
    text = read(reference.FOLDER / "configuration.md")
    missing = [f"{section}.{key}" for section, key, _, _ in config.settings() if f"| `{key}` |" not in text]
    assert missing == []


def test_every_command_is_in_the_reference() -> None:
    text = read(reference.FOLDER / "commands.md")
    assert [name for name in cli.COMMANDS if f"## `joro {name}`" not in text] == []


def typed(page: Path) -> Iterator[list[str]]:
    """Every `joro …` line in a page's code, split as the shell would."""
    blocks = re.findall(r"^```(?:bash|sh|console)\n(.*?)^```", read(page), flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`(joro [^`]+)`", prose(read(page)))
    for line in "\n".join(blocks + inline).splitlines():
        if re.match(r"(\$ |\.venv/bin/)?joro ", line):
            yield shlex.split(line.removeprefix("$ "), comments=True)[1:]


def command_of(arguments: list[str]) -> tuple[click.Command, list[str]]:
    """The command that `arguments` call, and what is left for it."""
    command: click.Command = cli.joro
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        below = command.get_command(click.Context(command), arguments[0])
        assert below is not None, f"no such command: {arguments[0]}"
        command, arguments = below, arguments[1:]
    return command, arguments


@pytest.mark.parametrize(
    "page", [page for page in CURRENT if list(typed(page))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_joro_command_in_the_documents_can_be_typed(page: Path) -> None:
    for arguments in typed(page):
        command, rest = command_of(arguments)
        known = {option for param in command.params for option in param.opts + param.secondary_opts}
        options = [word.split("=")[0] for word in rest if re.match(r"--?[A-Za-z]", word)]
        assert set(options) <= known | {"-h", "--help", "--version"}, arguments


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), flags=re.MULTILINE))
    for page in CURRENT:
        said = re.findall(r"(?:`|^    )make ([a-z]+)", prose(read(page)), flags=re.MULTILINE)
        mentioned = {*said, *re.findall(r"^make ([a-z]+)", read(page), flags=re.MULTILINE)}
        assert mentioned <= targets, page


def test_the_architecture_is_read_in_five_minutes() -> None:
    assert len(read(ROOT / "ARCHITECTURE.md").splitlines()) < 200


def test_every_room_has_its_question_in_the_architecture_and_its_place_behind_it() -> None:
    listed = set(
        re.findall(r"^\| `([a-z]+)(?:/|\.py)` \| .+\? \|$", read(ROOT / "ARCHITECTURE.md"), re.MULTILINE)
    )
    told = set(
        re.findall(r"^### `([a-z]+)(?:/|\.py)`: .+\?$", read(ROOT / "docs" / "rooms.md"), re.MULTILINE)
    )
    rooms = {
        path.stem
        for path in (ROOT / "src" / "joro").iterdir()
        if not path.name.startswith(("__", "py.typed"))
    }
    assert rooms == listed == told


def test_the_page_about_traps_knows_from_which_visit_on_a_server_is_watched() -> None:
    assert f"from its {WATCHED_FROM}th visit on" in read(ROOT / "docs" / "concepts" / "traps.md")
