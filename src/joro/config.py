"""Which settings are there, and are the ones in `joro.toml` right?

In:    the text of a `joro.toml`.
Out:   one frozen tree of dataclasses, a section per part; each part receives only its own.
Never: read globally; silently ignores a key; guesses a value.

The dataclasses below are the only list of settings: the loader, the file `joro init` writes and
`docs/reference/configuration.md` are all made from them.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joro.errors import ConfigError

FILE_NAME = "joro.toml"


def setting(default: Any, why: str, *, least: float | None = None, most: float | None = None) -> Any:
    """A field with its explanation and, for numbers, its range."""
    metadata = {"why": why, "least": least, "most": most}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Identity:
    """Who we say we are: every server owner must be able to find and stop us."""

    name: str = setting("joro", "robot name, matched against the User-agent lines of robots.txt")
    contact: str = setting("", "address of a page or mailbox about this robot, sent in User-Agent")


@dataclass(frozen=True)
class Fetch:
    """How a request is made, and where it must stop."""

    sockets: int = setting(200, "connections open at the same time", least=1, most=100_000)
    timeout_s: float = setting(60.0, "longest time for one visit", least=0.1)
    connect_timeout_s: float = setting(15.0, "longest time until a connection stands", least=0.1)
    body_limit_bytes: int = setting(16_000_000, "a longer body is cut and marked truncated", least=1_000)
    head_limit_bytes: int = setting(64_000, "longer response headers end the visit", least=1_000)
    nameservers: tuple[str, ...] = setting(
        (), 'DNS servers as "address" or "address:port"; none = the system\'s'
    )
    hosts: dict[str, str] = setting({}, 'fixed addresses: name or "*.suffix" = address')
    ports: dict[str, int] = setting({}, 'connect elsewhere: port in the URL = port to use, e.g. "80" = 8080')
    allow_addresses: tuple[str, ...] = setting(
        (), "private or special networks that may be visited all the same, e.g. 127.0.0.0/8"
    )
    breaker: str = setting("", 'host:port of a breaker every request goes through; "" = none')


@dataclass(frozen=True)
class Politeness:
    """How gently we knock."""

    interval_s: float = setting(
        20.0, "time between the end of a visit and the next to that server", least=0.0
    )
    robots_txt: bool = setting(True, "obey robots.txt; switch off only for servers that are yours")
    robots_age_s: float = setting(
        21_600.0, "robots.txt is read again after this time", least=1.0, most=86_400.0
    )
    crawl_delay_limit_s: float = setting(300.0, "a longer Crawl-delay is taken as this one", least=0.0)
    retry_limit: int = setting(2, "further tries after a passing failure, each a doubled wait apart", least=0)
    retry_wait_s: float = setting(60.0, "first wait after a passing failure", least=0.0)


@dataclass(frozen=True)
class Scope:
    """Which pages belong to the collection."""

    hops: int = setting(15, "links to follow from a seed", least=0, most=255)
    pages_per_server: int = setting(10_000, "upper limit of pages collected from one server", least=1)
    domains: tuple[str, ...] = setting(
        (), "stay inside these domains and their subdomains; none = everywhere"
    )
    url_limit_chars: int = setting(2_000, "longer URLs are left alone", least=20)


@dataclass(frozen=True)
class Archive:
    """How the archive is written."""

    warc_limit_bytes: int = setting(1_000_000_000, "a WARC file is closed at this size", least=1_000)
    commit_every_s: float = setting(1.0, "at most this much work is done again after a crash", least=0.01)


@dataclass(frozen=True)
class Portal:
    """Where people look at the collection."""

    address: str = setting("127.0.0.1", "address the portal listens on")
    port: int = setting(8765, "port the portal listens on", least=0, most=65_535)


@dataclass(frozen=True)
class Breaker:
    """Where `joro breaker` stops whoever asks too much; each limit well above what politeness ever needs."""

    address: str = setting("127.0.0.1", "address the breaker listens on")
    port: int = setting(8766, "port the breaker listens on", least=0, most=65_535)
    per_server_per_minute: int = setting(60, "requests to one server in any 60 seconds", least=1)
    per_address_per_minute: int = setting(600, "requests to one IP address in any 60 seconds", least=1)
    global_per_second: int = setting(5_000, "requests to anyone in any second", least=1)
    concurrent_per_server: int = setting(2, "requests in progress at one server", least=1)
    concurrent_per_address: int = setting(20, "requests in progress at one IP address", least=1)
    quarantine_s: float = setting(
        600.0, "whoever was asked too often is not asked at all for this time", least=0.0
    )
    forbid_addresses: tuple[str, ...] = setting(
        (), "networks never connected to, whatever the robot's own guard says, e.g. 10.0.0.0/8"
    )
    alert_command: str = setting("", "command to run at an alert, with the alert as JSON on its input")
    alert_url: str = setting("", "where an alert is posted to as JSON")


@dataclass(frozen=True)
class Config:
    """Everything in `joro.toml`."""

    identity: Identity = field(default_factory=Identity)
    fetch: Fetch = field(default_factory=Fetch)
    politeness: Politeness = field(default_factory=Politeness)
    scope: Scope = field(default_factory=Scope)
    archive: Archive = field(default_factory=Archive)
    portal: Portal = field(default_factory=Portal)
    breaker: Breaker = field(default_factory=Breaker)


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
    return typing.cast(Config, _section(Config, tables, source, ""))


def _section(kind: type, table: dict[str, Any], source: str, path: str) -> Any:
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
        else:
            values[key] = _value(hints[key], value, known[key], f"{source}: {where}")
    return kind(**values)


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
    _check_range(plain, spec, where)
    return plain


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) is int and abs(value) < 10**300:
        return float(value)
    if isinstance(kind, types.UnionType) or type(value) is not kind:
        raise ConfigError(f"{where} = {value!r} has the wrong type", remedy=f"write {_WORDS[kind]}")
    return value


def _check_range(value: Any, spec: dataclasses.Field[Any], where: str) -> None:
    least, most = spec.metadata["least"], spec.metadata["most"]
    if least is not None and not value >= least:  # `not >=`: nan is out of range too
        raise ConfigError(f"{where} = {value!r} is too small", remedy=f"write {least:g} or more")
    if most is not None and not value <= most:
        raise ConfigError(f"{where} = {value!r} is too large", remedy=f"write {most:g} or less")


def settings(config: Config | None = None) -> Iterator[tuple[str, str, Any, str]]:
    """Every setting as (section, key, value, why), for the reference page and `joro init`."""
    config = config or Config()
    for section in dataclasses.fields(config):
        table = getattr(config, section.name)
        for spec in dataclasses.fields(table):
            yield section.name, spec.name, getattr(table, spec.name), spec.metadata["why"]


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
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return repr(value)
