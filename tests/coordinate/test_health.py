from pathlib import Path

import pytest

from joro.coordinate.health import HEALTHY, tell_healthy


def test_the_word_is_given_once_where_it_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HEALTHY, str(tmp_path / "healthy"))
    tell_healthy()
    (tmp_path / "healthy").unlink()
    tell_healthy()
    assert list(tmp_path.iterdir()) == []


def test_nobody_has_to_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HEALTHY, raising=False)
    tell_healthy()
    monkeypatch.setenv(HEALTHY, str(tmp_path / "gone" / "healthy"))
    tell_healthy()
