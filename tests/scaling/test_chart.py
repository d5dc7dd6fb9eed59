from __future__ import annotations

from pathlib import Path

from joro.scaling.chart import draw, specification
from joro.scaling.measure import Measurement

RUNS = [
    Measurement(50, 1, 3_000, 450.0, 9e6, 0.4, 0.1, 0.5, "units"),
    Measurement(100, 1, 3_000, 800.0, 16e6, 0.9, 0.2, 0.9, "machine"),
    Measurement(50, 2, 3_000, 850.0, 17e6, 0.8, 0.2, 0.7, "units"),
]


def test_the_axis_of_speed_ends_above_the_fastest_run() -> None:
    left, right = specification(RUNS, 0.1, "note")["hconcat"]
    assert left["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0, 850 * 1.15]
    assert right["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 17 * 1.15]


def test_what_the_units_alone_would_do_is_drawn_when_answers_take_time() -> None:
    ideal = specification(RUNS, 0.1, "note")["hconcat"][0]["layer"][0]["data"]["values"]
    assert {"units": 100, "processes": 2, "ideal": 2_000.0} in ideal
    assert len(specification(RUNS, 0.0, "note")["hconcat"][0]["layer"]) == 2


def test_the_picture_is_written_twice(tmp_path: Path) -> None:
    draw(RUNS, 0.1, "2 processors", tmp_path / "report")
    assert "pages a second" in (tmp_path / "report.svg").read_text(encoding="utf-8")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
