"""What do the measurements look like?

In:    measurements.
Out:   a picture, SVG and PNG: pages and megabytes a second against units, a line per number of processes; or
       against machines.
Never: needs a browser or the network.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joro.scaling.machines import Scaling
from joro.scaling.measure import Measurement

_BLUES = ["#7fb2e5", "#2f6db3", "#123a6b", "#0a1f3a"]  # the more processes, the darker
_FULL = "#c8553d"
_LEGEND = "dashed: if only the units counted · red ring: something else was the limit"
_MACHINES_LEGEND = "dashed: what their links allow · red ring: the processors of this machine were the limit"


def can_draw() -> bool:
    """Is the `charts` extra installed?"""
    return importlib.util.find_spec("vl_convert") is not None


def draw(measurements: Sequence[Measurement], latency_s: float, note: str, file: Path) -> None:
    """Write `file` with the endings .svg and .png."""
    _write(specification(measurements, latency_s, note), file)


def draw_machines(scalings: Sequence[Scaling], note: str, file: Path) -> None:
    """The same for robots on several machines."""
    _write(machines_specification(scalings, note), file)


def _write(specified: dict[str, Any], file: Path) -> None:
    import vl_convert

    chart = json.dumps(specified)
    file.with_suffix(".svg").write_text(vl_convert.vegalite_to_svg(chart), encoding="utf-8")
    file.with_suffix(".png").write_bytes(vl_convert.vegalite_to_png(chart, scale=2.0))


def specification(measurements: Sequence[Measurement], latency_s: float, note: str) -> dict[str, Any]:
    """The chart in Vega-Lite."""
    pages = _panel(measurements, "pages_per_s", "pages a second", latency_s)
    bandwidth = _panel(measurements, "mb_per_s", "megabytes a second", 0.0)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {
            "text": "Speed against units and processes",
            "subtitle": [note, *([_LEGEND] if latency_s else [])],
            "anchor": "start",
            "fontSize": 16,
        },
        "background": "white",
        "hconcat": [pages, bandwidth],
        "config": {"view": {"stroke": None}, "axis": {"gridColor": "#eeeeee", "domainColor": "#888888"}},
    }


def machines_specification(scalings: Sequence[Scaling], note: str) -> dict[str, Any]:
    """The chart of robots on several machines, in Vega-Lite."""
    rows = [asdict(each) | {"mb_per_s": each.bytes_per_s / 1e6} for each in scalings]
    pages = _machines_panel(rows, "pages_per_s", "pages a second", "possible_per_s")
    bandwidth = _machines_panel(rows, "mb_per_s", "megabytes a second", "")
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": {
            "text": "Speed against machines at different distances",
            "subtitle": [note, _MACHINES_LEGEND],
            "anchor": "start",
            "fontSize": 16,
        },
        "background": "white",
        "hconcat": [pages, bandwidth],
        "config": {"view": {"stroke": None}, "axis": {"gridColor": "#eeeeee", "domainColor": "#888888"}},
    }


def _machines_panel(rows: list[dict[str, Any]], field: str, title: str, ideal: str) -> dict[str, Any]:
    counts = [row["machines"] for row in rows]
    most = 1.15 * max(row[name] for row in rows for name in (field, ideal) if name)
    horizontal: dict[str, Any] = {"field": "machines", "type": "quantitative", "title": "machines"}
    horizontal |= {"scale": {"domain": [0, max(counts)]}, "axis": {"values": counts, "format": "d"}}
    vertical = {"type": "quantitative", "title": title, "scale": {"domain": [0, most]}}
    line = {"x": horizontal, "y": {"field": field, **vertical}}
    rim = {"condition": {"test": "datum.limit != 'links'", "value": _FULL}, "value": "white"}
    point = {"type": "point", "filled": True, "size": 90, "opacity": 1, "strokeWidth": 2, "color": _BLUES[1]}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "strokeWidth": 2.5, "color": _BLUES[1]}, "encoding": line},
        {"mark": point, "encoding": line | {"stroke": rim}},
    ]
    if ideal:
        dashed = {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1, "color": "#888888"}
        layers.insert(0, {"mark": dashed, "encoding": {"x": horizontal, "y": {"field": ideal, **vertical}}})
    return {"width": 360, "height": 280, "data": {"values": rows}, "layer": layers}


def _panel(measurements: Sequence[Measurement], field: str, title: str, latency_s: float) -> dict[str, Any]:
    rows = [_row(each) for each in measurements]
    most = 1.15 * max((row[field] for row in rows), default=1.0) or 1.0
    counts = sorted({each.processes for each in measurements})
    colours = {"domain": counts, "range": [_BLUES[min(place, 3)] for place in range(len(counts))]}
    horizontal: dict[str, Any] = {"field": "units", "type": "quantitative", "title": "units in each process"}
    horizontal["scale"] = {"domain": [0, max((row["units"] for row in rows), default=1)]}
    vertical = {"type": "quantitative", "title": title, "scale": {"domain": [0, most]}}
    colour = {"field": "processes", "type": "ordinal", "title": "processes", "scale": colours}
    line = {"x": horizontal, "y": {"field": field, **vertical}, "color": colour}
    rim = {"condition": {"test": "datum.limit != 'units'", "value": _FULL}, "value": "white"}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": line},
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "strokeWidth": 2},
            "encoding": line | {"stroke": rim},
        },
    ]
    if latency_s:
        mark = {"type": "line", "strokeDash": [4, 4], "strokeWidth": 1, "clip": True}
        ideal = [
            {"units": units, "processes": count, "ideal": units * count / latency_s}
            for count in counts
            for units in (0, max(row["units"] for row in rows))
        ]
        encoding = {"x": horizontal, "y": {"field": "ideal", **vertical}, "color": colour}
        layers.insert(0, {"mark": mark, "encoding": encoding, "data": {"values": ideal}})
    return {"width": 360, "height": 280, "data": {"values": rows}, "layer": layers}


def _row(each: Measurement) -> dict[str, Any]:
    return {
        "units": each.units,
        "processes": each.processes,
        "pages_per_s": each.pages_per_s,
        "mb_per_s": each.bytes_per_s / 1e6,
        "limit": each.limit,
    }
