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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joro.errors import ConfigError

FILE_NAME = "joro.toml"


def setting(
    default: Any, why: str, *, least: float | None = None, most: float | None = None, whole: bool = False
) -> Any:
    """A field with its explanation and, for numbers, its range; `whole`: no server can differ from others."""
    metadata = {"why": why, "least": least, "most": most, "whole": whole}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Override:
    """Other settings for some servers: one `[[politeness.rules]]` or `[[scope.rules]]`."""

    servers: tuple[str, ...]  # hosts, "*.example.jp", or "http://one.example:8080"
    changes: dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """Who we say we are: every server owner must be able to find and stop us."""

    name: str = setting("joro", "robot name, matched against the User-agent lines of robots.txt")
    contact: str = setting("", "address of a page or mailbox about this robot, sent in User-Agent")


@dataclass(frozen=True)
class Machine:
    """What of this machine may be used."""

    processes: int = setting(1, "robots on this machine, each with a share of the servers", least=1, most=256)


@dataclass(frozen=True)
class Fetch:
    """How a request is made, and where it must stop."""

    sockets: int = setting(200, "connections open at the same time", least=1, most=100_000)
    timeout_s: float = setting(60.0, "longest time for one visit", least=0.1)
    connect_timeout_s: float = setting(15.0, "longest time until a connection stands", least=0.1)
    body_limit_bytes: int = setting(16_000_000, "a longer body is cut and marked truncated", least=1_000)
    head_limit_bytes: int = setting(64_000, "longer response headers end the visit", least=1_000)
    memory_limit_bytes: int = setting(
        24_000_000, "bodies under way may take so much memory together; big ones wait for room", least=1_000
    )
    stall_s: float = setting(
        30.0, "a server that sends less than stall_bytes_per_s for so long is left", least=1.0
    )
    stall_bytes_per_s: int = setting(100, "see stall_s", least=1)
    keep_alive_s: float = setting(60.0, "a connection idle for longer is closed", least=1.0)
    http2: bool = setting(True, "use HTTP/2 with https servers that offer it")
    verify_tls: bool = setting(
        False,
        "refuse servers whose certificate is not valid; without, each is collected and its certificate kept",
    )
    ca_file: str = setting("", "PEM file of the authorities to trust; none = the system's")
    proxy: str = setting(
        "",
        "send every request through socks5://host:port; socks5h://, http://, https:// need proxy_resolves",
    )
    proxy_resolves: bool = setting(
        False, "agree that the proxy looks names up, and that private addresses are its business to refuse"
    )
    bind_address: str = setting("", "address or interface of this machine to connect from; none = any")
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
    """How gently we knock. Where each number comes from: `docs/concepts/politeness.md`."""

    interval_s: float = setting(
        20.0, "time between the end of a visit and the next to that server", least=0.0
    )
    fast_servers_percent: int = setting(
        20,
        "so many of the robot's servers, the fastest, get a shorter interval",
        least=0,
        most=100,
        whole=True,
    )
    fast_bytes_per_s: float = setting(14_000.0, "a slower server is never one of the fastest", least=0.0)
    fast_interval_percent: int = setting(
        50, "what is left of interval_s for the fastest servers; 100 = no difference", least=0, most=100
    )
    slow_delay_percent: int = setting(
        100, "added to the interval of a server that hardly moves, in hundredths of interval_s", least=0
    )
    error_delay_percent: int = setting(
        300,
        "added when the last ten requests all failed (one: a tenth), in hundredths of interval_s",
        least=0,
    )
    target_bytes_per_s: float = setting(14_000.0, "a server of this speed is not called slow", least=1.0)
    run_pages: int = setting(
        1, "requests in a row while the connection lives and no Crawl-delay is wished", least=1
    )
    run_pause_s: float = setting(0.0, "pause after such a run, if longer than the interval", least=0.0)
    suspend_after_s: float = setting(
        0.0, "pause a server after collecting from it for so long without a break; 0 = never", least=0.0
    )
    suspend_for_s: float = setting(3_600.0, "length of that pause", least=0.0)
    window: str = setting(
        "", 'when visits may begin, as "weekdays 02:00-08:00, weekends 02:00-22:00 Asia/Tokyo"; "" = always'
    )
    per_address: int = setting(
        1,
        "servers visited at once on one IP address, by all processes together",
        least=1,
        most=64,
        whole=True,
    )
    address_interval_s: float = setting(
        10.0, "time between two visits to one IP address, if shorter than interval_s", least=0.0
    )
    robots_txt: bool = setting(True, "obey robots.txt; switch off only for servers that are yours")
    robots_age_s: float = setting(
        21_600.0, "robots.txt is read again after this time", least=1.0, most=86_400.0
    )
    crawl_delay_limit_s: float = setting(300.0, "a longer Crawl-delay is taken as this one", least=0.0)
    retry_limit: int = setting(2, "further tries after a passing failure, each a doubled wait apart", least=0)
    retry_wait_s: float = setting(60.0, "first wait after a passing failure", least=0.0)
    retry_after_limit_s: float = setting(86_400.0, "a longer Retry-After is taken as this one", least=0.0)
    rules: tuple[Override, ...] = setting(
        (), 'for some servers: [[politeness.rules]], servers = ["*.example.jp"] and keys of above', whole=True
    )


@dataclass(frozen=True)
class Scope:
    """Which pages belong to the collection."""

    hops: int = setting(15, "links to follow from a seed", least=0, most=255)
    cgi_hops: int = setting(
        10, "links to follow from one generated page to the next on a server", least=0, most=255
    )
    pages_per_server: int = setting(10_000, "upper limit of pages collected from one server", least=1)
    domains: tuple[str, ...] = setting(
        (), "stay inside these domains and their subdomains; none = everywhere", whole=True
    )
    url_limit_chars: int = setting(2_000, "longer URLs are left alone", least=20)
    include: tuple[str, ...] = setting(
        (), 'only URLs like these: "*/news/*", or "re:" and a regular expression; none = all', whole=True
    )
    exclude: tuple[str, ...] = setting((), "no URLs like these, even if included", whole=True)
    everything_under: tuple[str, ...] = setting(
        (), 'where pages of all languages are kept, e.g. ".jp"', whole=True
    )
    languages_elsewhere: tuple[str, ...] = setting(
        (), 'elsewhere only pages in these languages, e.g. "ja"; none = all', whole=True
    )
    unwanted_words: tuple[str, ...] = setting((), "words that mark pages nobody wants here", whole=True)
    unwanted_limit: int = setting(
        3, "so many different unwanted words on a page, and it is not kept", least=1, whole=True
    )
    rules: tuple[Override, ...] = setting(
        (), 'for some servers: [[scope.rules]], servers = ["*.example.jp"] and keys of above', whole=True
    )


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
    per_address_per_minute: int = setting(120, "requests to one IP address in any 60 seconds", least=1)
    global_per_second: int = setting(5_000, "requests to anyone in any second", least=1)
    concurrent_per_server: int = setting(2, "requests in progress at one server", least=1)
    concurrent_per_address: int = setting(4, "requests in progress at one IP address", least=1)
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
    machine: Machine = field(default_factory=Machine)
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
        if not isinstance(each, str) or not _SERVERS.fullmatch(each):
            raise ConfigError(
                f"{source}: {where}.servers = {each!r} is no server",
                remedy='write "example.jp", "*.example.jp" or "http://one.example:8080"',
            )
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


_PORT = re.compile(r":\d+$")

Section = typing.TypeVar("Section", bound=Politeness | Scope)


class PerServer(typing.Generic[Section]):
    """A section as it holds for each server: all its rules that name the server, later ones winning."""

    #: Answers remembered, so that a server costs one dictionary look-up after its first question.
    REMEMBERED = 100_000

    def __init__(self, section: Section) -> None:
        self._section = section
        self._patterns = [servers_like(rule.servers) for rule in section.rules]
        self._known: dict[str, Section] = {}
        self._merged: dict[tuple[int, ...], Section] = {(): section}

    def of(self, server: str) -> Section:
        """The settings for a server key such as `http://www.example.jp:8080`."""
        if not self._patterns:
            return self._section
        known = self._known.get(server)
        return known if known is not None else self._work_out(server)

    def _work_out(self, server: str) -> Section:
        rules = tuple(place for place, are_meant in enumerate(self._patterns) if are_meant(server))
        if rules not in self._merged:
            changes = {key: value for place in rules for key, value in self._changes(place)}
            self._merged[rules] = dataclasses.replace(self._section, **changes)
        if len(self._known) >= self.REMEMBERED:
            self._known.clear()
        self._known[server] = self._merged[rules]
        return self._merged[rules]

    def _changes(self, place: int) -> Iterable[tuple[str, Any]]:
        return self._section.rules[place].changes.items()


def servers_like(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Is a server key meant by one of these patterns: server key, host:port or host, `*` for anything?"""
    globs = (".*".join(map(re.escape, each.lower().split("*"))) for each in patterns)
    wanted = re.compile(f"^(?:{'|'.join(globs)})$", re.MULTILINE)

    def are_meant(server: str) -> bool:
        authority = server.partition("://")[2]
        return wanted.search(f"{server}\n{authority}\n{_PORT.sub('', authority)}") is not None

    return are_meant
