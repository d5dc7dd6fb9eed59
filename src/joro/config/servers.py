"""Which settings hold for one server?

In:    a section with its rules for some servers, and a server key.
Out:   the section as it holds there.
Never: works the same answer out twice, while it is remembered.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Iterable
from typing import Any

from joro.config.politeness import Politeness
from joro.config.scope import Scope
from joro.errors import ConfigError

#: What a pattern begins with that is a regular expression.
EXPRESSION = "re:"
_PORT = re.compile(r":\d+$")
#: A part of a name, between dots, with the asterisks in it.
_LABEL = re.compile(r"[^./:\s]+")

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


def servers_like(patterns: Iterable[str], where: str = "servers") -> Callable[[str], bool]:
    """Is a server key meant by one of these patterns: server key, host:port or host, `*` for anything?

    `re:` begins a regular expression that is looked for anywhere in the server key.
    """
    patterns = list(patterns)
    expressions = [expression(each, where) for each in patterns if each.startswith(EXPRESSION)]
    globs = (
        ".*".join(map(re.escape, spelled(each, where).split("*")))
        for each in patterns
        if not each.startswith(EXPRESSION)
    )
    wanted = re.compile(f"^(?:{'|'.join(globs) or '(?!)'})$", re.MULTILINE)

    def are_meant(server: str) -> bool:
        if wanted.search("\n".join(_names(server))) is not None:
            return True
        return any(each.search(server) is not None for each in expressions)

    return are_meant


def _names(server: str) -> Iterable[str]:
    """What a person may call a server; its key leaves out the port that is usual for its scheme."""
    authority = server.partition("://")[2]
    host = _PORT.sub("", authority)
    yield from (server, authority, host)
    if host == authority:
        port = 443 if server.startswith("https:") else 80
        yield from (f"{server}:{port}", f"{authority}:{port}")


def spelled(pattern: str, where: str) -> str:
    """A pattern for hosts as canonical URLs have them: in lower case, and names of all scripts in ASCII."""
    pattern = pattern.lower()
    if pattern.isascii():
        return pattern
    return _LABEL.sub(lambda label: label[0] if label[0].isascii() else _in_ascii(label[0], where), pattern)


def _in_ascii(label: str, where: str) -> str:
    from joro.url import host_of, try_canonical  # 0.02 s, which few settings need

    url = None if "*" in label else try_canonical(f"http://{label}.example/")
    if url is None:
        raise ConfigError(
            f"{where}: {label!r} is no part of a host's name",
            remedy="let * stand for whole parts between dots",
        )
    return host_of(url).removesuffix(".example")


def expression(pattern: str, where: str) -> re.Pattern[str]:
    """The regular expression behind `re:`; `where` is the setting it comes from."""
    try:
        return re.compile(pattern.removeprefix(EXPRESSION))
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"{where}: {pattern!r} is not a regular expression ({error})", remedy="mend it"
        ) from None
