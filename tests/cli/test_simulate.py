from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from joro.cli import joro
from joro.errors import UsageError

LOG = b"""\
"http://a.example/",120,5000,800,"HTTP/1.0 200 OK"
"http://b.example/",120,3000,9000,"HTTP/1.0 200 OK"
"""


def typed(*words: str) -> str:
    result = CliRunner().invoke(joro, ["simulate", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_made_up_servers_are_tried_out() -> None:
    output = typed("--servers", "500", "--sockets", "1,3", "--policy", "edf,sjf", "--days", "0.1")
    assert "500 servers, of which" in output
    assert [line.split()[0] for line in output.splitlines()[-2:]] == ["1", "3"]


def test_without_options_it_explains_itself() -> None:
    assert "joro simulate --paper" in typed()


def test_the_whole_experiment_is_written_down(tmp_path: Path) -> None:
    output = typed("--paper", "--servers", "500", "--days", "0.02", "--out", str(tmp_path / "s0"))
    assert "EDF loses nothing from" in output
    assert (tmp_path / "s0" / "paper.md").exists()


def test_a_log_is_replayed_and_what_cannot_be_kept_gives_way(tmp_path: Path) -> None:
    log = tmp_path / "transfer.log"
    log.write_bytes(LOG)
    output = typed(
        "replay", str(log), "--revisit", "0.0001", "--sockets", "2", "--out", str(tmp_path / "out")
    )
    assert "2 visits to 2 pages of 2 servers" in output
    assert "cannot keep pace: http://b.example" in output
    assert "By the rule stretch" in output
    assert "EDF misses 0 visits" in output
    assert (tmp_path / "out" / "figure-7.csv").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--policy", "FIFO"], "'FIFO' names no order of servers; choose from EDF, FCFS"),
        (["--sockets", "0"], "--sockets 0 are no numbers from 1 on"),
        (["--days", "3", "replay", "."], "options before the subcommand have no effect"),
        (["--servers", "10", "--out", f"{__file__}/x"], "x cannot be made .Not a directory.; name a folder"),
        (
            ["--paper", "--servers", "10", "--out", f"{__file__}/x"],
            "x cannot be made .Not a directory.; name a folder",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_remedy(words: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        CliRunner().invoke(joro, ["simulate", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    "words",
    [
        ["--seed", "-1"],
        ["--days", "nan"],
        ["freshness", "--budget", "nan"],
        ["freshness", "--days", "inf"],
        ["replay", ".", "--revisit", "inf"],
    ],
)
def test_a_number_that_is_none_is_refused(words: list[str]) -> None:
    result = CliRunner().invoke(joro, ["simulate", *words], catch_exceptions=False)
    assert (result.exit_code, "Invalid value" in result.output) == (2, True)
