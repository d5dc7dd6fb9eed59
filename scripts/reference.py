"""What can be set, and what can be typed?

In:    the dataclasses of `joro.config` and the commands of `joro.cli`.
Out:   `docs/reference/configuration.md` and `commands.md`; a test fails when they are out of date.
Never: says anything that is not in the code.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from joro import cli
from joro.config import Config

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by `make docs`; change the code instead. -->"


def configuration() -> str:
    """The page of settings: a table for each section of `joro.toml`."""
    lines = [
        "# Settings: what may stand in `joro.toml`",
        "",
        NOTE,
        "",
        "`joro init` writes a file with every setting as a comment. An unknown key, or a value of the wrong",
        "type or out of range, is an error that names the key and the remedy. Names end in their unit:",
        "`_s` is seconds.",
    ]
    for section in dataclasses.fields(Config):
        table = getattr(Config(), section.name)
        lines += ["", f"## [{section.name}]", "", type(table).__doc__ or "", ""]
        lines += ["| key | default | allowed | meaning |", "|---|---|---|---|"]
        lines += [_row(getattr(table, spec.name), spec) for spec in dataclasses.fields(table)]
    return "\n".join(lines) + "\n"


def _row(default: Any, spec: dataclasses.Field[Any]) -> str:
    meaning = spec.metadata["why"].replace("|", "\\|")
    return f"| `{spec.name}` | `{_literal(default)}` | {_allowed(default, spec)} | {meaning} |"


def _literal(value: Any) -> str:
    """A value as TOML writes it; the defaults are plain enough for JSON's spelling to be TOML's."""
    if type(value) in (int, float):
        return f"{value:_}"
    return json.dumps(value, ensure_ascii=False)


def _allowed(default: Any, spec: dataclasses.Field[Any]) -> str:
    least, most = spec.metadata["least"], spec.metadata["most"]
    if least is not None and most is not None:
        return f"{least:,} to {most:,}"
    if least is not None:
        return f"{least:,} or more"
    if most is not None:
        return f"{most:,} or less"
    if spec.metadata["form"] is not None:
        return str(spec.metadata["form"].words)
    if spec.name == "rules":
        return "tables"
    words = {bool: "true, false", str: "text", tuple: "list of texts", dict: "table"}
    return words.get(type(default), "number")


def commands() -> str:
    """The page of commands: the help of each, subcommands included."""
    lines = [
        "# Commands: what can be typed",
        "",
        NOTE,
        "",
        "Commands work in the collection that is the current directory, or in the one given with `-C DIR`. A",
        "mistake ends with one line that names the remedy, and an exit code that is not 0.",
    ]
    top = click.Context(cli.joro, info_name="joro", terminal_width=100, **cli.joro.context_settings)
    for path, text in _help(cli.joro, top):
        lines += ["", f"## `{path}`", "", "```text", text.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _help(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The command and everything below it as (what to type, its help)."""
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, name
            yield from _help(below, click.Context(below, info_name=name, parent=context, terminal_width=100))


#: file name → its text
PAGES = {"configuration.md": configuration, "commands.md": commands}


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
