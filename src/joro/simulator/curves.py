"""How fresh was the copy day by day, and what did each budget give?

In:    the rows of one contest or of several, with other seeds.
Out:   a table with a line for each of them; a figure of freshness over budgets, and one over days for each
       budget.
Never: draws what is not in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joro.simulator.contest import Row
from joro.simulator.figures import Figure

#: Colours that people who see no red or no green tell apart (after Okabe and Ito), and a shape each.
COLOURS = {
    "optimal": "#0072b2",
    "interval": "#cc79a7",
    "gamma": "#009e73",
    "uniform": "#444444",
    "nutch": "#e69f00",
    "stormcrawler": "#d55e00",
    "oracle": "#999999",
}
SHAPES = {
    "optimal": "circle",
    "interval": "square",
    "gamma": "triangle-up",
    "uniform": "cross",
    "nutch": "diamond",
    "stormcrawler": "triangle-down",
    "oracle": "stroke",
}


@dataclass(frozen=True)
class Entry:
    """A row and the seed of its world."""

    seed: int
    row: Row


@dataclass(frozen=True)
class Mean:
    """How one policy did with one budget, in the mean of all seeds."""

    policy: str
    budget: float
    fresh: float
    weighted: float
    captured: float
    used: float
    share: float | None  # of the optimum
    spread: float  # of `share`, or of `fresh` where no optimum is known; over the seeds


def means(entries: Sequence[Entry]) -> list[Mean]:
    """A line for each budget and policy, in the order in which they came."""
    groups: dict[tuple[float, str], list[Row]] = {}
    for entry in entries:
        groups.setdefault((entry.row.budget, entry.row.policy), []).append(entry.row)
    return [_mean(budget, policy, rows) for (budget, policy), rows in groups.items()]


def _mean(budget: float, policy: str, rows: Sequence[Row]) -> Mean:
    outcomes = [row.outcome for row in rows]
    shares = [row.share for row in rows if row.share is not None]
    fresh = [each.fresh for each in outcomes]
    return Mean(
        policy,
        budget,
        float(np.mean(fresh)),
        float(np.mean([each.weighted for each in outcomes])),
        float(np.mean([each.captured for each in outcomes])),
        float(np.mean([each.used for each in outcomes])),
        float(np.mean(shares)) if shares else None,
        float(np.std(shares or fresh)),
    )


def table(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A line for each seed, budget and policy."""
    return [
        {
            "seed": entry.seed,
            "budget": entry.row.budget,
            "policy": entry.row.policy,
            "fresh": entry.row.outcome.fresh,
            "weighted": entry.row.outcome.weighted,
            "share_of_optimum": entry.row.share,
            "captured": entry.row.outcome.captured,
            "visits": entry.row.outcome.visits,
            "used": entry.row.outcome.used,
        }
        for entry in entries
    ]


def figures(entries: Sequence[Entry], how: str) -> list[Figure]:
    """All of them; `how` says below each title what was simulated."""
    budgets = dict.fromkeys(entry.row.budget for entry in entries)
    return [_of_budgets(entries, how), *(_of_days(entries, budget, how) for budget in budgets)]


def _of_budgets(entries: Sequence[Entry], how: str) -> Figure:
    rows = table(entries)
    x = {
        "field": "budget",
        "type": "quantitative",
        "title": "visits for each change",
        "scale": {"type": "log", "padding": 14, "nice": False},
        "axis": {"values": sorted({row["budget"] for row in rows}), "format": "~g", "grid": False},
    }
    y = _fresh("weighted") | {"aggregate": "mean"}
    mark = {"type": "line", "point": {"filled": True, "size": 70}}
    chart = {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y, **_by_policy(entries)}}
    return Figure("freshness", ("Freshness by importance, and what it takes", how), rows, chart)


def _of_days(entries: Sequence[Entry], budget: float, how: str) -> Figure:
    rows = [
        {"policy": policy, "day": day + 1, "weighted": fresh}
        for policy, by_day in _by_day(entries, budget).items()
        for day, fresh in enumerate(by_day)
    ]
    x = {"field": "day", "type": "quantitative", "axis": {"grid": False}, "scale": {"nice": False}}
    colours = {"color": _by_policy(entries)["color"]}
    encoding = {"x": x, "y": _fresh("weighted"), **colours}
    mark = {"type": "line", "strokeWidth": 1.5, "clip": True}
    chart = {"data": {"values": rows}, "mark": mark, "encoding": encoding}
    title = (f"Freshness day by day, {budget:g} visits for each change", how)
    name = f"freshness-{budget:g}".replace(".", "_")  # what follows a dot would be taken for an ending
    return Figure(name, title, rows, chart)


def _by_day(entries: Sequence[Entry], budget: float) -> dict[str, list[float]]:
    """Of each policy the freshness at the end of each day, in the mean of the seeds."""
    days: dict[str, list[Any]] = {}
    for entry in entries:
        if entry.row.budget == budget:
            days.setdefault(entry.row.policy, []).append(entry.row.outcome.by_day)
    return {policy: np.mean(each, axis=0).tolist() for policy, each in days.items()}


def _fresh(field: str) -> dict[str, Any]:
    axis = {"format": "~%"}
    return {
        "field": field,
        "type": "quantitative",
        "title": "fresh",
        "axis": axis,
        "scale": {"zero": False},
    }


def _by_policy(entries: Sequence[Entry]) -> dict[str, Any]:
    names = list(dict.fromkeys(entry.row.policy for entry in entries))

    def scale(values: dict[str, str]) -> dict[str, Any]:
        return {
            "field": "policy",
            "title": None,
            "scale": {"domain": names, "range": [values[name] for name in names]},
        }

    return {"color": scale(COLOURS), "shape": scale(SHAPES)}
