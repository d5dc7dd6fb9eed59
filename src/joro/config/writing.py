"""How is a `joro.toml` written, so that a person can go on from it?

In:    a `Config`.
Out:   TOML with the reason above each setting.
Never: writes what `reading` would not read back as the same.
"""

from __future__ import annotations

import re
from typing import Any

from joro.config.declare import Override
from joro.config.tree import Config, settings


def render(config: Config) -> str:
    """A `joro.toml` holding `config`: what differs from the default is set, the rest stands as a comment."""
    lines: list[str] = ["# Settings of this collection; what is commented out is the default."]
    default = Config()
    previous = ""
    for section, key, value, why in settings(config):
        if section != previous:
            lines += ["", f"[{section}]"]
            previous = section
        mark = "# " if value == getattr(getattr(default, section), key) else ""
        lines += [f"# {why}", f"{mark}{key} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
    if isinstance(value, Override):
        return _inline({"servers": value.servers} | value.changes)
    if isinstance(value, tuple) and value and isinstance(value[0], Override):
        return "[\n" + "".join(f"  {_toml(each)},\n" for each in value) + "]"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, dict):
        return _inline(value)
    return repr(value)


_BARE_KEY = re.compile(r"[A-Za-z_]+")


def _inline(table: dict[str, Any]) -> str:
    pairs = (
        f"{key if _BARE_KEY.fullmatch(key) else _toml(key)} = {_toml(each)}" for key, each in table.items()
    )
    return "{ " + ", ".join(pairs) + " }"
