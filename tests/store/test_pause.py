from __future__ import annotations

from pathlib import Path

from joro.store.pause import FILE_NAME, Pause, pause, paused, resume


def test_a_pause_holds_until_it_is_over(tmp_path: Path) -> None:
    assert paused(tmp_path) is None
    pause(tmp_path, 1000.0, "a storm")
    assert paused(tmp_path) == Pause(1000.0, "a storm")
    assert resume(tmp_path) == Pause(1000.0, "a storm")
    assert paused(tmp_path) is None
    assert resume(tmp_path) is None


def test_who_pauses_twice_pauses_once(tmp_path: Path) -> None:
    pause(tmp_path, 1000.0, "a storm")
    assert pause(tmp_path, 2000.0) == Pause(1000.0, "a storm")
    assert pause(tmp_path, 3000.0, "no power") == Pause(1000.0, "no power")


def test_a_file_made_by_hand_is_a_pause(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    found = paused(tmp_path)
    assert found is not None
    assert found.since == (tmp_path / FILE_NAME).stat().st_mtime


def test_a_reason_is_one_line_for_people(tmp_path: Path) -> None:
    said = str(pause(tmp_path, 0.0, "the router\nis replaced "))
    assert said == "paused since 1970-01-01 00:00:00 UTC (the router is replaced)"
