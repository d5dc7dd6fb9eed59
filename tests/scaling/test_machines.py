"""Robots on several machines, measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from joro import cli
from joro.cli.scale_machines import conclusion
from joro.errors import UsageError
from joro.scaling.chart import can_draw, draw_machines, machines_specification
from joro.scaling.machines import Scaling, possible_per_s
from tests.scenarios.stage import joro

ONE = Scaling(1, 8, 900, 60.0, 1.2e6, 66.7, 60.0, 0.4, "links")
FIVE = Scaling(5, 8, 4_000, 270.0, 5.4e6, 285.0, 48.0, 0.9, "processors")


def test_links_allow_a_page_for_each_way_there_and_back() -> None:
    assert possible_per_s([10.0], units=6, latency_s=0.1) == pytest.approx(50.0)
    assert possible_per_s([10.0, 25.0], units=6, latency_s=0.1) == pytest.approx(90.0)


def test_the_gain_is_told_beside_what_links_allow() -> None:
    assert conclusion([ONE, FIVE]) == "5 machines are 4.50 × as fast as 1; their links allow 4.27 ×."


def test_where_processors_were_the_limit_the_chart_says_so() -> None:
    pages, bandwidth = machines_specification([ONE, FIVE], "a note")["hconcat"]
    assert [row["limit"] for row in pages["data"]["values"]] == ["links", "processors"]
    assert [row["mb_per_s"] for row in bandwidth["data"]["values"]] == [1.2, 5.4]


@pytest.mark.skipif(not can_draw(), reason="the charts extra is not installed")
def test_the_chart_can_be_drawn(tmp_path: Path) -> None:
    draw_machines([ONE, FIVE], "a note", tmp_path / "machines")
    assert "machines" in (tmp_path / "machines.svg").read_text()
    assert (tmp_path / "machines.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong", ["0-3", "1-9", "3-1", "many", "-2"])
def test_machines_that_cannot_be_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="--machines"):
        cli.joro.main(["scale-report", f"--machines={wrong}"], standalone_mode=False)


@pytest.mark.slow
def test_two_machines_are_measured_for_real(tmp_path: Path) -> None:
    report = joro("scale-report", "--machines", "2", "--units", "2", "--out", tmp_path, timeout=170)
    if "no network of our own" in report.stderr:
        pytest.skip(report.stderr)
    assert report.returncode == 0, report.stderr
    header, row = (tmp_path / "machines.csv").read_text().splitlines()
    figures = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(figures["pages_per_s"]) > 0
    assert float(figures["slowest_per_s"]) > 0, "one robot collected nothing"
