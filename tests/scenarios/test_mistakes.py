"""Whatever a person gets wrong is answered in one line that says what to do, and nothing is damaged."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from joro import config
from tests.scenarios.archived import responses
from tests.scenarios.stage import done, is_root, joro, serve_web

pytestmark = pytest.mark.slow


def refused(*words: object) -> str:
    """The one line a command refuses with."""
    result = joro(*words)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def files(directory: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    done("init", tmp_path / "c")
    return tmp_path / "c"


@pytest.mark.parametrize(
    ("seed", "says"),
    [
        ("ftp://x", "give an http:// or https:// URL"),
        ("hello", "write it in full"),
        ("http://", "check its spelling"),
        ("http://[::1", "check its spelling"),
        ("http://a:99999/", "check its spelling"),
    ],
)
def test_a_seed_that_is_no_web_address(collection: Path, seed: str, says: str) -> None:
    before = files(collection)
    line = refused("crawl", "-C", collection, seed)
    assert seed in line
    assert says in line
    assert files(collection) == before


def test_seeds_that_the_settings_keep_out(collection: Path, tmp_path: Path) -> None:
    before = files(collection)
    long = "http://a.example/" + "x" * 2_000
    line = refused("crawl", "-C", collection, long)
    assert "longer than scope.url_limit_chars = 2000" in line
    assert files(collection) == before
    settings = config.Config(scope=config.Scope(domains=("127.0.0.1",)))
    (collection / config.FILE_NAME).write_text(config.render(settings))
    result = joro(
        "crawl", "-C", collection, "-q", "http://a.org/", "http://127.0.0.1/", long
    )  # nobody is asked there
    assert result.returncode == 0
    assert result.stderr.strip() == "left out: http://a.org/ (and 1 more): outside scope.domains"
    assert "0 pages visited (0 ok)" in result.stdout


def test_a_seed_file_with_junk_lines(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text("http://a.example/\n%%%\n<html>\n")
    before = files(collection)
    line = refused("crawl", "-C", collection, "--seeds", tmp_path / "seeds")
    assert "line 2" in line
    assert "line 3" in line
    assert files(collection) == before


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"[fetch\n", "mend that line"),
        (b"[fetch]\nsockts = 3\n", "did you mean sockets?"),
        (b"[fetch]\nsockets = 'many'\n", "write a whole number"),
        (b"[politeness]\ninterval_s = -1\n", "write 0 or more"),
        (b"[identity]\nname = 'my robot'\n", "letters, - and _ only"),
        (b'[fetch]\nallow_addresses = ["everywhere"]\n', "127.0.0.0/8"),
        (b'[fetch]\nports = { "http" = 8080 }\n', "fetch.ports"),
    ],
)
def test_settings_that_cannot_be(collection: Path, settings: bytes, says: str) -> None:
    (collection / "joro.toml").write_bytes(settings)
    assert says in refused("crawl", "-C", collection, "http://127.0.0.1:9/")


@pytest.mark.parametrize("command", ["crawl", "index", "stats", "portal", "run", "pause", "resume"])
def test_a_directory_that_is_no_collection(tmp_path: Path, command: str) -> None:
    assert f"run: joro init {tmp_path}" in refused(command, "-C", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_init_where_a_collection_is_already(collection: Path) -> None:
    before = files(collection)
    assert "already a collection" in refused("init", collection)
    assert files(collection) == before


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("command", ["portal", "run"])
def test_a_portal_port_in_use(collection: Path, command: str) -> None:
    with taken_port() as port:
        (collection / "joro.toml").write_text(f"[portal]\nport = {port}\n")
        assert str(port) in refused(
            command, "-C", collection, *(["http://127.0.0.1:9/"] if command == "run" else [])
        )


def test_a_testweb_port_in_use() -> None:
    with taken_port() as port:
        assert str(port) in refused("testweb", "--port", port, "--hosts", 5, "--pages", 5)


@contextmanager
def small_disk(directory: Path, megabytes: int) -> Iterator[Path]:
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


@pytest.mark.root
@pytest.mark.skipif(not is_root(), reason="mounting a small tmpfs needs root")
def test_a_full_disk_stops_the_crawl_and_room_lets_it_go_on(tmp_path: Path) -> None:
    with (
        serve_web(tmp_path, "--hosts", 40, "--pages", 2000, "--roles", "normal") as web,
        small_disk(tmp_path / "disk", 8) as disk,
    ):
        no_guard = {"disk_reserve_mb": 0}
        path = web.collection(disk / "c", politeness={"interval_s": 0.0}, machine=no_guard)
        (disk / "ballast").write_bytes(bytes(4_000_000))
        line = refused("crawl", "-q", "-C", path, *web.seeds)
        assert "make room" in line
        before = responses(path)
        os.unlink(disk / "ballast")
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        done("crawl", "-C", path)
        after = responses(path)
        assert set(before) <= set(after)
        assert set(after.values()) == {1}
        done("archive", "check", "-C", path)
