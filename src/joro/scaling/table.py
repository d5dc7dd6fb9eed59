"""How are measurements told, a line each, and kept?

In:    measurements, one after another.
Out:   lines for a screen; a CSV file; what else was written.
Never: measures anything.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from joro.scaling.chart import can_draw


def line(cells: Sequence[str], width: int = 10) -> str:
    """One line of a table on a screen."""
    return "  ".join(f"{cell:>{width}}" for cell in cells)


def keep(measurements: Sequence[object], columns: Sequence[str], file: Path) -> None:
    """All of them so far, as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(columns)
        table.writerows([getattr(each, name) for name in columns] for each in measurements)


def written(file: Path) -> str:
    """Which files there are now, and how to have a chart, too."""
    if can_draw():
        return f"written: {file}.csv, .svg, .png"
    return f"written: {file}.csv; for a chart, too: pip install 'joro[charts]'"
