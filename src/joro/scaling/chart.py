"""What do the measurements look like?

In:    measurements.
Out:   a picture, SVG and PNG: pages and megabytes a second against units, a line per number of processes.
Never: needs a browser or the network.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joro.scaling.measure import Measurement

_BLUES = ["#7fb2e5", "#2f6db3", "#123a6b", "#0a1f3a"]  # the more processes, the darker
_FULL = "#c8553d"
_LEGEND = "dashed: if only the units counted · red ring: something else was the limit"


def can_draw() -> bool:
    """Is the `charts` extra installed?"""
    return importlib.util.find_spec("vl_convert") is not None


def draw(measurements: Sequence[Measurement], latency_s: float, note: str, file: Path) -> None:
    """Write `file` with the endings .svg and .png."""
    import vl_convert

    chart = json.dumps(specification(measurements, latency_s, note))
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
