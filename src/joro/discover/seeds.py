"""Where does the collection start?

In:    URLs on the command line and files of URLs, one a line.
Out:   canonical URLs, each once, in the order given.
Never: skips a line it does not understand: a mistyped seed is a hole in the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from joro.errors import BadSeeds, BadUrl, UsageError
from joro.url import canonical

#: So many bad lines are shown; the count tells the rest.
SHOWN = 3
#: In a file; right behind a URL without a space, `#` begins its fragment.
_COMMENT = re.compile(r"(?:^|\s)#.*")


def read_seeds(arguments: Iterable[str], files: Iterable[Path] = ()) -> list[str]:
    """All seeds, canonical; every mistake is reported before anything is collected."""
    seeds = [canonical(with_scheme(argument)) for argument in arguments]
    for file in files:
        seeds += _read_file(file)
    return list(dict.fromkeys(seeds))


def with_scheme(text: str) -> str:
    """`example.org/x` as people type it becomes `https://example.org/x`."""
    host = text.strip().partition("/")[0]
    bare = "://" not in text and "." in host and " " not in host and ":" not in host
    return f"https://{text.strip()}" if bare else text.strip()


def _read_file(file: Path) -> Iterator[str]:
    good: list[str] = []
    bad: list[str] = []
    for number, line in enumerate(_lines(file), 1):
        text = _COMMENT.sub("", line).strip()
        if not text:
            continue
        try:
            good.append(canonical(with_scheme(text)))
        except BadUrl:
            bad.append(f"line {number}: {text[:60]!r}")
    if bad:
        shown = ", ".join(bad[:SHOWN]) + (", …" if len(bad) > SHOWN else "")
        count = "1 line is" if len(bad) == 1 else f"{len(bad)} lines are"
        raise BadSeeds(
            f"{file}: {count} no http(s) URL ({shown})", remedy="mend or remove them, or start them with #"
        )
    return iter(good)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(
            f"the seed file {file} cannot be read ({reason})", remedy="check its name and encoding"
        ) from None
