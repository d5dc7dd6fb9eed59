from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from joro import cli
from joro.cli.scale_report import conclusions
from joro.errors import UsageError
from joro.scaling.measure import Measurement
from tests.scenarios.stage import JORO, done


def run(units: int, processes: int, pages_per_s: float, limit: str = "units") -> Measurement:
    return Measurement(units, processes, 3_000, pages_per_s, 20_000 * pages_per_s, 0.1, 0.1, 0.1, limit)


def test_processes_are_compared_unit_by_unit_and_full_machines_named() -> None:
    lines = conclusions([run(50, 1, 400), run(100, 1, 700), run(50, 2, 800), run(100, 2, 900, "machine")])
    assert lines[0] == "Fastest: 900 pages/s with 100 units in 2 processes."
    assert "50 units: 2 processes are 2.00 × as fast as one." in lines
    assert "More units would not have helped: 100 × 2 (machine)." in lines


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--units 5,many", "--units 5,many are no numbers from 1 to 10,000; write them like 50,100"),
        ("--units " + "9" * 5_000, "are no numbers from 1 to 10,000"),
        ("--processes 1,1000", "--processes 1,1000 are no numbers from 1 to 256"),
        ("--machines five", "--machines five is no number of machines"),
        ("--machines 1-" + "9" * 5_000, "is no number of machines"),
        ("--machines 1-999999999", "--machines 1-999999999 cannot be"),
        ("--machines 1-2 --processes 2", "--machines and --processes exclude each other"),
        ("--machines 1-2 --pages 500", "--machines and --pages exclude each other"),
        ("--machines 1-2 --units 4,8", "--machines goes with one number of units, not 2"),
        ("--latency inf", "test web: latency = inf s cannot be; give 0 to 60,000 ms"),
        ("--latency nan", "test web: latency = nan s cannot be"),
        ("--latency 60001", "test web: latency = 60.001 s cannot be"),
        ("--latency=-1", "test web: latency = -0.001 s cannot be"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(tmp_path: Path, words: str, problem: str) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        cli.joro.main(["scale-report", *words.split(), "--out", f"{tmp_path}/out"], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", ["scale-report --units 1 --out", "cooperate-report --seeds 1 --servers 100 --out"]
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, words: str
) -> None:
    (tmp_path / "file").write_text("mine")
    out = f"{tmp_path}/file/out"
    with pytest.raises(UsageError, match=re.escape(f"--out {out} cannot be made (Not a directory)")):
        cli.joro.main([*words.split(), out], standalone_mode=False)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
def test_a_report_has_a_row_for_each_setup_and_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ("--units", "2,10", "--processes", "1,2", "--pages", 200, "--latency", 20)
    done("scale-report", *words, "--out", tmp_path / "out", env=os.environ | {"TMPDIR": str(scratch)})
    rows = list(csv.DictReader((tmp_path / "out" / "scale-report.csv").read_text().splitlines()))
    assert [(row["units"], row["processes"]) for row in rows] == [
        ("2", "1"),
        ("10", "1"),
        ("2", "2"),
        ("10", "2"),
    ]
    assert all(int(row["pages"]) >= 190 and float(row["pages_per_s"]) > 0 for row in rows)
    assert float(rows[0]["pages_per_s"]) <= 2 / 0.020  # two units, 20 ms each
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        f"scale-report.{ending}" for ending in ("csv", "svg", "png")
    }
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_report_that_is_interrupted_ends_its_robots(tmp_path: Path, number: signal.Signals) -> None:
    words = ["scale-report", "--units", "2", "--processes", "2", "--pages", "5000", "--out", str(tmp_path)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [*JORO, *words], env=os.environ | {"TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL
    )
    family = psutil.Process(process.pid)
    while len(robots := family.children(recursive=True)) < 3:  # the set, and its two
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=60) == 130
    assert not any(robot.is_running() for robot in robots)
    assert list(scratch.iterdir()) == []
