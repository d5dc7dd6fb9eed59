from pathlib import Path

import pytest

from bench.peers import install


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was tried, in a room that is complete but for its Python, while no registry answers."""
    tried: list[str] = []

    def fake(*command: object, folder: Path | None = None) -> bool:
        tried.append("pip" if "pip" in command else "venv")
        return "pip" not in command

    monkeypatch.setattr(install, "ROOM", tmp_path)
    monkeypatch.setattr(install, "PYTHON", tmp_path / "no-python")
    monkeypatch.setattr(install, "PROGRAMS", ())
    monkeypatch.setattr(install, "_try", fake)
    for name in ("requirements.txt", "package.json"):
        (tmp_path / name).write_bytes((install.HERE / name).read_bytes())
    return tried


def test_a_room_that_pip_could_not_fill_is_filled_next_time(
    tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install()
    monkeypatch.setattr(install, "_is_our_python", lambda: True)
    install.install()
    assert tried == ["venv", "pip", "venv", "pip"]
