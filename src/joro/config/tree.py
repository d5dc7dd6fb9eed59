"""Which sections are there, and in which order are they written?

In:    the sections.
Out:   `Config`, the whole of a `joro.toml`; `settings`, every setting in it with its reason.
Never: reads a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from joro.config.archive import Archive
from joro.config.cooperate import Cooperate, Manager
from joro.config.fetch import Fetch
from joro.config.identity import Identity, Machine
from joro.config.listening import Breaker, Portal
from joro.config.politeness import Politeness
from joro.config.refresh import Refresh
from joro.config.scope import Scope
from joro.config.update import Update

FILE_NAME = "joro.toml"


@dataclass(frozen=True)
class Config:
    """Everything in `joro.toml`."""

    identity: Identity = field(default_factory=Identity)
    machine: Machine = field(default_factory=Machine)
    fetch: Fetch = field(default_factory=Fetch)
    politeness: Politeness = field(default_factory=Politeness)
    scope: Scope = field(default_factory=Scope)
    refresh: Refresh = field(default_factory=Refresh)
    archive: Archive = field(default_factory=Archive)
    portal: Portal = field(default_factory=Portal)
    breaker: Breaker = field(default_factory=Breaker)
    cooperate: Cooperate = field(default_factory=Cooperate)
    manager: Manager = field(default_factory=Manager)
    update: Update = field(default_factory=Update)


def settings(config: Config | None = None) -> Iterator[tuple[str, str, Any, str]]:
    """Every setting as (section, key, value, why), for the reference page and `joro init`."""
    config = config or Config()
    for section in dataclasses.fields(config):
        table = getattr(config, section.name)
        for spec in dataclasses.fields(table):
            yield section.name, spec.name, getattr(table, spec.name), spec.metadata["why"]
