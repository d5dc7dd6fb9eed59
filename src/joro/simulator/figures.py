"""What do a population and its trials look like?

In:    a population, and the outcomes of trials.
Out:   S0's figures 3 to 8: tables (CSV, and Parquet where pyarrow is), and pictures (SVG and PNG).
Never: needs a browser or the network; draws what is not in a table beside it.
Paper: S0, figures 3–8.
"""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from joro.model import DAY_S
from joro.schedule.sockets import bound
from joro.simulator.population import Population
from joro.simulator.trial import Outcome

Row = dict[str, Any]
Floats = npt.NDArray[np.float64]

#: Colours that people who see no red or no green tell apart (after Okabe and Ito), and a shape each.
COLOURS = {"EDF": "#0072b2", "FCFS": "#e69f00", "FREQ": "#009e73", "RM": "#cc79a7", "SJF": "#444444"}
SHAPES = {"EDF": "circle", "FCFS": "square", "FREQ": "triangle-up", "RM": "cross", "SJF": "diamond"}
MEAN, LONGEST = "#0072b2", "#d55e00"
_DASHED = {"type": "rule", "strokeDash": [5, 4], "color": "#666666"}
_WIDTH, _HEIGHT = 560, 320
_PER_DECADE = 8
#: Names of the moments on an axis of seconds.
_MOMENTS = "{1: '1 s', 60: '1 min', 3600: '1 h', 86400: '1 d', 864000: '10 d', 8640000: '100 d'}[datum.value]"


@dataclass(frozen=True)
class Figure:
    """A table and the picture of it."""

    name: str
    title: tuple[str, str]  # and a line below it
    rows: list[Row]
    chart: dict[str, Any]


def can_draw() -> bool:
    """Is the `charts` extra installed?"""
    return importlib.util.find_spec("vl_convert") is not None


def write(figure: Figure, folder: Path) -> list[str]:
    """Write the table, and the picture where that is possible; the names of the files."""
    stem = folder / figure.name
    with stem.with_suffix(".csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(figure.rows[0]) if figure.rows else ["empty"])
        table.writeheader()
        table.writerows(figure.rows)
    endings = [".csv"]
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow  # type: ignore[import-untyped]
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(figure.rows), stem.with_suffix(".parquet"))
        endings.append(".parquet")
    if can_draw():
        import vl_convert

        chart = json.dumps(_whole(figure))
        stem.with_suffix(".svg").write_text(vl_convert.vegalite_to_svg(chart), encoding="utf-8")
        stem.with_suffix(".png").write_bytes(vl_convert.vegalite_to_png(chart, scale=2.0))
        endings += [".svg", ".png"]
    return [figure.name + ending for ending in endings]


def _whole(figure: Figure) -> dict[str, Any]:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {"text": figure.title[0], "subtitle": figure.title[1], "anchor": "start", "offset": 14},
        "background": "white",
        "padding": 12,
        "width": _WIDTH,
        "height": _HEIGHT,
        "config": {
            "view": {"stroke": None},
            "axis": {"gridColor": "#eeeeee", "domainColor": "#888888", "tickColor": "#888888"},
        },
        **figure.chart,
    }


def of_population(population: Population) -> list[Figure]:
    """Figures 3, 4, 5: how access intervals, download times and utilisations are spread."""
    mean, longest = population.mean_s, population.longest_s
    return [
        _intervals(population.interval_s),
        _times({"mean": mean, "longest": longest}),
        _utilisations({"mean": mean / population.interval_s, "longest": longest / population.interval_s}),
    ]


def _intervals(interval_s: Floats) -> Figure:
    rows = histogram({"access interval": interval_s})
    mean_days = interval_s.mean() / DAY_S
    x = _logarithmic("low", "access interval I", [1, 60, 3600, 86400, 864000, 8640000], _MOMENTS)
    bars = {
        "mark": {"type": "rect", "color": MEAN, "stroke": "white", "strokeWidth": 1},
        "encoding": {"x": x, "x2": {"field": "high"}, "y": _count("servers"), "y2": {"datum": 0}},
    }
    marks = _marks([(DAY_S * mean_days, f"mean {mean_days:.1f} d")])
    slow, fast = (interval_s > DAY_S).mean(), (interval_s < 60).mean()
    below = f"of {len(interval_s):,} servers; {slow:.0%} above a day, {fast:.1%} below a minute"
    title = ("Figure 3: access intervals", below)
    return Figure("figure-3", title, rows, {"data": {"values": rows}, "layer": [bars, *marks]})


def _times(series: Mapping[str, Floats]) -> Figure:
    rows = histogram(series)
    x = _logarithmic("middle", "download time e (seconds)", _round_numbers(rows), "format(datum.value, '~g')")
    below = ", ".join(f"average of the {name} {values.mean():.2f} s" for name, values in series.items())
    chart = {"data": {"values": rows}, "layer": [_steps(x, _count("servers"))]}
    return Figure("figure-4", ("Figure 4: mean and longest download time of each server", below), rows, chart)


def _utilisations(series: Mapping[str, Floats]) -> Figure:
    rows = histogram(series)
    powers = [10.0**power for power in range(-12, 5)]
    label = "format(datum.value, datum.value < 0.001 ? '.0e' : '~g')"
    x = _logarithmic("middle", "utilisation e / I", powers, label)
    y = _count("servers") | {"scale": {"type": "log", "domainMin": 1}}
    y["axis"] = {"format": ",d", "values": [1, 10, 100, 1_000, 10_000]}
    over = ", ".join(f"{int((values > 1).sum()):,} by the {name}" for name, values in series.items())
    title = ("Figure 5: utilisation of a socket by each server", f"above 1, by download time: {over}")
    chart = {"data": {"values": rows}, "layer": [_steps(x, y), *_marks([(1.0, "one socket")])]}
    return Figure("figure-5", title, rows, chart)


def _round_numbers(rows: Sequence[Row]) -> list[float]:
    """1, 2, 5, 10 … as far as the rows go."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    every = (digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5))
    return [round(each, 9) for each in every if low <= each <= high]


def histogram(series: Mapping[str, Floats]) -> list[Row]:
    """Counts in bins of equal width on a logarithmic scale, the same ones for every series; none is empty."""
    every = np.concatenate(list(series.values()))
    low, high = (float(np.log10(each)) for each in (every.min(), every.max()))
    first, last = np.floor(low * _PER_DECADE), np.floor(high * _PER_DECADE) + 1
    edges = 10.0 ** (np.arange(first, last + 1) / _PER_DECADE)
    rows = []
    for name, values in series.items():
        counts, _ = np.histogram(values, edges)
        rows += [
            {
                "series": name,
                "low": lower,
                "middle": float(np.sqrt(lower * upper)),
                "high": upper,
                "servers": count,
            }
            for lower, upper, count in zip(
                edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True
            )
            if count
        ]
    return rows


def _steps(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    colour = {"domain": ["mean", "longest"], "range": [MEAN, LONGEST]}
    legend = {"title": "download time"}
    encoding = {"x": x, "y": y, "color": {"field": "series", "scale": colour, "legend": legend}}
    return {"mark": {"type": "line", "interpolate": "step", "strokeWidth": 2}, "encoding": encoding}


def _logarithmic(field: str, title: str, values: list[float], label: str) -> dict[str, Any]:
    axis = {"values": values, "labelExpr": label, "labelOverlap": True, "grid": False}
    scale = {"type": "log", "nice": False}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _count(field: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": field, "axis": {"format": ",d"}}


def _marks(places: Sequence[tuple[float, str]], height: float = 16) -> list[dict[str, Any]]:
    """Dashed vertical lines with a word each, so many pixels from the top."""
    rows = [{"place": place, "word": word} for place, word in places]
    x = {"field": "place", "type": "quantitative"}
    words = {"type": "text", "align": "left", "baseline": "bottom", "dx": 5, "dy": -4, "color": "#444444"}
    return [
        {"data": {"values": rows}, "mark": _DASHED, "encoding": {"x": x}},
        {
            "data": {"values": rows},
            "mark": words,
            "encoding": {"x": x, "y": {"value": height}, "text": {"field": "word"}},
        },
    ]


def table_of(outcomes: Sequence[Outcome], need: float) -> list[Row]:
    """A row for each trial."""
    return [
        {
            "order": each.trial.order.name,
            "start": "all at once" if each.trial.phase_seed is None else "staggered",
            "sockets": each.trial.sockets,
            "times_bound": each.trial.sockets / need,
            "days": each.trial.days,
            "asked": each.asked,
            "downloads": each.downloads,
            "missed": each.missed,
            "missed_share": each.missed_share,
            "mbit_per_s": each.mbit_per_s,
        }
        for each in outcomes
    ]


def of_missed(name: str, title: tuple[str, str], outcomes: Sequence[Outcome], need: float) -> Figure:
    """Figures 6 and 7: missed downloads against sockets, a line for each order."""
    rows = table_of(outcomes, need)
    most = max(row["asked"] for row in rows)
    powers = [10**power for power in range(len(str(most)) + 1)]
    y = {
        "field": "missed",
        "type": "quantitative",
        "title": "missed downloads",
        "scale": _scale(min(row["missed"] for row in rows), most),
        "axis": {"values": [0, *powers], "format": ",d", "labelOverlap": False},
    }
    words = {"type": "text", "align": "right", "dx": -4, "dy": -8, "color": "#444444"}
    here = {"data": {"values": [{"asked": most, "word": "all that was asked for"}]}}
    place = {"field": "asked", "type": "quantitative"}
    everything = here | {"mark": _DASHED, "encoding": {"y": place}}
    said = here | {"mark": words, "encoding": {"y": place, "x": {"value": _WIDTH}, "text": {"field": "word"}}}
    layers = [everything, said, *_marks([(bound(need), f"bound {bound(need)}")]), _lines(y)]
    return Figure(name, title, rows, {"data": {"values": rows}, "layer": layers})


def _scale(least: int, most: int) -> dict[str, Any]:
    """Logarithmic, but with a place for 0 where nothing was missed."""
    if least > 0:
        return {"type": "log", "nice": False, "domain": [10 ** (len(str(least)) - 1), 2 * most]}
    return {"type": "symlog", "constant": 1, "domain": [0, 2 * most]}


def of_throughput(name: str, title: tuple[str, str], outcomes: Sequence[Outcome], need: float) -> Figure:
    """Figure 8: bandwidth against sockets, a line for each order."""
    rows = table_of(outcomes, need)
    y = {"field": "mbit_per_s", "type": "quantitative", "title": "Mbit/s"}
    layers = [*_marks([(bound(need), f"bound {bound(need)}")], height=_HEIGHT), _lines(y)]
    return Figure(name, title, rows, {"data": {"values": rows}, "layer": layers})


def _lines(y: dict[str, Any]) -> dict[str, Any]:
    ticks = [digit * 10.0**power for power in range(5) for digit in (1, 2, 3, 5)]

    def scale(values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "field": "order",
            "title": None,
            "scale": {"domain": list(values), "range": list(values.values())},
        }

    x = _logarithmic("sockets", "sockets", ticks, "format(datum.value, ',d')")
    x["scale"] |= {"padding": 12}
    encoding = {
        "x": x,
        "y": y,
        "color": scale(COLOURS),
        "shape": scale(SHAPES),
        "strokeWidth": {"condition": {"test": "datum.order == 'EDF'", "value": 5}, "value": 2},  # behind FREQ
    }
    return {"mark": {"type": "line", "point": {"filled": True, "size": 60}}, "encoding": encoding}
