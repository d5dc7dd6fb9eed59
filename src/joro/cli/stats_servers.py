"""Which servers are kept fresh with most trouble, and how?"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from joro.explainer.explainer import duration
from joro.explainer.portraits import Portraits
from joro.fetch.politeness import Manners
from joro.schedule.figures import ServerFigures
from joro.store.collection import Collection
from joro.store.frontier import Frontier
from joro.store.layout import share_count, shares

_HEAD = (
    f"{'pages':>10} {'wished/day':>11} {'kept/day':>11} {'a visit in':>11} {'used':>8} {'waiting':>8} "
    f"{'missed':>8} {'changes in':>11} {'fresh':>6}  server"
)


def hardest(collection: Collection, most: int) -> list[dict[str, Any]]:
    """The servers that missed most visits, and of those that missed as many, those asked for most."""
    manners = Manners(collection.config.politeness)
    found: list[tuple[tuple[int, float], str, ServerFigures]] = []
    for folder in shares(collection.frontier, share_count(collection.frontier)):
        frontier = Frontier(folder, read_only=True)
        portraits = Portraits(frontier, collection.config, manners)
        kept = ((name, record) for name, record in frontier.all_servers() if record.wishes)
        rows = ((portraits.trouble(name, record), name, record) for name, record in kept)
        worst = heapq.nlargest(most, rows, key=_trouble)
        found += [(trouble, name, portraits.of(name, record)) for trouble, name, record in worst]
        frontier.abandon()
    found.sort(key=_trouble, reverse=True)
    return [{"server": name, **asdict(figures)} for _, name, figures in found[:most]]


def _trouble(row: tuple[tuple[int, float], str, object]) -> tuple[int, float]:
    return row[0]


def lines(servers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A table of them."""
    if not servers:
        return
    yield "\nservers with most visits missed, or used most"
    yield _HEAD
    for each in servers:
        name = each["server"]
        yield _line(ServerFigures(**{key: value for key, value in each.items() if key != "server"}), name)


def _line(of: ServerFigures, name: str) -> str:
    every = duration(of.access_interval_s) if of.access_interval_s is not None else "-"
    change = duration(of.change_interval_s) if of.change_interval_s is not None else "-"
    fresh = f"{100 * of.freshness:.0f} %" if of.freshness is not None else "-"
    return (
        f"{of.pages:>10,} {of.wished_per_day:>11,.1f} {of.kept_per_day:>11,.1f} {every:>11} "
        f"{100 * of.utilisation:>6.1f} % {of.waiting:>8,} {of.missed:>8,} {change:>11} {fresh:>6}  {name}"
    )
