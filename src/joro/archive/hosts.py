"""Which hosts does somebody mean by a regular expression?

In:    the expression.
Out:   a yes or no for each name.
Never: takes more than linear time, whatever was written: RE2 goes back nowhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from joro.errors import UsageError

#: Longer expressions are no choice of hosts but an attack.
HOSTS_LIMIT = 2_000


def hosts_like(pattern: str, what: str = "hosts") -> Callable[[str], bool]:
    """Does a host name match? A `UsageError` says what is wrong with the expression."""
    if not pattern:
        return lambda host: True
    import re2  # 20 ms, which other commands need not pay

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        if len(pattern) > HOSTS_LIMIT:
            raise re2.error(f"longer than {HOSTS_LIMIT:,} characters")
        expression: Any = re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error.args[0]
        raise UsageError(
            f"{what} = {pattern[:100]!r} is no regular expression ({said})",
            remedy=r"write one like \.ac\.jp$ (RE2: no look-ahead, no back-references)",
        ) from None
    return functools.lru_cache(maxsize=65_536)(lambda host: expression.search(host) is not None)
