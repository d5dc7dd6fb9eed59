from pathlib import Path

import pytest
from click.testing import CliRunner

from joro import cli
from joro.cli.ready import announce
from joro.config import Config
from joro.errors import UsageError
from joro.store.collection import Collection


def failure(*words: str) -> str:
    """What a command that ends by itself complains of."""
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(cli.joro, words, catch_exceptions=False)
    return str(caught.value)


def test_a_ready_file_in_a_missing_folder_is_found_before_the_breaker_is_up(tmp_path: Path) -> None:
    Collection.create(tmp_path / "web", Config())
    words = (
        "breaker",
        "-C",
        str(tmp_path / "web"),
        "--port",
        "0",
        "--ready-file",
        str(tmp_path / "no" / "x"),
    )
    assert failure(*words).startswith(f"there is no folder {tmp_path / 'no'} for --ready-file; make it")


@pytest.mark.parametrize("command", ["breaker", "portal", "manager serve"])
def test_nobody_listens_everywhere_for_want_of_an_address(tmp_path: Path, command: str) -> None:
    Collection.create(tmp_path / "web", Config())
    for address in ("", " "):
        words = (*command.split(), "-C", str(tmp_path / "web"), "--port", "0", "--address", address)
        assert failure(*words).startswith("--address names no address; give one, like 127.0.0.1")


@pytest.mark.parametrize("option", ["--ready-file", "--settings", "--log"])
def test_the_test_web_writes_nothing_into_missing_folders(tmp_path: Path, option: str) -> None:
    assert f"for {option}" in failure("testweb", "--hosts", "1", option, str(tmp_path / "no" / "x"))


@pytest.mark.parametrize("option", ["--ready-file", "--settings", "--log"])
def test_the_test_web_is_not_up_before_it_can_write(option: str) -> None:
    assert failure("testweb", "--hosts", "1", option, "/proc/x").startswith(
        f"{option} /proc/x cannot be written (No such file or directory); name another file"
    )


def test_a_ready_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/proc/x cannot be written .*--ready-file"):
        announce(Path("/proc/x"), 8_080)


def test_ports_are_announced_one_a_line_and_nothing_else_is_left(tmp_path: Path) -> None:
    announce(tmp_path / "web.ready", 8_080, 53)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("web.ready", "8080\n53\n")]
