"""`--since` and `--until`: which captures, by their time?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from joro.archive.times import time_typed
from joro.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def period_options(command: F) -> F:
    """A time from which and one before which captures count (`since`, `until`)."""
    until = click.option("--until", metavar="TIME", help="Only captures before that time.")
    since = click.option("--since", metavar="TIME", help="Only captures from 2026-11-16 (or 20261116) on.")
    return since(until(command))


def period(since: str | None, until: str | None) -> tuple[float | None, float | None]:
    """Both in seconds since 1970; None where nothing was typed."""
    begin, end = time_in("--since", since), time_in("--until", until)
    if begin is not None and end is not None and begin >= end:
        raise UsageError(
            f"--since {since} is not before --until {until}", remedy="give the earlier one first"
        )
    return begin, end


def time_in(option: str, text: str | None) -> float | None:
    """Seconds since 1970 of what was typed behind an option; None where nothing was."""
    return None if text is None else time_typed(text, option)
