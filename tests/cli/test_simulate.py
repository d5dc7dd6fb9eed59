from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from joro.cli import joro
from joro.errors import UsageError
from tests.simulator.test_log import archived

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


@pytest.mark.slow
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


def test_sockets_needed_are_the_same_in_every_line(tmp_path: Path) -> None:
    # 21 pages every 9 s, but no server is asked more often than every 4 s, for half a second.
    output = replayed(tmp_path, CROWDED, "--revisit", str(9 / 86_400), "--minimum", "4", "--sockets", "1")
    assert "need 0.18 sockets" in output
    assert "need 0.2 of 1 sockets; 1 servers cannot keep pace" in output


def test_that_nothing_was_due_is_said_and_how_long_it_takes(tmp_path: Path) -> None:
    assert "no visit was due that could have been missed; with --days 21" in replayed(tmp_path, LOG.decode())
    assert "no visit was due" not in replayed(tmp_path, CROWDED, "--revisit", "0.1")


def test_whose_bytes_are_counted_is_said_where_the_archive_packed_them(tmp_path: Path) -> None:
    line = {"stamp": "20261116000000", "url": "http://a.example/", "length": "900", "elapsed_ms": 250}
    words = "--revisit", "0.01", "--policy", "edf", "--days", "0.1", "--out"
    typed("replay", str(archived(tmp_path, line)), *words, str(tmp_path / "ours"))
    assert "packed in the archive" in (tmp_path / "ours" / "figure-8.svg").read_text()
    (tmp_path / "sent.log").write_bytes(LOG)
    typed("replay", str(tmp_path / "sent.log"), *words, str(tmp_path / "theirs"))
    assert "packed" not in (tmp_path / "theirs" / "figure-8.svg").read_text()


def figures_in(folder: Path) -> set[str]:
    return {each.stem for each in folder.iterdir()}


def subtitle(folder: Path, number: int) -> str:
    return (folder / f"figure-{number}.svg").read_text()


def test_figures_tell_of_all_servers_but_where_they_say_so(tmp_path: Path) -> None:
    # One of two servers is asked for twenty pages every 20 s, and has 3 s for each: it cannot keep pace.
    out = tmp_path / "out"
    replayed(tmp_path, CROWDED, "--revisit", str(20 / 86_400), "--minimum", "2", "--out", str(out))
    assert figures_in(out) == {f"figure-{number}" for number in range(3, 9)}
    assert "above 1, by download time" in subtitle(out, 5)
    assert "of 2 servers" in subtitle(out, 3)
    assert "missed downloads, all servers" in subtitle(out, 6)
    assert ">2 servers, 0.1 days" in subtitle(out, 6)
    for number in (7, 8):
        assert ", feasible servers" in subtitle(out, number)
        assert ">1 servers, 0.1 days" in subtitle(out, number)


def test_where_no_schedule_can_be_kept_servers_are_drawn_all_the_same(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = "--revisit", "0.0001", "--minimum", "100", "--sockets", "1", "--out", str(out)
    assert "there is nothing for figures 7 and 8" in replayed(tmp_path, CROWDED, *words)
    assert figures_in(out) == {f"figure-{number}" for number in range(3, 7)}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--policy", "FIFO"], "'FIFO' names no order of servers; choose from EDF, FCFS"),
        (["--sockets", "0"], "--sockets '0' are no numbers from 1 to 1,000,000; write them like 28,36,84"),
        (["--sockets", "9" * 5_000], "are no numbers from 1 to 1,000,000"),
        (["--sockets", ","], "--sockets ',' are no numbers from 1 to 1,000,000"),
        (["--sockets", ""], "--sockets '' are no numbers from 1 to 1,000,000"),
        (["--days", "3", "replay", "."], "options before the subcommand have no effect"),
        (["--servers", "10", "--out", f"{__file__}/x"], "x cannot be made .Not a directory.; name a folder"),
        (
            ["--paper", "--servers", "10", "--out", f"{__file__}/x"],
            "x cannot be made .Not a directory.; name a folder",
        ),
        (["--servers", "10", "--out", "/proc"], "--out /proc cannot be written to"),
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
