"""From whom does this collection receive captures, when, and which?

In:    `redistribution.toml` in the collection.
Out:   its sources, each with its schedule and conditions.
Never: holds a token: it names the file that does. Accepts a key it does not know, or a senseless value.
Paper: S1, 5.4.1: a schedule file with the client's name, starting times as in crontab, and conditions.

    [[sources]]
    name = "tokyo"
    url = "https://tokyo.example:8767/"      # left out: it stands behind a firewall, and pushes
    token_file = "tokyo.token"               # what its operator gave us; relative to this file
    schedule = "30 3 * * *"
    timezone = "Asia/Tokyo"                  # UTC, if left out
    transfer = "difference"                  # or "all", "since", "period"
    since = "2026-01-01"                     # for "since" and "period"
    until = "2026-07-01"                     # for "period"
    hosts = '\\.ac\\.jp$'
    ca = "authority.pem"                     # whose certificates to trust, beside the known ones
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from joro.archive.times import time_typed
from joro.errors import ConfigError, UsageError
from joro.redistribute.cron import Cron
from joro.redistribute.selection import Mark, Selection, checked
from joro.store.collection import Collection
from joro.trust import sendable

FILE_NAME = "redistribution.toml"
TRANSFERS = ("all", "difference", "since", "period")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{0,31}")


class Source(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One collection that captures come from."""

    name: str
    schedule: str
    url: str = ""
    token_file: str = ""
    timezone: str = "UTC"
    transfer: str = "difference"
    since: str = ""
    until: str = ""
    hosts: str = ""
    ca: str = ""

    @property
    def pushes(self) -> bool:
        return not self.url

    @property
    def cron(self) -> Cron:
        return Cron.parse(self.schedule, self.timezone)

    def selection(self, mark: Mark) -> Selection:
        """What to ask for, when the last transfer ended at `mark`."""
        since, until = (time_typed(text) if text else None for text in (self.since, self.until))
        return Selection(
            hosts=self.hosts,
            since=since if self.transfer in ("since", "period") else None,
            until=until if self.transfer == "period" else None,
            after=mark if self.transfer == "difference" else {},
        )


def sources_of(collection: Collection) -> list[Source]:
    """All sources; none where there is no file."""
    path = collection.path / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read ({error})", remedy="check its permissions and encoding (UTF-8)"
        ) from None
    return parse(text, str(path))


def parse(text: str, where: str = FILE_NAME) -> list[Source]:
    """The sources in a text; a `ConfigError` names the one that is wrong."""
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not TOML ({error})", remedy="mend that line") from None
    unknown = sorted(set(tables) - {"sources"})
    if unknown or not isinstance(tables.get("sources", []), list):
        raise ConfigError(
            f"{where}: unknown key {', '.join(unknown) or 'sources'}", remedy="write [[sources]]"
        )
    found = [
        _source(table, f"{where}: source {number}")
        for number, table in enumerate(tables.get("sources", []), 1)
    ]
    names = [source.name for source in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{where}: two sources are called {name!r}", remedy="give each its own name")
    return found


def _source(table: Any, where: str) -> Source:
    try:
        source = msgspec.convert(table, Source)
        _check(source)
        return source
    except msgspec.ValidationError as error:
        known = ", ".join(Source.__struct_fields__)
        raise ConfigError(f"{where} is wrong ({error})", remedy=f"known keys: {known}") from None
    except UsageError as error:
        raise ConfigError(f"{where}: {error.problem}", remedy=error.remedy) from None


def _check(source: Source) -> None:
    if not _NAME.fullmatch(source.name):
        raise UsageError(f"name = {source.name!r} cannot be", remedy="use up to 32 letters, digits and _")
    if source.transfer not in TRANSFERS:
        raise UsageError(
            f"transfer = {source.transfer!r} is not known", remedy=f"write one of {', '.join(TRANSFERS)}"
        )
    if source.transfer in ("since", "period") and not source.since:
        raise UsageError(f"transfer = {source.transfer!r} needs a date", remedy='write since = "2026-01-01"')
    if source.transfer == "period" and not source.until:
        raise UsageError('transfer = "period" needs an end', remedy='write until = "2026-07-01"')
    if source.url and not source.url.startswith(("http://", "https://")):
        raise UsageError(f"url = {source.url!r} cannot be", remedy='write it in full: "https://…"')
    if source.url and not source.token_file:
        raise UsageError("no token_file is named", remedy="put the token its operator gave you into a file")
    Cron.parse(source.schedule, source.timezone)
    checked(source.selection({}))


def token_in(path: Path) -> str:
    """The token in a file, which others should not be able to read."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the token file {path} cannot be read ({error})", remedy="put the token into it, nothing else"
        ) from None
    if not token or len(token.split()) != 1:
        raise UsageError(f"{path} holds no token", remedy="put the token into it, nothing else")
    return sendable(token, f"the token in {path}", remedy="put the token into it, as its operator gave it")
