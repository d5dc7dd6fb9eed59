"""How do words bend in the languages whose word files spell the forms out?

In:    an entry of columns, "der Kuchen/den Kuchen", and patterns from the word file, `form what.acc: $2`.
Out:   the pattern with its `$n` replaced by the entry's columns; a missing column is the first one.
Never: knows grammar; a form is right because a person wrote it down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from joro.testweb.prose.grammar import GrammarError, Inflect

_COLUMN = re.compile(r"\$(\d)")


def fill(pattern: str, entry: str) -> str:
    """The pattern, filled from the columns of the entry."""
    columns = entry.split("/")

    def column(match: re.Match[str]) -> str:
        number = int(match[1])
        return columns[number - 1] if number <= len(columns) else columns[0]

    return _COLUMN.sub(column, pattern)


def inflector(forms: Mapping[str, str]) -> Inflect:
    """The `Inflect` of a language by its form patterns."""

    def inflect(symbol: str, entry: str, form: str) -> str:
        pattern = forms.get(f"{symbol}.{form}")
        if pattern is None:
            raise GrammarError(f"no line 'form {symbol}.{form}: …'")
        return fill(pattern, entry)

    return inflect
