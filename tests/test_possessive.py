"""Do our patterns mean the same to every Python we run on?

Up to 3.11.4 (Debian 12 has 3.11.2) Python loses its place where a repeat that gives nothing back, such as
`(?:…)*+`, ends because its group fails half-way, and mixes up spans where that group captures. A group that
may also be empty always succeeds, so the repeat ends right.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import joro

#: What matches one character fails before it has gone anywhere.
SINGLE = (_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY)


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    for module in pkgutil.walk_packages(joro.__path__, "joro."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern):
                    yield f"{module.name}.{name}", value


def within(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """Every operation in a parsed pattern."""
    if isinstance(parsed, _parser.SubPattern):
        for operation, argument in parsed:
            yield operation, argument
            yield from within(argument)
    elif isinstance(parsed, (tuple, list)):
        for part in parsed:
            yield from within(part)


def unsafe(pattern: re.Pattern[Any]) -> list[str]:
    bodies = [
        argument[2]
        for operation, argument in within(_parser.parse(pattern.pattern, pattern.flags))
        if operation is _constants.POSSESSIVE_REPEAT
    ]
    groups = [body for body in bodies if len(body) != 1 or body[0][0] not in SINGLE]
    return [
        str(body)
        for body in groups
        if body.getwidth()[0] > 0
        or any(one is _constants.SUBPATTERN and two[0] is not None for one, two in within(body))
    ]


def test_a_repeat_that_gives_nothing_back_may_end_empty_and_captures_nothing() -> None:
    found = dict(patterns())
    assert len(found) > 100
    assert {name: bodies for name, pattern in found.items() if (bodies := unsafe(pattern))} == {}


def test_the_test_sees_what_python_gets_wrong() -> None:
    assert unsafe(re.compile(r"(?:[^<]++|<(?=\s))*+x"))
    assert unsafe(re.compile(r"(?:(a)|)*+x"))
    assert not unsafe(re.compile(r"(?:[^<]++|<(?=\s)|)*+[ab]?+x"))
