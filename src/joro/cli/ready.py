"""How does a program that serves tell whoever started it that it is up?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from joro.cli.options import file_option
from joro.errors import UsageError

F = TypeVar("F", bound=Callable[..., object])


def ready_option(what: str) -> Callable[[F], F]:
    """`--ready-file FILE` (`ready_file`)."""
    return file_option("--ready-file", written=True, help=f"Write {what} here once it is up.")


def announce(ready_file: Path | None, *ports: int) -> None:
    """Write the ports, one a line, at once: whoever sees the file sees all of it."""
    if ready_file is not None:
        draft = ready_file.with_name(f"{ready_file.name}.new")
        try:
            draft.write_text("".join(f"{port}\n" for port in ports), encoding="utf-8")
            draft.rename(ready_file)
        except OSError as error:
            raise UsageError(
                f"{ready_file} cannot be written ({error.strerror})", remedy="name another with --ready-file"
            ) from None
