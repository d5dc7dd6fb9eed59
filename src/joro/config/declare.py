"""How is a setting declared, so that loader, file and reference can all be made from it?

In:    a default, why the setting is there, and the values it may have.
Out:   a dataclass field that carries them.
Never: knows any setting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: Nobody waits longer for an answer; libcurl counts milliseconds in a C `long`.
DAY_S = 86_400.0
#: No other span may be longer: what was promised is kept, and a mistake would be for ever.
YEAR_S = 31_536_000.0
CENTURY_S = 100 * YEAR_S
#: Whole numbers with no limit of their own end here, where all that reckons with them can still hold them.
MOST_WHOLE = 10**14


@dataclass(frozen=True)
class Form:
    """What a text must look like: a regular expression, and the same for people."""

    pattern: str
    words: str


def setting(
    default: Any,
    why: str,
    *,
    least: float | None = None,
    most: float | None = None,
    form: Form | None = None,
    whole: bool = False,
) -> Any:
    """A field with its explanation and, for numbers, its range, for texts, their form.

    `whole`: no server can differ from others.
    """
    metadata = {"why": why, "least": least, "most": most, "form": form, "whole": whole}
    if isinstance(default, (dict, list)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Override:
    """Other settings for some servers: one `[[politeness.rules]]` or `[[scope.rules]]`."""

    servers: tuple[str, ...]  # hosts, "*.example.jp", "http://one.example:8080", or "re:" and an expression
    changes: dict[str, Any]
