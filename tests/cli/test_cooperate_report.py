from pathlib import Path

import pytest

from tests.scenarios.stage import done, joro


@pytest.mark.slow
def test_the_report_has_tables_figures_and_a_run_to_read_again(tmp_path: Path) -> None:
    done("cooperate-report", "--simulate", "--seeds", "1", "--servers", "200", "--out", tmp_path / "one")
    done("cooperate-report", "--run", tmp_path / "one" / "run", "--out", tmp_path / "two")
    for folder in ("one", "two"):
        names = {path.name for path in (tmp_path / folder).iterdir()}
        assert {f"table-{number}.csv" for number in range(5, 9)} <= names
        assert {f"figure-{number}.svg" for number in range(11, 16)} <= names


def test_a_directory_that_is_no_run_is_one_clear_line(tmp_path: Path) -> None:
    result = joro("cooperate-report", "--run", str(tmp_path), "--out", str(tmp_path / "out"))
    assert result.returncode == 2
    assert "servers.csv cannot be read" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_simulation_and_a_run_exclude_each_other(tmp_path: Path) -> None:
    result = joro("cooperate-report", "--simulate", "--run", str(tmp_path))
    assert result.returncode == 2
    assert "exclude each other" in result.stderr
