"""What do servers, distances and speed-ups look like?

In:    an experiment.
Out:   S1's figures 11 to 15, each with its table.
Never: draws what is not in a table beside it.
Paper: S1, figures 11–15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joro.coordinate.assign import Floats
from joro.coordinate.experiment import Experiment
from joro.coordinate.plan import finish
from joro.simulator.cooperate import LANES
from joro.simulator.cooperate_world import HOUR_MS
from joro.simulator.figures import Figure, Row

_FIRST, _SECOND = "#0072b2", "#d55e00"
_ONE, _MANY = "1 at a time", f"{LANES} at a time"
_POINTS = 120


#: The end of an assignment in hours, one server at a time and 200, for figure 15 and those like it.
Ends = dict[str, tuple[float, float]]


def of_experiment(one: Experiment, ends_h: Ends) -> list[Figure]:
    """Figures 11 to 15; of the last one several, each compares with an assignment that ends at that hour."""
    return [
        _cumulative("figure-11", "Figure 11: how much the servers have", "KB", one.sizes_kb, "bytes"),
        _cumulative(
            "figure-12",
            "Figure 12: how many URLs the servers have",
            "URLs",
            one.urls.astype(np.float64),
            "URLs",
        ),
        _ratios(one.distances),
        _alone(one, ends_h),
        *(_together(one, name, *end_h) for name, end_h in ends_h.items()),
    ]


def alone_h(one: Experiment) -> tuple[Floats, Floats]:
    """What each robot would need for all servers: one at a time, and 200 (S1, footnotes 11 and 12)."""
    costs_ms = np.where(np.isfinite(one.costs_ms), one.costs_ms, 0.0)
    everything = [np.full(len(one.servers), robot) for robot in range(len(one.robots))]
    many = [finish(costs_ms, owners, LANES)[robot] for robot, owners in enumerate(everything)]
    return costs_ms.sum(axis=1) / HOUR_MS, np.array(many) / HOUR_MS


def _cumulative(name: str, title: str, unit: str, values: Floats, held: str) -> Figure:
    """The share of servers up to a size, and of what these hold together."""
    ordered = np.sort(values)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(_POINTS, len(ordered))).astype(int))
    last = np.arange(max(0, len(ordered) - _POINTS // 4), len(ordered))  # where most of the bytes are
    sums = np.cumsum(ordered) / (ordered.sum() or 1.0)
    rows: list[Row] = []
    for place in np.union1d(places, last).tolist():
        rows.append({"size": float(ordered[place]), "share": (place + 1) / len(ordered), "of": "servers"})
        rows.append({"size": float(ordered[place]), "share": float(sums[place]), "of": held})
    top = ordered[-max(1, len(ordered) // 100) :].sum() / (ordered.sum() or 1.0)
    below = f"{len(ordered):,} servers, median {np.median(ordered):,.0f} {unit}; the top 1 % hold {top:.0%}"
    x = {
        "field": "size",
        "type": "quantitative",
        "title": f"{unit} of a server",
        "scale": {"type": "log"},
        "axis": {"format": ",~g", "labelOverlap": True},
    }
    y = {"field": "share", "type": "quantitative", "title": "cumulated", "axis": {"format": ".0%"}}
    colour = {
        "field": "of",
        "title": None,
        "scale": {"domain": ["servers", held], "range": [_FIRST, _SECOND]},
    }
    mark = {"type": "line", "strokeWidth": 2.5}
    chart = {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y, "color": colour}}
    return Figure(name, (title, below), rows, chart)


def _ratios(distances: Floats) -> Figure:
    """How differently far one server is from the robots."""
    known = distances[:, np.isfinite(distances).all(axis=0)]
    ratio = known.max(axis=0, initial=0.0) / known.min(axis=0, initial=np.inf)
    edges = np.concatenate(
        [np.arange(0, 200, 10), [200, 300, 500, 1_000, max(1_001.0, ratio.max(initial=0.0) + 1)]]
    )
    counts, _ = np.histogram(ratio, edges)
    rows: list[Row] = [
        {"from": float(low), "to": float(high), "bin": f"{low:.0f}–", "servers": int(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    below = "slowest by fastest robot of each server"
    if len(ratio):
        below += f": median {np.median(ratio):.1f}, mean {ratio.mean():.1f}, most {ratio.max():,.0f}"
    x = {"field": "bin", "type": "ordinal", "sort": None, "title": "times", "axis": {"labelAngle": -45}}
    y = {"field": "servers", "type": "quantitative", "title": "servers", "axis": {"format": ",d"}}
    chart = {"data": {"values": rows}, "mark": {"type": "bar", "color": _FIRST}, "encoding": {"x": x, "y": y}}
    return Figure("figure-13", ("Figure 13: how much the robots' speeds differ", below), rows, chart)


def _alone(one: Experiment, ends_h: Ends) -> Figure:
    """What one robot would take for everything."""
    rows: list[Row] = []
    for robot, single, many in zip(one.robots, *(each.tolist() for each in alone_h(one)), strict=True):
        rows.append({"robot": robot, "servers": _ONE, "hours": single})
        rows.append({"robot": robot, "servers": _MANY, "hours": many})
    single, many = next(iter(ends_h.values()))
    below = f"{len(one.robots)} robots together: {single:,.1f} h, {_MANY} {many:,.1f} h"
    return Figure("figure-14", ("Figure 14: one robot alone", below), rows, _bars(rows, "hours", "hours"))


def _together(one: Experiment, name: str, end_h: float, lanes_end_h: float) -> Figure:
    """How much sooner all of them together are done than one alone."""
    rows: list[Row] = []
    for robot, single, many in zip(one.robots, *(each.tolist() for each in alone_h(one)), strict=True):
        rows.append({"robot": robot, "servers": _ONE, "times": single / (end_h or 1.0)})
        rows.append({"robot": robot, "servers": _MANY, "times": many / (lanes_end_h or 1.0)})
    low, high = min(row["times"] for row in rows), max(row["times"] for row in rows)
    title = (
        f"{name[0].upper()}{name[1:].replace('-', ' ', 1)}: together, how many times as fast as one alone",
        f"{low:.1f} to {high:,.0f} times",
    )
    return Figure(name, title, rows, _bars(rows, "times", "times as fast"))


def _bars(rows: list[Row], field: str, title: str) -> dict[str, Any]:
    colour = {
        "field": "servers",
        "title": "servers",
        "scale": {"domain": [_ONE, _MANY], "range": [_FIRST, _SECOND]},
    }
    least = 10.0 ** np.floor(np.log10(max(min(row[field] for row in rows), 1e-3)))
    y = {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domainMin": least},
        "axis": {"format": ",~g", "labelOverlap": True},
    }
    encoding = {
        "x": {"field": "robot", "type": "nominal", "sort": None, "title": None, "axis": {"labelAngle": -60}},
        "xOffset": {"field": "servers", "sort": [_ONE, _MANY]},
        "y": y,
        "y2": {"datum": least},
        "color": colour,
    }
    return {"data": {"values": rows}, "mark": {"type": "bar"}, "encoding": encoding}
