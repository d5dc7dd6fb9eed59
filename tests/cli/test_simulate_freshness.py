from __future__ import annotations

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from joro.cli import joro
from joro.errors import UsageError

DAY = 86_400
FEW = ("--pages", "100", "--days", "10")


def typed(*words: str) -> str:
    result = CliRunner().invoke(joro, ["simulate", "freshness", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def histories(tmp_path: Path) -> Path:
    file = tmp_path / "changes.tsv"
    rows = [f"page{page}\t0\tfirst" for page in range(20)]
    rows += [f"page{page}\t{page * day * DAY}\tchange" for page in range(1, 20) for day in range(1, 10)]
    file.write_text("\n".join(rows))
    return file


def test_policies_are_listed_by_budget_the_freshest_first() -> None:
    output = typed(*FEW, "--policy", "nutch", "--policy", "oracle", "--budget", "0.5", "--budget", "0.1")
    lines = [line.split()[:2] for line in output.splitlines()[-4:]]
    assert lines == [["0.1", "oracle"], ["0.1", "nutch"], ["0.5", "oracle"], ["0.5", "nutch"]]


def test_several_seeds_give_a_spread() -> None:
    output = typed(*FEW, "--policy", "oracle", "--budget", "0.5", "--seed", "1", "--seed", "2")
    assert "10 days, mean of 2 seeds" in output
    assert float(output.splitlines()[-1].split()[5]) > 0


def test_signals_are_made_up_when_asked_for() -> None:
    asked = (*FEW, "--policy", "optimal", "--budget", "0.5")
    assert typed(*asked, "--signals") != typed(*asked)


def test_whose_optimum_is_meant_is_said_where_there_are_signals() -> None:
    asked = (*FEW, "--policy", "oracle", "--budget", "0.5")
    told = typed(*asked, "--signals")
    assert "of optimum* " in told
    assert told.splitlines()[-1] == "* of what could be reached without signals, with all rates known"
    assert "*" not in typed(*asked)


def test_equal_pages_are_as_fresh_by_importance_as_without() -> None:
    words = typed(*FEW, "--policy", "uniform", "--budget", "0.5", "--equal").splitlines()[-1].split()
    assert words[2] == words[3]


def test_figures_and_their_tables_are_written(tmp_path: Path) -> None:
    out = tmp_path / "fresh"
    assert "written:" in typed(*FEW, "--policy", "uniform", "--budget", "0.5", "--out", str(out))
    rows = list(csv.DictReader((out / "freshness.csv").read_text().splitlines()))
    assert [(row["policy"], row["budget"], row["seed"]) for row in rows] == [("uniform", "0.5", "1")]
    assert len((out / "freshness-0_5.csv").read_text().splitlines()) == 1 + 10


def test_recorded_changes_are_replayed(histories: Path) -> None:
    output = typed("--histories", str(histories), "--days", "100", "--policy", "uniform", "--budget", "1")
    assert "20 recorded pages" in output
    assert output.splitlines()[-1].split()[:2] == ["1", "uniform"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--half", "tuning"], "--half tuning divides recorded pages; name their --histories"),
        (["--histories", "none.tsv"], "none.tsv cannot be read"),
        (["--histories", "x", "--pages", "500"], "--pages is for made-up pages; leave it out"),
        (["--histories", "x", "--signals"], "--signals is for made-up pages"),
        (["--out", "/dev/null"], "--out /dev/null cannot be made"),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        CliRunner().invoke(joro, ["simulate", "freshness", *words], catch_exceptions=False)


def test_an_unknown_policy_is_answered_with_those_there_are() -> None:
    result = CliRunner().invoke(joro, ["simulate", "freshness", "--policy", "fifo"])
    assert result.exit_code == 2
    assert "'optimal', 'interval', 'gamma', 'uniform', 'nutch', 'stormcrawler', 'oracle'" in result.output
