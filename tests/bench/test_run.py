import json
from pathlib import Path

import pytest

from bench import run

SPEED = 'def figures():\n    return {"speed": (14.2, "x")}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of benches that Python, also a spawned one, can import from."""
    folder = tmp_path / "trial"
    folder.mkdir()
    (folder / "floors.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def latest(folder: Path) -> object:
    return json.loads((folder / "latest.json").read_text())


def test_a_module_without_figures_is_no_bench(folder: Path) -> None:
    (folder / "crawl.py").write_text(SPEED)
    (folder / "page.py").write_text("SIZE = 20_000\n")
    assert run.benches(folder) == ["crawl"]


def test_a_figure_gets_its_line_and_its_entry(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "crawl.py").write_text(SPEED)
    (folder / "floors.json").write_text('{"crawl.speed": {"floor": 12, "why": "measured 14"}}')
    assert run.main([], folder=folder) == 0
    assert capsys.readouterr().out.split() == ["crawl.speed", "14.2", "x", "(floor", "12)"]
    assert latest(folder) == {"crawl.speed": {"value": 14.2, "unit": "x", "floor": 12}}


def test_a_broken_floor_is_named_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "crawl.py").write_text(SPEED)
    (folder / "floors.json").write_text('{"crawl.speed": {"floor": 20}}')
    assert run.main([], folder=folder) == 1
    assert "FAILED  crawl.speed: 14.2 x is below the floor 20" in capsys.readouterr().out


def test_one_bench_alone_leaves_the_figures_of_the_others(folder: Path) -> None:
    (folder / "crawl.py").write_text(SPEED)
    (folder / "latest.json").write_text('{"search.p50": {"value": 4, "unit": "ms"}}')
    run.main(["--only", "crawl"], folder=folder)
    assert latest(folder) == {
        "crawl.speed": {"value": 14.2, "unit": "x"},
        "search.p50": {"value": 4, "unit": "ms"},
    }


def test_a_missing_peer_is_told_and_the_next_bench_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "against.py").write_text("import no_such_peer\ndef figures(): return {}\n")
    (folder / "crawl.py").write_text(SPEED)
    assert run.main([], folder=folder) == 0
    out = capsys.readouterr().out
    assert "against: cannot run here: No module named 'no_such_peer'" in out
    assert "crawl.speed" in out


def test_a_missing_module_of_our_own_is_a_failure(folder: Path) -> None:
    (folder / "crawl.py").write_text("import joro.no_such_room\ndef figures(): return {}\n")
    assert run.main([], folder=folder) == 1


def test_a_bench_that_crashes_fails_but_does_not_hide_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.py").write_text("import os\ndef figures(): os._exit(3)\n")
    (folder / "crawl.py").write_text(SPEED)
    assert run.main([], folder=folder) == 1
    out = capsys.readouterr().out
    assert "FAILED  bad: BrokenProcessPool" in out
    assert "crawl.speed" in out


def test_an_unknown_name_lists_the_benches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "crawl.py").write_text(SPEED)
    with pytest.raises(SystemExit):
        run.main(["--only", "crwal"], folder=folder)
    assert "no bench crwal; there are: crawl" in capsys.readouterr().err


def test_a_figure_that_nobody_measures_any_more_breaks_its_limit() -> None:
    limits: run.Floors = {"crawl.memory": {"ceiling": 50}}
    assert list(run.broken({}, limits, whole=False)) == []
    assert list(run.broken({}, limits, whole=True)) == [
        "crawl.memory has a limit in floors.json, but no bench measures it"
    ]


def test_a_figure_that_needs_what_is_not_here_may_be_missing() -> None:
    limits: run.Floors = {"revisit.recorded": {"floor": 0, "needs": "recorded changes"}}
    assert list(run.broken({}, limits, whole=True)) == []
    assert list(run.broken({"revisit.recorded": (-1.0, "points")}, limits, whole=True)) != []


def test_a_ceiling_is_broken_from_above() -> None:
    assert list(
        run.broken({"crawl.memory": (51.0, "MB")}, {"crawl.memory": {"ceiling": 50}}, whole=True)
    ) == ["crawl.memory: 51 MB is above the ceiling 50"]


def test_a_figure_that_is_no_number_holds_no_floor() -> None:
    assert list(run.broken({"crawl.speed": (float("nan"), "x")}, {"crawl.speed": {"floor": 1}}, whole=True))


def test_every_floor_of_ours_has_a_limit_and_says_why() -> None:
    floors = json.loads((run.HERE / "floors.json").read_text(encoding="utf-8"))
    assert [name for name, limit in floors.items() if not limit.get("why")] == []
    assert [name for name, limit in floors.items() if not {"floor", "ceiling"} & set(limit)] == []
