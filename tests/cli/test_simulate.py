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


@pytest.mark.slow
def test_made_up_servers_are_tried_out() -> None:
    output = typed("--servers", "500", "--sockets", "1,3", "--policy", "edf,sjf", "--days", "0.1")
    assert "500 servers, of which" in output
    assert [line.split()[0] for line in output.splitlines()[-2:]] == ["1", "3"]


def test_without_options_it_explains_itself() -> None:
    assert "joro simulate --paper" in typed()


@pytest.mark.slow
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


#: One server has a page, the other has twenty; downloads take half a second.
CROWDED = "".join(
    f'"http://{name}.example/{number}",120,5000,500,"HTTP/1.0 200 OK"\n'
    for name, pages in (("few", 1), ("many", 20))
    for number in range(pages)
)


def replayed(tmp_path: Path, text: str, *words: str) -> str:
    log = tmp_path / "some.log"
    log.write_text(text)
    return typed("replay", str(log), *words, "--policy", "edf", "--days", "0.1")


def test_one_socket_that_misses_nothing_is_not_called_too_few(tmp_path: Path) -> None:
    output = replayed(tmp_path, LOG.decode().replace("9000", "900"), "--revisit", "0.0001", "--sockets", "1")
    assert "0 (0.00 %)" in output
    assert "The schedule can be kept" in output


def test_by_a_floor_the_intervals_of_pages_give_way_not_those_of_servers(tmp_path: Path) -> None:
    # Every 20 s a page: 21 visits in 20 s need 0.53 sockets, and one bears 0.3: pages once in 35 s.
    output = replayed(tmp_path, CROWDED, "--revisit", str(20 / 86_400), "--minimum", "0.1", "--sockets", "1",
                      "--rule", "floor")  # fmt: skip
    assert (
        "By the rule floor (strength 35 for all, more for 0 servers) 57.1 % of the visits are left" in output
    )


def test_thin_says_that_it_is_stretch_where_no_page_has_a_weight(tmp_path: Path) -> None:
    words = "--revisit", str(20 / 86_400), "--minimum", "0.1", "--sockets", "1", "--rule"
    assert "thin did what stretch does" in replayed(tmp_path, CROWDED, *words, "thin")
    assert "thin did" not in replayed(tmp_path, CROWDED, *words, "stretch")


def test_where_no_schedule_can_be_kept_no_empty_folder_is_left_without_a_word(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = "--revisit", "0.0001", "--minimum", "100", "--sockets", "1", "--out", str(out)
    assert "there is no figure to write" in replayed(tmp_path, CROWDED, *words)
    assert not out.exists()
    out.mkdir()
    replayed(tmp_path, CROWDED, *words)
    assert out.exists()  # it was there before


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
        ["replay", ".", "--revisit", "1e308"],
        ["replay", ".", "--elapsed", "1e308"],
        ["replay", ".", "--minimum", "1e308"],
    ],
)
def test_a_number_that_is_none_is_refused(words: list[str]) -> None:
    result = CliRunner().invoke(joro, ["simulate", *words], catch_exceptions=False)
    assert (result.exit_code, "Invalid value" in result.output) == (2, True)
