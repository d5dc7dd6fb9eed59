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
from collections.abc import Iterable, Mapping, Sequence
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
#: Moments on an axis of seconds, and more of them for an axis on which these are too far apart.
_MOMENTS = {1: "1 s", 60: "1 min", 3600: "1 h", 86400: "1 d", 864000: "10 d", 8640000: "100 d"}
_HOURS, _OTHERS = (1, 1.5, 2, 3, 4, 6, 8, 12, 16), (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40)
_MORE_MOMENTS = {
    round(number * seconds * power, 6): f"{number * power:g} {unit}"
    for unit, seconds, numbers, powers in (
        ("s", 1, (1, 1.5, 2, 3, 4, 5, 7), (0.001, 0.01, 0.1)),
        ("s", 1, _OTHERS, (1,)),
        ("min", 60, _OTHERS, (1,)),
        ("h", 3600, _HOURS, (1,)),
        ("d", 86400, (1, 1.5, 2, 3, 4, 5, 7), (1, 10, 100, 1_000, 10_000)),
    )
    for power in powers
    for number in numbers
}


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
    moments = _inside(rows, _MOMENTS, _MORE_MOMENTS)
    label = f"{json.dumps({f'{each:.12g}': _MORE_MOMENTS[each] for each in moments})}[datum.value]"
    x = _logarithmic("low", "access interval I", moments, label)
    room = 1.1 * max(row["servers"] for row in rows)  # for the word above the bars
    y = _servers(rows) | {"scale": {"domain": [0, room], "nice": True}}
    bars = {
        "mark": {"type": "rect", "color": MEAN, "stroke": "white", "strokeWidth": 1},
        "encoding": {"x": x, "x2": {"field": "high"}, "y": y, "y2": {"datum": 0}},
    }
    marks = _marks([(DAY_S * mean_days, f"mean {mean_days:.1f} d")])
    slow, fast = (interval_s > DAY_S).mean(), (interval_s < 60).mean()
    below = f"of {len(interval_s):,} servers; {slow:.0%} above a day, {fast:.1%} below a minute"
    title = ("Figure 3: access intervals", below)
    return Figure("figure-3", title, rows, {"data": {"values": rows}, "layer": [bars, *marks]})


def _times(series: Mapping[str, Floats]) -> Figure:
    rows = histogram(series)
    numbers = _inside(rows, _round_numbers(1, 2, 5), _round_numbers(1, 1.5, 2, 3, 4, 5, 7))
    x = _logarithmic("middle", "download time e (seconds)", numbers, "format(datum.value, '~g')")
    below = ", ".join(f"average of the {name} {values.mean():.2f} s" for name, values in series.items())
    chart = {"data": {"values": rows}, "layer": [_steps(x, _servers(rows))]}
    return Figure("figure-4", ("Figure 4: mean and longest download time of each server", below), rows, chart)


def _utilisations(series: Mapping[str, Floats]) -> Figure:
    rows = histogram(series)
    powers = _inside([*rows, {"low": 1.0, "high": 1.0}], _round_numbers(1), _round_numbers(1, 2, 5))
    label = "format(datum.value, datum.value < 0.001 ? '~e' : '~g')"
    x = _logarithmic("middle", "utilisation e / I", powers, label)
    most = max(row["servers"] for row in rows)
    axis = {"format": ",d", "values": [0, *_powers(most)]}
    y = _servers(rows) | {"scale": _scale(0, most), "axis": axis}
    over = ", ".join(f"{int((values > 1).sum()):,} by the {name}" for name, values in series.items())
    title = ("Figure 5: utilisation of a socket by each server", f"above 1, by download time: {over}")
    socket = _marks([(1.0, "one socket")], before=True)  # it may be all on the right
    chart = {"data": {"values": rows}, "layer": [_steps(x, y), *socket]}
    return Figure("figure-5", title, rows, chart)


def _round_numbers(*digits: float) -> list[float]:
    """These digits in every power of ten."""
    return [round(digit * 10.0**power, 12 - power) for power in range(-12, 7) for digit in digits]


def _inside(rows: Sequence[Row], few: Iterable[float], more: Iterable[float]) -> list[float]:
    """Those of a few numbers that lie where the rows do; of more, where these are fewer than three."""
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    chosen = [each for each in few if low <= each <= high]
    return chosen if len(chosen) > 2 else [each for each in more if low <= each <= high]


def histogram(series: Mapping[str, Floats]) -> list[Row]:
    """Counts in bins of equal width on a logarithmic scale, the same ones for every series.

    Bins without a server are among them, also one before the first and one behind the last that have any: a
    line is drawn from each to the next, and would else pass over them as if they had as many as those beside.
    """
    every = np.concatenate(list(series.values()))
    low, high = (float(np.log10(each)) for each in (every.min(), every.max()))
    first, last = np.floor(low * _PER_DECADE) - 1, np.floor(high * _PER_DECADE) + 2
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


def _servers(rows: Sequence[Row]) -> dict[str, Any]:
    """How many; there are no halves of them on the axis, however few there are."""
    most = max(row["servers"] for row in rows)
    axis = {"format": ",d"} | ({"values": list(range(most + 1))} if most < 10 else {})
    return {"field": "servers", "type": "quantitative", "title": "servers", "axis": axis}


def _marks(
    places: Sequence[tuple[float, str]], height: float = 16, *, before: bool = False
) -> list[dict[str, Any]]:
    """Dashed vertical lines with a word behind each, or before it, so many pixels from the top."""
    rows = [{"place": place, "word": word} for place, word in places]
    x = {"field": "place", "type": "quantitative"}
    side = {"align": "right", "dx": -5} if before else {"align": "left", "dx": 5}
    words = {"type": "text", "baseline": "bottom", "dy": -4, "color": "#444444", **side}
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
            "times_need": each.trial.sockets / need,
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
    least, most = min(row["missed"] for row in rows), max(row["asked"] for row in rows)
    ends = {"low": _power_below(least), "high": 2 * most}
    ticks = _inside([ends], _powers(most), _round_numbers(1, 2, 5)) if least else [0, *_powers(most)]
    y = {
        "field": "missed",
        "type": "quantitative",
        "title": "missed downloads",
        "scale": _scale(least, most),
        "axis": {"values": ticks, "format": ",d", "labelOverlap": False},
    }
    words = {"type": "text", "align": "right", "dx": -4, "dy": -8, "color": "#444444"}
    here = {"data": {"values": [{"asked": most, "word": "all that was asked for"}]}}
    place = {"field": "asked", "type": "quantitative"}
    everything = here | {"mark": _DASHED, "encoding": {"y": place}}
    said = here | {"mark": words, "encoding": {"y": place, "x": {"value": _WIDTH}, "text": {"field": "word"}}}
    layers = [everything, said, *_bound(need, rows), _lines(y, rows)]
    return Figure(name, title, rows, {"data": {"values": rows}, "layer": layers})


def _bound(need: float, rows: Sequence[Row], height: float = 16) -> list[dict[str, Any]]:
    """The mark of the least sockets that can do; where all trials had fewer, it is on the right."""
    least = bound(need)
    is_last = least >= max(row["sockets"] for row in rows) > 1
    return _marks([(least, f"bound {least}")], height, before=is_last)


def _powers(most: int) -> list[float]:
    return [10.0**power for power in range(len(str(most)) + 1)]


def _power_below(number: int) -> float:
    return 10.0 ** (len(str(number)) - 1)


def _scale(least: int, most: int) -> dict[str, Any]:
    """Logarithmic, but with a place for 0 where there is one."""
    if least > 0:
        return {"type": "log", "nice": False, "domain": [_power_below(least), 2 * most]}
    return {"type": "symlog", "constant": 1, "domain": [0, 2 * max(most, 1)]}


def of_throughput(name: str, title: tuple[str, str], outcomes: Sequence[Outcome], need: float) -> Figure:
    """Figure 8: bandwidth against sockets, a line for each order."""
    rows = table_of(outcomes, need)
    y = {"field": "mbit_per_s", "type": "quantitative", "title": "Mbit/s"}
    layers = [*_bound(need, rows, height=_HEIGHT), _lines(y, rows)]
    return Figure(name, title, rows, {"data": {"values": rows}, "layer": layers})


def _lines(y: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    tried = {row["order"] for row in rows}
    ticks = [digit * 10.0**power for power in range(5) for digit in (1, 2, 3, 5, 7)]

    def scale(values: Mapping[str, Any]) -> dict[str, Any]:
        here = {order: value for order, value in values.items() if order in tried}
        return {
            "field": "order",
            "title": None,
            "scale": {"domain": list(here), "range": list(here.values())},
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
