"""Are the settings in a `joro.toml` right?

In:    the text of a `joro.toml`.
Out:   one `Config`.
Never: silently ignores a key; guesses a value; complains without naming a remedy.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
import types
import typing
from pathlib import Path
from typing import Any

from joro.config.declare import MOST_WHOLE, Override
from joro.config.servers import EXPRESSION, expression, spelled
from joro.config.tree import FILE_NAME, Config
from joro.errors import ConfigError


def load(path: Path) -> Config:
    """The settings in one file; every mistake in it is a `ConfigError` that says how to mend it."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows editors put a byte order mark first
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read ({error})", remedy="check its permissions and encoding (UTF-8)"
        ) from None
    return parse(text, source=str(path))


def parse(text: str, *, source: str = FILE_NAME) -> Config:
    """The settings in one text."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nestings past Python's limits
        raise ConfigError(f"{source} is not TOML ({error})", remedy="mend that line") from None
    return from_tables(tables, source=source)


def from_tables(tables: dict[str, Any], *, source: str = FILE_NAME) -> Config:
    """The settings in a tree of plain values, as TOML gives them."""
    config = typing.cast(Config, _section(Config, tables, source, ""))
    least, most = config.refresh.least_interval_s, config.refresh.most_interval_s
    if least > most:
        raise ConfigError(
            f"{source}: refresh.least_interval_s = {least:g} is more than most_interval_s = {most:g}",
            remedy="lower the one or raise the other",
        )
    beat_s, lease_s = config.manager.beat_s, config.manager.lease_s
    if beat_s >= lease_s:
        raise ConfigError(
            f"{source}: manager.beat_s = {beat_s:g} is not less than lease_s = {lease_s:g}, so that robots "
            "would lose each lease before they ask again",
            remedy="lower the one or raise the other",
        )
    return config


def _section(kind: type, table: dict[str, Any], source: str, path: str) -> Any:
    return kind(**_values(kind, table, source, path))


def _values(kind: type, table: dict[str, Any], source: str, path: str) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    known = {f.name: f for f in dataclasses.fields(kind)}
    values = {}
    for key, value in table.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            raise ConfigError(f"{source}: unknown key {where} = {value!r}", remedy=_suggestion(key, known))
        if dataclasses.is_dataclass(hints[key]):
            if not isinstance(value, dict):
                raise ConfigError(
                    f"{source}: {where} = {value!r} is not a table", remedy=f"write it as [{where}]"
                )
            values[key] = _section(typing.cast(type, hints[key]), value, source, where)
        elif hints[key] == tuple[Override, ...]:
            values[key] = _overrides(kind, value, source, where)
        else:
            values[key] = _value(hints[key], value, known[key], f"{source}: {where}")
    return values


def _overrides(kind: type, value: Any, source: str, where: str) -> tuple[Override, ...]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ConfigError(
            f"{source}: {where} = {value!r} is not a list of tables", remedy=f"write each as [[{where}]]"
        )
    return tuple(_override(kind, each, source, f"{where}[{place}]") for place, each in enumerate(value))


#: A host or host:port, with or without scheme; `*` stands for anything.
_SERVERS = re.compile(r"(?:[a-z*]+://)?[^/\s]+", re.IGNORECASE)


def _override(kind: type, table: dict[str, Any], source: str, where: str) -> Override:
    servers = table.get("servers")
    if not isinstance(servers, list) or not servers:
        raise ConfigError(f"{source}: {where} names no servers", remedy='write servers = ["*.example.jp"]')
    for each in servers:
        if isinstance(each, str) and each.startswith(EXPRESSION):
            expression(each, f"{source}: {where}.servers")
        elif not isinstance(each, str) or not _SERVERS.fullmatch(each):
            raise ConfigError(
                f"{source}: {where}.servers = {each!r} is no server",
                remedy='write "example.jp", "*.example.jp", "http://one.example:8080" or "re:EXPRESSION"',
            )
        else:
            spelled(each, f"{source}: {where}.servers")
    changes = {key: value for key, value in table.items() if key != "servers"}
    for spec in dataclasses.fields(kind):
        if spec.name in changes and spec.metadata["whole"]:
            raise ConfigError(
                f"{source}: {where}.{spec.name} = {changes[spec.name]!r} cannot differ between servers",
                remedy=f"set it in [{where.partition('.')[0]}]",
            )
    return Override(tuple(servers), _values(kind, changes, source, where))


def _suggestion(key: str, known: dict[str, Any]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"


#: What a person may write for each type, and how we call it in an error.
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}


def _value(hint: Any, value: Any, spec: dataclasses.Field[Any], where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is tuple:
        if not isinstance(value, list):
            raise ConfigError(f"{where} = {value!r} is not a list", remedy='write ["one", "two"]')
        inner = typing.get_args(hint)[0]
        return tuple(_plain(inner, each, where) for each in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise ConfigError(f"{where} = {value!r} is not a table", remedy='write { "key" = value }')
        inner = typing.get_args(hint)[1]
        return {key: _plain(inner, each, f"{where}.{key}") for key, each in value.items()}
    plain = _plain(hint, value, where)
    check(plain, spec, where)
    return plain


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) is int and abs(value) < 10**300:
        return float(value)
    if isinstance(kind, types.UnionType) or type(value) is not kind:
        raise ConfigError(f"{where} = {value!r} has the wrong type", remedy=f"write {_WORDS[kind]}")
    return value


def check(value: Any, spec: dataclasses.Field[Any], where: str) -> None:
    """Is a number within what its setting allows, and has a text the form it needs?"""
    least, most, form = (spec.metadata[word] for word in ("least", "most", "form"))
    if least is not None and not value >= least:  # `not >=`: nan is out of range too
        raise ConfigError(f"{where} = {value!r} is too small", remedy=f"write {least:.15g} or more")
    if most is None and type(value) is int:
        most = MOST_WHOLE
    if most is not None and not value <= most:
        raise ConfigError(f"{where} = {value!r} is too large", remedy=f"write {most:.15g} or less")
    if form is not None and not re.fullmatch(form.pattern, value):
        raise ConfigError(f"{where} = {value!r} cannot be", remedy=f"write {form.words}")
